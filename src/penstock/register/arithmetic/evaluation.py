"""A query answers with every combination of rows that satisfies its conditions, by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product

from penstock.register.arithmetic.closure import number
from penstock.register.arithmetic.judgement import FamilyRow
from penstock.register.arithmetic.query import (
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    ConstantValue,
    Domain,
    Op,
)

Answers = Counter[tuple[ConstantValue, ...]]


def holds(comparison: Comparison, values: Mapping[ComparedAttribute, ConstantValue]) -> bool:
    left, right = (
        values[side] if isinstance(side, ComparedAttribute) else side for side in (comparison.left, comparison.right)
    )
    if comparison.attributes[0].domain is Domain.OTHER:
        return (left == right) is (comparison.op is Op.EQ)
    difference = _exact(left) - _exact(right) - comparison.offset
    match comparison.op:
        case Op.LT:
            return difference < 0
        case Op.LE:
            return difference <= 0
        case Op.EQ:
            return difference == 0
        case Op.NE:
            return difference != 0


def _exact(value: ConstantValue) -> int | Fraction:
    return value if isinstance(value, int | Fraction) else number(value)


def answers(query: ConjunctiveQuery, rows: Iterable[FamilyRow]) -> Answers:
    """Count each answer after some rows. Opaque conditions are taken to hold."""
    kept: dict[str, list[FamilyRow]] = {stream.base: [] for stream in query.streams}
    for row in rows:
        if row.stream in kept:
            kept[row.stream].append(row)
    attributes, found = query.attributes, Answers()
    for combination in product(*(kept[stream.base] for stream in query.streams)):
        of = dict(zip((stream.name for stream in query.streams), combination, strict=True))
        values = {attribute: of[attribute.stream].values[attribute.name] for attribute in attributes}
        if all(holds(comparison, values) for comparison in query.comparisons):
            found[tuple(values[attribute] for attribute in query.projected)] += 1
    return found


def new_answers(query: ConjunctiveQuery, before: Sequence[FamilyRow], after: Sequence[FamilyRow]) -> Answers:
    """Count the new answers that a plan must give when rows arrive after others."""
    then, now = answers(query, before), answers(query, [*before, *after])
    if query.distinct:
        return Answers(dict.fromkeys(now.keys() - then.keys(), 1))
    return now - then


def tells_apart(
    query: ConjunctiveQuery, befores: Iterable[Sequence[FamilyRow]], afters: Iterable[Sequence[FamilyRow]]
) -> bool:
    """Say whether for any two of some beginnings, some continuation leads to different new answers."""
    groups = [list(befores)]
    for after in afters:
        if all(len(group) == 1 for group in groups):
            return True
        split: dict[tuple[int, frozenset[tuple[tuple[ConstantValue, ...], int]]], list[Sequence[FamilyRow]]] = {}
        for index, group in enumerate(groups):
            for before in group:
                sent = frozenset(new_answers(query, before, after).items()) if len(group) > 1 else frozenset()
                split.setdefault((index, sent), []).append(before)
        groups = list(split.values())
    return all(len(group) == 1 for group in groups)

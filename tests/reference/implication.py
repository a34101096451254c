"""Implication by brute force: all streams of a few rows over small times and values, finite and periodic.

A model is a tuple of facts (stream, time, values by column, period). Nothing here reasons: a constraint is true of a
model if it is true for every choice of its rows. Periodic rows are written out far beyond every constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from penstock.elimination.constraints import AtMost, Cell, Condition, Congruent, Constant, Constraint

Fact = tuple[str, int, tuple[tuple[str, Any], ...], int]
Model = tuple[Fact, ...]

#: Constants are far smaller.
HALF, END = 40, 80


def counter_model(
    theory: Sequence[Constraint],
    goal: Constraint,
    columns: Mapping[str, Sequence[str]],
    values: Sequence[Any],
    times: int,
    most_rows: int,
    periods: Sequence[int] = (0,),
) -> Model | None:
    """A model of the theory that breaks the goal, if there is one of so many rows."""
    for model in models(columns, values, times, most_rows, periods):
        if not is_true(goal, model) and all(is_true(constraint, model) for constraint in theory):
            return model
    return None


def models(
    columns: Mapping[str, Sequence[str]], values: Sequence[Any], times: int, most_rows: int, periods: Sequence[int]
) -> Iterator[Model]:
    facts = [
        (stream, time, tuple(zip(names, chosen, strict=True)), period)
        for stream, names in columns.items()
        for time in range(times)
        for chosen in product((None, *values), repeat=len(names))
        for period in periods
    ]
    for count in range(1, most_rows + 1):
        yield from combinations(facts, count)


def is_true(constraint: Constraint, model: Model) -> bool:
    is_infinite = any(period for *_, period in model)
    everywhere = list(_written_out(model, END)) if is_infinite else list(model)
    here = [fact for fact in everywhere if fact[1] <= HALF] if is_infinite else everywhere
    return all(
        _some(constraint.some, constraint.conclusion, everywhere, rows)
        for rows in _each(constraint.each, constraint.premise, here, {})
    )


def _written_out(model: Model, end: int) -> Iterator[Fact]:
    for stream, time, values, period in model:
        for at in range(time, end + 1, period) if period else (time,):
            yield stream, at, values, 0


def _each(variables: Any, conditions: Any, facts: Sequence[Fact], rows: dict[str, Fact]) -> Iterator[dict[str, Fact]]:
    if not all(_holds(condition, rows) for condition in conditions):
        return
    if not variables:
        yield rows
        return
    for fact in facts:
        if fact[0] == variables[0].stream:
            yield from _each(variables[1:], conditions, facts, {**rows, variables[0].name: fact})


def _some(variables: Any, conditions: Any, facts: Sequence[Fact], rows: dict[str, Fact]) -> bool:
    return next(_each(variables, conditions, facts, rows), None) is not None


def _holds(condition: Condition, rows: Mapping[str, Fact]) -> bool:
    """True, or about a row that is chosen later."""

    def time(name: str) -> int | None:
        return 0 if name == "" else rows[name][1] if name in rows else None

    if isinstance(condition, (AtMost, Congruent)):
        names = (
            (condition.later, condition.earlier) if isinstance(condition, AtMost) else (condition.left, condition.right)
        )
        one, other = map(time, names)
        if one is None or other is None:
            return True
        if isinstance(condition, AtMost):
            return one - other <= condition.most
        return (one - other) % condition.modulus == condition.residue
    sides = []
    for term in (condition.left, condition.right):
        if isinstance(term, Cell) and term.row not in rows:
            return True
        sides.append(dict(rows[term.row][2]).get(term.column) if isinstance(term, Cell) else term)
    left, right = (side.value if isinstance(side, Constant) else side for side in sides)
    return left is not None and right is not None and bool(left == right)

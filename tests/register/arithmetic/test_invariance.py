"""A verdict does not depend on names, on the order of streams and conditions, or on how a condition is written."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from penstock.register.arithmetic import (
    BoundedMemory,
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    Domain,
    Op,
    StreamOccurrence,
    UnboundedMemory,
    judge,
)
from tests.register.arithmetic.queries import SHAPES, random_query, show


def outcome(query: ConjunctiveQuery) -> object:
    verdict = judge(query)
    if isinstance(verdict, UnboundedMemory):
        return "unbounded"
    return sorted(synopsis.size for synopsis in verdict.synopses), verdict.contradiction


@pytest.mark.parametrize("name", [name for name in SHAPES if "self" not in name])
def test_renaming_and_reordering_change_nothing(name: str) -> None:
    rng = random.Random(2)
    for _ in range(60):
        query = random_query(rng, SHAPES[name], rng.random() < 0.5)
        assert outcome(query) == outcome(_renamed(rng, query)), show(query)


@pytest.mark.parametrize("name", ["integers", "differences", "unequal", "dense"])
def test_writing_a_condition_in_another_way_changes_nothing(name: str) -> None:
    rng = random.Random(3)
    for _ in range(60):
        query = random_query(rng, SHAPES[name], rng.random() < 0.5)
        conditions = [other for c in query.comparisons for other in _rewritten(rng, c)]
        assert outcome(query) == outcome(replace(query, conditions=tuple(conditions))), show(query)


def _renamed(rng: random.Random, query: ConjunctiveQuery) -> ConjunctiveQuery:
    streams = list(query.streams)
    rng.shuffle(streams)
    fresh = {stream.name: f"X{n}" for n, stream in enumerate(streams)}
    turned = {"a0": "z", "a1": "y", "a2": "x"}

    def new(side: object) -> object:
        if isinstance(side, ComparedAttribute):
            return ComparedAttribute(fresh[side.stream], turned[side.name], side.domain)
        return side

    conditions = [replace(c, left=new(c.left), right=new(c.right)) for c in query.comparisons]
    rng.shuffle(conditions)
    projected = tuple(ComparedAttribute(fresh[a.stream], turned[a.name], a.domain) for a in reversed(query.projected))
    renamed = tuple(StreamOccurrence(fresh[stream.name], fresh[stream.name]) for stream in streams)
    return ConjunctiveQuery(renamed, tuple(conditions), projected, query.distinct)


def _rewritten(rng: random.Random, c: Comparison) -> list[Comparison]:
    """The same condition, from the other side, in two parts, or twice."""
    whole = c.attributes[0].domain is Domain.INTEGER
    match c.op:
        case Op.EQ if rng.random() < 0.5:
            return [replace(c, op=Op.LE), Comparison(c.right, Op.LE, c.left, -c.offset)]
        case Op.EQ | Op.NE:
            return [Comparison(c.right, c.op, c.left, -c.offset), c]
        case Op.LT if whole:
            return [Comparison(c.left, Op.LE, c.right, c.offset - 1)]
        case Op.LT:
            return [replace(c, op=Op.LE), replace(c, op=Op.NE)]
    return [c, c]


def test_more_conditions_never_hurt_a_filter() -> None:
    """Lemma 4.1: a bounded query stays bounded under any further filter."""
    rng = random.Random(4)
    for _ in range(150):
        query = random_query(rng, SHAPES["integers"], rng.random() < 0.5)
        if isinstance(judge(query), BoundedMemory):
            attribute = rng.choice(query.attributes) if query.attributes else ComparedAttribute("S", "a0")
            more = replace(query, conditions=(*query.conditions, Comparison(attribute, Op.LT, rng.choice([0, 3]))))
            assert isinstance(judge(more), BoundedMemory), show(more)

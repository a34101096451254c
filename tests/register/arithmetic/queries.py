"""Queries to try the theory on: those of the paper's table 1, and random ones."""

from __future__ import annotations

import random
from dataclasses import dataclass

from penstock.register.arithmetic import (
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    Domain,
    Op,
    QueryCondition,
    StreamOccurrence,
)

A, B, C = (ComparedAttribute("S", name) for name in "ABC")
D, E = (ComparedAttribute("T", name) for name in "DE")


def lt(left: object, right: object) -> Comparison:
    return Comparison(left, Op.LT, right)


def eq(left: object, right: object) -> Comparison:
    return Comparison(left, Op.EQ, right)


TEENS = (lt(10, A), lt(A, 20))

#: Streams and conditions of table 1; all project A. Q9 is printed in two lines that belong together.
TABLE_1: dict[str, tuple[str, tuple[QueryCondition, ...]]] = {
    "Q1": ("S", (lt(10, A),)),
    "Q2": ("ST", (eq(A, D),)),
    "Q3": ("ST", (eq(A, D), lt(10, A), lt(D, 20))),
    "Q4": ("ST", (lt(B, D), *TEENS)),
    "Q5": ("ST", (lt(B, D), lt(B, 120), lt(20, D), *TEENS)),
    "Q6": ("ST", (lt(D, B), lt(E, B), eq(A, 10))),
    "Q7": ("ST", (lt(A, D), lt(B, E), *TEENS)),
    "Q8": ("ST", (lt(B, D), lt(C, E), *TEENS)),
    "Q9": ("ST", (lt(B, D), lt(C, E), lt(B, E), lt(C, 100), lt(50, D), *TEENS)),
}


def table_1(name: str, distinct: bool) -> ConjunctiveQuery:
    streams, conditions = TABLE_1[name]
    return ConjunctiveQuery.over(streams, conditions, [A], distinct)


@dataclass(frozen=True)
class Shape:
    """What random queries may hold."""

    streams: tuple[str, ...] = ("S", "T")
    bases: tuple[str, ...] | None = None
    attributes: int = 2
    constants: tuple[int, ...] = (0, 3)
    ops: tuple[Op, ...] = (Op.LT, Op.LE, Op.EQ)
    offsets: tuple[int, ...] = (0,)
    domains: tuple[Domain, ...] = (Domain.INTEGER,)
    comparisons: tuple[int, int] = (1, 6)


ALL = (Op.LT, Op.LE, Op.EQ, Op.NE)
DENSE, OTHER = Domain.DENSE, Domain.OTHER

#: Kinds of random queries, by name.
SHAPES = {
    "integers": Shape(comparisons=(2, 8)),
    "differences": Shape(comparisons=(2, 8), offsets=(-2, 0, 0, 1)),
    "unequal": Shape(ops=ALL, comparisons=(1, 8), offsets=(0, 1)),
    "dense": Shape(domains=(DENSE,), comparisons=(2, 8), offsets=(0, 0, 1, -2)),
    "mixed": Shape(domains=(DENSE, Domain.INTEGER), ops=ALL, comparisons=(2, 8), offsets=(0, 0, 1)),
    "names": Shape(domains=(OTHER, Domain.INTEGER), ops=ALL, comparisons=(1, 7)),
    "wide": Shape(attributes=3, comparisons=(3, 10)),
    "three": Shape(streams=("S", "T", "U"), attributes=1, comparisons=(1, 7), ops=ALL, offsets=(0, 1)),
    "one": Shape(streams=("S",), comparisons=(0, 4), ops=ALL),
    "self": Shape(streams=("S1", "S2"), bases=("S", "S"), comparisons=(1, 7), ops=ALL),
    "self and other": Shape(
        streams=("S1", "S2", "T"), bases=("S", "S", "T"), attributes=1, comparisons=(1, 7), ops=ALL
    ),
}


def show(query: ConjunctiveQuery) -> str:
    """A query that can be read."""
    streams = ", ".join(f"{stream.base} AS {stream.name}" for stream in query.streams)
    what = ", ".join(f"{a} ({a.domain.value})" for a in query.attributes)
    where = " AND ".join(map(str, query.conditions))
    select = f"SELECT {'DISTINCT ' if query.distinct else ''}{', '.join(map(str, query.projected)) or 1}"
    return f"{select} FROM {streams} WHERE {where or 'TRUE'} -- {what}"


def random_query(rng: random.Random, shape: Shape, distinct: bool) -> ConjunctiveQuery:
    bases = shape.bases or shape.streams
    kinds = {(base, n): rng.choice(shape.domains) for base in bases for n in range(shape.attributes)}
    attributes = [
        ComparedAttribute(stream, f"a{n}", kinds[base, n])
        for stream, base in zip(shape.streams, bases, strict=True)
        for n in range(shape.attributes)
    ]
    conditions = [_comparison(rng, shape, attributes) for _ in range(rng.randint(*shape.comparisons))]
    projected = rng.sample(attributes, rng.choice([0, 0, 1, 1, 2]))
    streams = tuple(StreamOccurrence(name, base) for name, base in zip(shape.streams, bases, strict=True))
    return ConjunctiveQuery(streams, tuple(conditions), tuple(projected), distinct)


def _comparison(rng: random.Random, shape: Shape, attributes: list[ComparedAttribute]) -> Comparison:
    left = rng.choice(attributes)
    others = [a for a in attributes if a.domain is left.domain and a != left]
    ops = shape.ops if left.domain is not Domain.OTHER else (Op.EQ, Op.EQ, Op.NE)
    op = rng.choice(ops)
    if others and rng.random() < 0.6:
        offset = 0 if left.domain is Domain.OTHER else rng.choice(shape.offsets)
        return Comparison(left, op, rng.choice(others), offset)
    constant = rng.choice(shape.constants)
    return Comparison(left, op, constant) if rng.random() < 0.5 else Comparison(constant, op, left)

"""Queries to try the theory on: those of the paper's table 1, and random ones."""

from __future__ import annotations

import random
from dataclasses import dataclass

from penstock.register.arithmetic import Attribute, Comparison, Condition, Domain, Op, Query, Stream

A, B, C = (Attribute("S", name) for name in "ABC")
D, E = (Attribute("T", name) for name in "DE")


def lt(left: object, right: object) -> Comparison:
    return Comparison(left, Op.LT, right)


def eq(left: object, right: object) -> Comparison:
    return Comparison(left, Op.EQ, right)


TEENS = (lt(10, A), lt(A, 20))

#: Streams and conditions of table 1; all project A. Q9 is printed in two lines that belong together.
TABLE_1: dict[str, tuple[str, tuple[Condition, ...]]] = {
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


def table_1(name: str, distinct: bool) -> Query:
    streams, conditions = TABLE_1[name]
    return Query.over(streams, conditions, [A], distinct)


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


def random_query(rng: random.Random, shape: Shape, distinct: bool) -> Query:
    bases = shape.bases or shape.streams
    kinds = {(base, n): rng.choice(shape.domains) for base in bases for n in range(shape.attributes)}
    attributes = [
        Attribute(stream, f"a{n}", kinds[base, n])
        for stream, base in zip(shape.streams, bases, strict=True)
        for n in range(shape.attributes)
    ]
    conditions = [_comparison(rng, shape, attributes) for _ in range(rng.randint(*shape.comparisons))]
    projected = rng.sample(attributes, rng.choice([0, 0, 1, 1, 2]))
    streams = tuple(Stream(name, base) for name, base in zip(shape.streams, bases, strict=True))
    return Query(streams, tuple(conditions), tuple(projected), distinct)


def _comparison(rng: random.Random, shape: Shape, attributes: list[Attribute]) -> Comparison:
    left = rng.choice(attributes)
    others = [a for a in attributes if a.domain is left.domain and a != left]
    ops = shape.ops if left.domain is not Domain.OTHER else (Op.EQ, Op.EQ, Op.NE)
    op = rng.choice(ops)
    if others and rng.random() < 0.6:
        offset = 0 if left.domain is Domain.OTHER else rng.choice(shape.offsets)
        return Comparison(left, op, rng.choice(others), offset)
    constant = rng.choice(shape.constants)
    return Comparison(left, op, constant) if rng.random() < 0.5 else Comparison(constant, op, left)

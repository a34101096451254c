"""The instants at which the result of a query can change: everywhere else its windows hold what they held before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from penstock.algebra.relations import Range, Relation, Window, walk_relations
from tests.reference.relations import Inputs


def instants(relation: Relation, inputs: Inputs, horizon: int) -> list[int]:
    """0, and each instant up to the horizon at which a row enters or leaves a window, or arrives, in order."""
    found = {0}
    for node in walk_relations(relation):
        if isinstance(node, Window):
            for element in inputs[node.stream.name.lower()].elements:
                found.update(_changes(node, element.ts))
    return sorted(instant for instant in found if instant <= horizon)


def arrivals(relation: Relation, inputs: Inputs) -> set[int]:
    """The instants at which a row of a stream that the relation reads arrives."""
    read = {node.stream.name.lower() for node in walk_relations(relation) if isinstance(node, Window)}
    return {element.ts for name in read for element in inputs[name].elements}


def _changes(window: Window, ts: int) -> Iterator[int]:
    """When a row of timestamp `ts` arrives, enters and leaves. [ROWS n] changes only when a row arrives."""
    yield ts
    match window.spec:
        case Range(width, None):
            yield ts + width + 1
        case Range(width, int(slide)):
            yield -(-ts // slide) * slide
            yield ((ts + width) // slide + 1) * slide


#: How many numbers of a column of times there are in a second.
_PER_SECOND: dict[str, int | Fraction] = {
    "DAYS": Fraction(1, 86_400),
    "SECONDS": 1,
    "MILLISECONDS": 1_000,
    "MICROSECONDS": 1_000_000,
    "NANOSECONDS": 1_000_000_000,
}


def microsecond(number: int, unit: str) -> int:
    """The instant that a number of a column of times lies in."""
    return math.floor(Fraction(number) / _PER_SECOND[unit] * 1_000_000)


def first_number(instant: int, unit: str) -> int:
    """The least number of a column of times that lies in an instant, or after it."""
    return math.ceil(Fraction(instant, 1_000_000) * _PER_SECOND[unit])


def most_microseconds(difference: int, unit: str) -> int:
    """How far apart the instants of numbers are at most that are so far apart."""
    return math.ceil(Fraction(difference) / _PER_SECOND[unit] * 1_000_000)

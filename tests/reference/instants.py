"""The instants at which the result of a query can change: everywhere else its windows hold what they held before."""

from __future__ import annotations

from collections.abc import Iterator

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

"""How a row finds its rows of G_S(Q): one lookup by key for each stream, and checks that what is found fits together.

A row joins with at most one row of each stream of G_S(Q) (lemma 6.3.1), so its component is found by following any
tree of edges from S and comparing the remaining join columns. This takes the place of the procedures of figures 19 and
20 in 000, which compare the ends of pairs of vertex-disjoint paths: figure 19 leaves out paths that are a single edge,
so that a row with S → X and S → A → X is called Yes although the two rows of X differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.join_graph import JoinGraph


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup finds the row of `stream` whose key has the values of earlier columns, and compares all other joins."""

    parent: str
    stream: str
    key: tuple[tuple[JoinAttribute, str], ...]
    checks: tuple[tuple[JoinAttribute, str], ...]


def lookups(graph: JoinGraph, start: str) -> tuple[Lookup, ...]:
    """A row of a stream is looked up in this order: each lookup follows those that it needs, nearest streams first."""
    known: dict[int, JoinAttribute] = {}
    checked_at_start = _own(graph, start)
    for number, column in checked_at_start:
        known.setdefault(number, column)
    found: list[Lookup] = []
    seen, level = {start}, [start]
    while level:
        following: list[str] = []
        for parent in level:
            for child in graph.children[parent]:
                if child not in seen:
                    seen.add(child)
                    following.append(child)
                    found.append(_lookup(graph, parent, child, known))
        level = following
    return tuple(found)


def _lookup(graph: JoinGraph, parent: str, child: str, known: dict[int, JoinAttribute]) -> Lookup:
    shared = graph.shared(parent, child)
    key = min(
        (key for key in graph.stream(child).keys if key <= graph.attributes(child, shared)),
        key=lambda key: (len(key), sorted(key)),
    )
    columns = _own(graph, child)
    sought = tuple((known[number], column.name) for number, column in columns if column.name in key)
    checks: list[tuple[JoinAttribute, str]] = []
    for number, column in columns:
        if number not in known:
            known[number] = column
        elif column.name not in key:
            checks.append((known[number], column.name))
    return Lookup(parent, child, sought, tuple(checks))


def _own(graph: JoinGraph, stream: str) -> list[tuple[int, JoinAttribute]]:
    """List the joined columns of a stream with their classes, in the order of declaration."""
    columns = (JoinAttribute(stream, name) for name in graph.stream(stream).attributes)
    return [(graph.classes[column], column) for column in columns if column in graph.classes]

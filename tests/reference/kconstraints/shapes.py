"""What a join graph looks like: a directed tree, an acyclic graph, or one with cycles (6.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from penstock.closing.kconstraints.join_graph import JoinGraph


class Shape(Enum):
    """What the edges look like, joins taken as written (one for each pair of streams)."""

    TREE = "directed tree"
    DAG = "directed acyclic graph"
    CYCLIC = "cyclic graph"


def is_many_many(graph: JoinGraph, left: str, right: str) -> bool:
    """Joined, but neither is a child of the other: both keep plain synopses as far as this join is concerned."""
    return right in graph.neighbours[left] and right not in graph.children[left] and left not in graph.children[right]


def shape(graph: JoinGraph) -> Shape:
    """DT-shaped, DAG-shaped or cyclic, by the joins that are written.

    Joins that are only implied do not count: C.pid = B.pid = O.pid is a chain. One-one joins are cycles of two.
    """
    written = _written_edges(graph)
    if _has_cycle(graph.names, written):
        return Shape.CYCLIC
    pairs = {frozenset(edge) for edge in written}
    return Shape.DAG if _has_undirected_cycle(graph.names, pairs) else Shape.TREE


def _written_edges(graph: JoinGraph) -> list[tuple[str, str]]:
    pairs = {
        pair
        for equality in graph.query.equalities
        for pair in (
            (equality.left.stream, equality.right.stream),
            (equality.right.stream, equality.left.stream),
        )
    }
    return [(parent, child) for parent in graph.names for child in graph.children[parent] if (parent, child) in pairs]


def strong_components(names: Iterable[str], children: Mapping[str, tuple[str, ...]]) -> tuple[frozenset[str], ...]:
    """The strongly connected components of a graph, each after those that it reaches (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[frozenset[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for child in children[name]:
            if child not in index:
                visit(child)
                low[name] = min(low[name], low[child])
            elif child in stack:
                low[name] = min(low[name], index[child])
        if low[name] == index[name]:
            cut = stack.index(name)
            components.append(frozenset(stack[cut:]))
            del stack[cut:]

    for name in names:
        if name not in index:
            visit(name)
    return tuple(components)


def _has_cycle(names: tuple[str, ...], edges: list[tuple[str, str]]) -> bool:
    children = {name: tuple(child for parent, child in edges if parent == name) for name in names}
    return any(len(component) > 1 for component in strong_components(names, children))


def _has_undirected_cycle(names: tuple[str, ...], pairs: set[frozenset[str]]) -> bool:
    group = {name: frozenset({name}) for name in names}
    for left, right in map(sorted, pairs):
        if group[left] is group[right] or group[left] == group[right]:
            return True
        merged = group[left] | group[right]
        group.update(dict.fromkeys(merged, merged))
    return False

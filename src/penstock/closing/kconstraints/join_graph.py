"""The directed join graph G(Q): an edge S → R says that a row of S joins with at most one row of R (6.2).

Join predicates are first closed under implication, as the thesis assumes: columns that must be equal form a class, and
two streams are joined when they share one. S → R holds when the columns of R in shared classes contain a key of R. A
join that is many-one both ways gives two edges, a one-one join and so a cycle; a many-many join gives none, and its
streams are joined all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from penstock.closing.kconstraints.streams import Column, JoinQuery, Stream


class Shape(Enum):
    """What the edges look like, joins taken as written (one for each pair of streams)."""

    TREE = "directed tree"
    DAG = "directed acyclic graph"
    CYCLIC = "cyclic graph"


@dataclass(frozen=True)
class JoinGraph:
    """Built by `join_graph`. Streams keep the order of the query, so that all results are deterministic."""

    query: JoinQuery
    #: The class of each column that is joined: a number.
    classes: Mapping[Column, int]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self.query.streams)

    @cached_property
    def _joined(self) -> Mapping[str, Mapping[int, tuple[str, ...]]]:
        """Of each stream, the attributes in each class."""
        joined: dict[str, dict[int, tuple[str, ...]]] = {name: {} for name in self.names}
        for column, number in sorted(self.classes.items()):
            of_stream = joined[column.stream]
            of_stream[number] = (*of_stream.get(number, ()), column.attribute)
        return joined

    def stream(self, name: str) -> Stream:
        return self._streams[name]

    @cached_property
    def _streams(self) -> Mapping[str, Stream]:
        return {stream.name: stream for stream in self.query.streams}

    def shared(self, left: str, right: str) -> frozenset[int]:
        """The classes that join two streams."""
        return frozenset(self._joined[left].keys() & self._joined[right].keys())

    def attributes(self, stream: str, classes: Iterable[int]) -> frozenset[str]:
        """The attributes of a stream in some classes."""
        joined = self._joined[stream]
        return frozenset(name for number in classes for name in joined.get(number, ()))

    @cached_property
    def neighbours(self) -> Mapping[str, tuple[str, ...]]:
        """The streams that each stream is joined with, many-many joins included."""
        members: dict[int, set[str]] = {}
        for column, number in self.classes.items():
            members.setdefault(number, set()).add(column.stream)
        near = {name: set[str]().union(*(members[number] for number in self._joined[name])) for name in self.names}
        return {name: tuple(other for other in self.names if other in near[name] - {name}) for name in self.names}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Children(S): the streams of which a row of S joins with at most one row."""
        return {
            name: tuple(other for other in self.neighbours[name] if self._is_child(name, other)) for name in self.names
        }

    def _is_child(self, parent: str, child: str) -> bool:
        compared = self.attributes(child, self.shared(parent, child))
        return any(key <= compared for key in self.stream(child).keys)

    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Parents(S)."""
        parents: dict[str, list[str]] = {name: [] for name in self.names}
        for name in self.names:
            for child in self.children[name]:
                parents[child].append(name)
        return {name: tuple(found) for name, found in parents.items()}

    @cached_property
    def descendants(self) -> Mapping[str, tuple[str, ...]]:
        """The streams of G_S(Q) but S itself: those that are reached along edges."""
        return {name: self._reached(name) for name in self.names}

    def _reached(self, start: str) -> tuple[str, ...]:
        seen, open_ends = {start}, [start]
        while open_ends:
            found = [child for child in self.children[open_ends.pop()] if child not in seen]
            seen.update(found)
            open_ends += found
        return tuple(name for name in self.names if name in seen - {start})

    def is_many_many(self, left: str, right: str) -> bool:
        """Joined, but neither is a child of the other: both keep plain synopses as far as this join is concerned."""
        return right in self.neighbours[left] and right not in self.children[left] and left not in self.children[right]

    @cached_property
    def shape(self) -> Shape:
        """DT-shaped, DAG-shaped or cyclic, by the joins that are written.

        Joins that are only implied do not count: C.pid = B.pid = O.pid is a chain. One-one joins are cycles of two.
        """
        written = self._written_edges()
        if _has_cycle(self.names, written):
            return Shape.CYCLIC
        pairs = {frozenset(edge) for edge in written}
        return Shape.DAG if _has_undirected_cycle(self.names, pairs) else Shape.TREE

    def _written_edges(self) -> list[tuple[str, str]]:
        pairs = {
            pair
            for equality in self.query.equalities
            for pair in (
                (equality.left.stream, equality.right.stream),
                (equality.right.stream, equality.left.stream),
            )
        }
        return [(parent, child) for parent in self.names for child in self.children[parent] if (parent, child) in pairs]


def join_graph(query: JoinQuery) -> JoinGraph:
    """The join graph of a query.

    >>> from penstock.closing.kconstraints.streams import Equality, Stream
    >>> bid, item = Stream("bid", ("auction", "price")), Stream("item", ("id",), keys=(frozenset({"id"}),))
    >>> query = JoinQuery((bid, item), (Equality(Column("bid", "auction"), Column("item", "id")),))
    >>> join_graph(query).children["bid"], join_graph(query).shape.value
    (('item',), 'directed tree')
    """
    leader: dict[Column, Column] = {}

    def find(column: Column) -> Column:
        while leader.setdefault(column, column) != column:
            leader[column] = leader[leader[column]]
            column = leader[column]
        return column

    for equality in query.equalities:
        first, second = sorted((find(equality.left), find(equality.right)))
        leader[second] = first
    numbers: dict[Column, int] = {}
    return JoinGraph(query, {column: numbers.setdefault(find(column), len(numbers)) for column in sorted(leader)})


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

"""The directed join graph G(Q): an edge S → R says that a row of S joins with at most one row of R (6.2).

Join predicates are first closed under implication, as the thesis assumes: columns that must be equal form a class, and
two streams are joined when they share one. S → R holds when the columns of R in shared classes contain a key of R. A
join that is many-one both ways gives two edges, a one-one join and so a cycle; a many-many join gives none, and its
streams are joined all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.streams import ConstrainedJoin, ConstrainedStream


@dataclass(frozen=True)
class JoinGraph:
    """`join_graph` builds it. Streams keep the order of the query, so that all results are deterministic."""

    query: ConstrainedJoin
    #: Each column that is joined is in a class, which is a number.
    classes: Mapping[JoinAttribute, int]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self.query.streams)

    @cached_property
    def _joined(self) -> Mapping[str, Mapping[int, tuple[str, ...]]]:
        """Each stream has attributes in some classes."""
        joined: dict[str, dict[int, tuple[str, ...]]] = {name: {} for name in self.names}
        for column, number in sorted(self.classes.items()):
            of_stream = joined[column.stream]
            of_stream[number] = (*of_stream.get(number, ()), column.name)
        return joined

    def stream(self, name: str) -> ConstrainedStream:
        return self._streams[name]

    @cached_property
    def _streams(self) -> Mapping[str, ConstrainedStream]:
        return {stream.name: stream for stream in self.query.streams}

    def shared(self, left: str, right: str) -> frozenset[int]:
        """Two streams are joined by the classes that they share."""
        return frozenset(self._joined[left].keys() & self._joined[right].keys())

    def attributes(self, stream: str, classes: Iterable[int]) -> frozenset[str]:
        """Select the attributes of a stream in some classes."""
        joined = self._joined[stream]
        return frozenset(name for number in classes for name in joined.get(number, ()))

    @cached_property
    def neighbours(self) -> Mapping[str, tuple[str, ...]]:
        """Each stream is joined with these others; many-many joins are included."""
        members: dict[int, set[str]] = {}
        for column, number in self.classes.items():
            members.setdefault(number, set()).add(column.stream)
        near = {name: set[str]().union(*(members[number] for number in self._joined[name])) for name in self.names}
        return {name: tuple(other for other in self.names if other in near[name] - {name}) for name in self.names}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Children(S) are the streams of which a row of S joins with at most one row."""
        return {
            name: tuple(other for other in self.neighbours[name] if self._is_child(name, other)) for name in self.names
        }

    def _is_child(self, parent: str, child: str) -> bool:
        compared = self.attributes(child, self.shared(parent, child))
        return any(key <= compared for key in self.stream(child).keys)

    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Parents(S) are the streams whose children include S."""
        parents: dict[str, list[str]] = {name: [] for name in self.names}
        for name in self.names:
            for child in self.children[name]:
                parents[child].append(name)
        return {name: tuple(found) for name, found in parents.items()}

    @cached_property
    def descendants(self) -> Mapping[str, tuple[str, ...]]:
        """Edges lead from S to the other streams of G_S(Q)."""
        return {name: self._reached(name) for name in self.names}

    def _reached(self, start: str) -> tuple[str, ...]:
        seen, open_ends = {start}, [start]
        while open_ends:
            found = [child for child in self.children[open_ends.pop()] if child not in seen]
            seen.update(found)
            open_ends += found
        return tuple(name for name in self.names if name in seen - {start})


def join_graph(query: ConstrainedJoin) -> JoinGraph:
    """Build the join graph of a query.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.kconstraints.streams import ConstrainedStream
    >>> bid = ConstrainedStream("bid", ("auction", "price"))
    >>> item = ConstrainedStream("item", ("id",), keys=(frozenset({"id"}),))
    >>> equal = JoinEquality(JoinAttribute("bid", "auction"), JoinAttribute("item", "id"))
    >>> query = ConstrainedJoin((bid, item), (equal,))
    >>> join_graph(query).children["bid"]
    ('item',)
    """
    leader: dict[JoinAttribute, JoinAttribute] = {}

    def find(column: JoinAttribute) -> JoinAttribute:
        while leader.setdefault(column, column) != column:
            leader[column] = leader[leader[column]]
            column = leader[column]
        return column

    for equality in query.equalities:
        first, second = sorted((find(equality.left), find(equality.right)))
        leader[second] = first
    numbers: dict[JoinAttribute, int] = {}
    return JoinGraph(query, {column: numbers.setdefault(find(column), len(numbers)) for column in sorted(leader)})

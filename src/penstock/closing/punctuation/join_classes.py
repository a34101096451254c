"""Join attributes form classes, by the transitive closure of equalities; differences are edges between classes.

Theorem 1 of 004 holds only if the predicates are closed: with a.x = b.x and b.x = c.x, punctuations of c on x help
to purge a, although no predicate joins a and c. So the theory works on classes of attributes that are equal in every
result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.query import JoinDifference, PunctuatedJoin
from penstock.effort import spend


@dataclass(frozen=True, slots=True)
class DifferenceEdge:
    """In every result, the class `target` has at most `bound` more than the class that the edge leaves."""

    target: int
    bound: int


@dataclass(frozen=True, slots=True)
class JoinClasses:
    """Classes have numbers. Number 0 has no attribute: it is the constant 0."""

    of: Mapping[JoinAttribute, int]
    members: tuple[tuple[JoinAttribute, ...], ...]
    by_stream: Mapping[str, tuple[int, ...]]
    #: Of each stream, an attribute for each of its classes.
    telling: Mapping[str, Mapping[int, JoinAttribute]]
    #: By class: what it bounds from above.
    upward: tuple[tuple[DifferenceEdge, ...], ...]
    #: The same edges turned round: what the class is bounded by, from above.
    downward: tuple[tuple[DifferenceEdge, ...], ...]
    #: Classes with few values, known beforehand.
    finite: Mapping[int, frozenset[Hashable]]
    #: A value for each ordered class that satisfies all differences, or None: then the query has no result.
    solution: tuple[int, ...] | None

    @property
    def ordered(self) -> frozenset[int]:
        return frozenset(n for n, edges in enumerate(self.upward) if edges or self.downward[n])


ZERO = 0


def join_classes(query: PunctuatedJoin) -> JoinClasses:
    """Join equal attributes into classes, by union-find.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> a, b, c = (JoinAttribute(name, "x") for name in "abc")
    >>> streams = tuple(PunctuatedStream(name, ("x",)) for name in "abc")
    >>> query = PunctuatedJoin(streams, (JoinEquality(a, b), JoinEquality(b, c)))
    >>> [" = ".join(map(str, members)) for members in join_classes(query).members]
    ['', 'a.x = b.x = c.x']
    """
    spend(sum(len(stream.attributes) for stream in query.streams) + len(query.equalities) + len(query.differences))
    leader = _leaders(query)
    numbers: dict[JoinAttribute, int] = {}
    of: dict[JoinAttribute, int] = {}
    members: list[list[JoinAttribute]] = [[]]
    for stream in query.streams:
        for name in dict.fromkeys(stream.attributes):
            attribute = JoinAttribute(stream.name, name)
            number = numbers.setdefault(leader(attribute), len(members))
            if number == len(members):
                members.append([])
            members[number].append(attribute)
            of[attribute] = number
    by_stream = {s.name: tuple(sorted({of[JoinAttribute(s.name, n)] for n in s.attributes})) for s in query.streams}
    edges = list(_edges(query, of))
    ordered = {n for source, edge in edges for n in (source, edge.target)}
    finite = _finite(query, of)
    # An ordered class knows its values by its bounds, so that they take part in the closure of the differences.
    edges += [edge for n in ordered & finite.keys() for edge in _range(n, finite[n])]
    finite = {n: values for n, values in finite.items() if n not in ordered}
    upward = _adjacent(len(members), edges)
    return JoinClasses(
        of,
        tuple(map(tuple, members)),
        by_stream,
        _telling(query, of),
        upward,
        _adjacent(len(members), [(edge.target, DifferenceEdge(source, edge.bound)) for source, edge in edges]),
        finite,
        None if not all(finite.values()) else _solution(upward),
    )


def nearest(edges: tuple[tuple[DifferenceEdge, ...], ...], start: int, stops: Container[int]) -> dict[int, int]:
    """Find the stops that paths from `start` reach first, with the least sum of bounds on the path.

    Bounds that lead through another stop follow from that stop's own, and are no news.
    """
    if start in stops:
        return {start: 0}
    best = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node in stops:
            continue
        for edge in edges[node]:
            bound = best[node] + edge.bound
            if bound < best.get(edge.target, bound + 1):
                best[edge.target] = bound
                queue.append(edge.target)
    return {node: bound for node, bound in best.items() if node in stops}


def _telling(query: PunctuatedJoin, of: Mapping[JoinAttribute, int]) -> dict[str, dict[int, JoinAttribute]]:
    telling: dict[str, dict[int, JoinAttribute]] = {}
    for stream in query.streams:
        first = telling[stream.name] = {}
        for name in stream.attributes:
            attribute = JoinAttribute(stream.name, name)
            first.setdefault(of[attribute], attribute)
    return telling


def _leaders(query: PunctuatedJoin) -> _Find:
    find = _Find({})
    for equality in query.equalities:
        find.unite(equality.left, equality.right)
    return find


@dataclass(slots=True)
class _Find:
    parents: dict[JoinAttribute, JoinAttribute]

    def __call__(self, attribute: JoinAttribute) -> JoinAttribute:
        while (parent := self.parents.get(attribute, attribute)) != attribute:
            self.parents[attribute] = self.parents.get(parent, parent)
            attribute = parent
        return attribute

    def unite(self, left: JoinAttribute, right: JoinAttribute) -> None:
        self.parents[self(left)] = self(right)


def _edges(query: PunctuatedJoin, of: Mapping[JoinAttribute, int]) -> Iterator[tuple[int, DifferenceEdge]]:
    for difference in query.differences:
        match difference:
            case JoinDifference(left, right, bound):
                yield of[right] if right else ZERO, DifferenceEdge(of[left] if left else ZERO, bound)


def _finite(query: PunctuatedJoin, of: Mapping[JoinAttribute, int]) -> dict[int, frozenset[Hashable]]:
    finite: dict[int, frozenset[Hashable]] = {}
    for each in query.finite:
        number = of[each.attribute]
        finite[number] = finite.get(number, each.values) & each.values
    return finite


def _range(number: int, values: frozenset[Hashable]) -> Iterator[tuple[int, DifferenceEdge]]:
    whole = [value for value in values if isinstance(value, int)]
    if len(whole) != len(values):
        raise ValueError("a difference of values that are no integers")
    if not whole:
        yield number, DifferenceEdge(number, -1)  # no value at all: a contradiction
    else:
        yield ZERO, DifferenceEdge(number, max(whole))
        yield number, DifferenceEdge(ZERO, -min(whole))


def _adjacent(size: int, edges: Iterable[tuple[int, DifferenceEdge]]) -> tuple[tuple[DifferenceEdge, ...], ...]:
    lists: list[list[DifferenceEdge]] = [[] for _ in range(size)]
    for source, edge in edges:
        lists[source].append(edge)
    return tuple(map(tuple, lists))


def _solution(upward: tuple[tuple[DifferenceEdge, ...], ...]) -> tuple[int, ...] | None:
    """Bellman and Ford: shortest distances from a node before all others satisfy the differences; a negative cycle
    is a contradiction. Shifted so that 0 is 0."""
    distance = [0] * len(upward)
    for _ in range(len(upward) + 1):
        changed = False
        spend(1 + sum(map(len, upward)) // 4)
        for source, edges in enumerate(upward):
            for edge in edges:
                if distance[source] + edge.bound < distance[edge.target]:
                    distance[edge.target] = distance[source] + edge.bound
                    changed = True
        if not changed:
            return tuple(each - distance[ZERO] for each in distance)
    return None

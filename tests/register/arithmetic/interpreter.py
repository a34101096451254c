"""Runs the synopses that a verdict promises, row by row, and counts their entries.

Rows are dictionaries by attribute name. A row lives on only as a sample of its values and box, or on a skyline, so
that a synopsis which says too little gives wrong answers. What covers what is decided by code of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from penstock.register.arithmetic import (
    BoundedMemory,
    BoundSide,
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    Domain,
    Kept,
    Op,
    Synopsis,
)

Row = Mapping[str, Any]
#: A limit and, for a strict one, -1: compared and added as pairs.
Limit = tuple[Fraction, int]
ZERO = "zero"


def holds(comparison: Comparison, values: Mapping[ComparedAttribute, Any]) -> bool:
    left = values[comparison.left] if isinstance(comparison.left, ComparedAttribute) else comparison.left
    right = values[comparison.right] if isinstance(comparison.right, ComparedAttribute) else comparison.right
    if comparison.offset:
        right = right + comparison.offset
    return {Op.LT: lambda: left < right, Op.LE: lambda: left <= right, Op.EQ: lambda: left == right}.get(
        comparison.op, lambda: left != right
    )()


def brute_force(query: ConjunctiveQuery, rows: Sequence[tuple[str, Row]]) -> Counter[tuple[Any, ...]]:
    """All answers, by nested loops."""
    found: Counter[tuple[Any, ...]] = Counter()
    streams = [[row for base, row in rows if base == stream.base] for stream in query.streams]
    for combination in product(*streams):
        of = dict(zip([stream.name for stream in query.streams], combination, strict=True))
        values = {attribute: of[attribute.stream][attribute.name] for attribute in query.attributes}
        if all(holds(comparison, values) for comparison in query.comparisons):
            found[tuple(values[attribute] for attribute in query.projected)] += 1
    return Counter(dict.fromkeys(found, 1)) if query.distinct else found


class Machine:
    """The synopses of a bounded query. `arrive` gives the new answers."""

    def __init__(self, query: ConjunctiveQuery, verdict: BoundedMemory) -> None:
        assert not verdict.folded, "give the folded query"
        self.query, self.synopses = query, {synopsis.stream: synopsis for synopsis in verdict.synopses}
        self.counted: dict[str, dict[Any, tuple[Row, int]]] = {name: {} for name in self.synopses}
        self.skylines: dict[str, dict[Any, list[Row]]] = {name: {} for name in self.synopses}
        self.space = Space(query)

    def arrive(self, base: str, row: Row) -> Counter[tuple[Any, ...]]:
        new: Counter[tuple[Any, ...]] = Counter()
        for stream in self.query.streams:
            synopsis = self.synopses.get(stream.name)
            if stream.base != base or synopsis is None or not self._passes(synopsis, row):
                continue
            old = self._answers({}) if self.query.distinct else Counter()
            joined = self._answers({stream.name: row})
            new += Counter(dict.fromkeys(joined.keys() - old.keys(), 1)) if self.query.distinct else joined
            self._keep(synopsis, row)
        return new

    def sizes(self) -> dict[str, int]:
        return {name: sum(map(len, self.skylines[name].values())) + len(self.counted[name]) for name in self.synopses}

    def _passes(self, synopsis: Synopsis, row: Row) -> bool:
        values = {a: row[a.name] for a in self.query.attributes if a.stream == synopsis.stream}
        return all(holds(c, values) for c in synopsis.filters if isinstance(c, Comparison))

    def _answers(self, given: Mapping[str, Row]) -> Counter[tuple[Any, ...]]:
        """Joins what is kept of each stream, and in place of some streams the given rows."""
        choices = [[(given[s.name], 1)] if s.name in given else self._kept(s.name) for s in self.query.streams]
        found: Counter[tuple[Any, ...]] = Counter()
        for combination in product(*choices):
            of = {s.name: row for s, (row, _) in zip(self.query.streams, combination, strict=True)}
            values = {a: of[a.stream][a.name] for a in self.query.attributes}
            if all(holds(c, values) for c in self.query.comparisons):
                count = 1
                for _, times in combination:
                    count *= times
                found[tuple(values[a] for a in self.query.projected)] += count
        return found

    def _kept(self, name: str) -> list[tuple[Row, int]]:
        rows = [(row, 1) for group in self.skylines[name].values() for row in group]
        return rows + list(self.counted[name].values())

    def _keep(self, synopsis: Synopsis, row: Row) -> None:
        values = tuple(row[a.name] for a in synopsis.values)
        if synopsis.kept is Kept.COUNTERS:
            key = (values, *box_of(synopsis, row))
            sample, count = self.counted[synopsis.stream].get(key, (row, 0))
            self.counted[synopsis.stream][key] = (sample, count + 1)
        elif synopsis.kept is Kept.SKYLINE:
            group = [*self.skylines[synopsis.stream].get(values, []), row]
            for candidate in list(group)[::-1]:
                others = list(group)
                others.remove(candidate)
                if self.space.covered(synopsis, candidate, others):
                    group = others
            self.skylines[synopsis.stream][values] = group


def corner_of(synopsis: Synopsis, row: Row) -> Iterator[tuple[ComparedAttribute, BoundSide, Fraction, bool]]:
    """The sides of a row's box, each with whether its end is left out."""
    for corner in synopsis.corners:
        ends = [(Fraction(row[a.name]) + edge.value, edge.strict) for a, edge in corner.terms]
        if corner.limit is not None:
            ends.append((corner.limit.value, corner.limit.strict))
        if corner.side is BoundSide.BELOW:
            value, strict = max(ends)
        else:
            value, strict = min(ends, key=lambda end: (end[0], not end[1]))
        yield corner.of, corner.side, value, strict


def box_of(synopsis: Synopsis, row: Row) -> tuple[Any, ...]:
    holes = []
    for hole in synopsis.holes:
        value = (
            row[hole.attribute.name] if hole.attribute.domain is Domain.OTHER else row[hole.attribute.name] + hole.shift
        )
        low = hole.low is None or value > hole.low.value or (value == hole.low.value and not hole.low.strict)
        high = hole.high is None or value < hole.high.value or (value == hole.high.value and not hole.high.strict)
        holes.append(value if low and high else None)
    return (*corner_of(synopsis, row), *holes)


class Space:
    """Where the partners of rows can lie: whether a row's box has a part that no other box covers."""

    def __init__(self, query: ConjunctiveQuery) -> None:
        nodes: list[Any] = [ZERO, *query.attributes]
        self.distance: dict[Any, dict[Any, Limit | None]] = {u: dict.fromkeys(nodes) for u in nodes}
        for node in nodes:
            self.distance[node][node] = (Fraction(0), 0)
        for comparison in query.comparisons:
            self._read(comparison)
        for k in nodes:
            for u in nodes:
                for v in nodes:
                    self._lower(u, v, _plus(self.distance[u][k], self.distance[k][v]))

    def _read(self, comparison: Comparison) -> None:
        sides = [
            (s, Fraction(0)) if isinstance(s, ComparedAttribute) else (ZERO, Fraction(s))
            for s in (comparison.left, comparison.right)
        ]
        (left, at_left), (right, at_right) = sides
        value = at_right - at_left + comparison.offset
        whole = comparison.attributes[0].domain is Domain.INTEGER
        if comparison.op is Op.LT:
            self._lower(left, right, (value - 1, 0) if whole else (value, -1))
        if comparison.op in (Op.LE, Op.EQ):
            self._lower(left, right, (value, 0))
        if comparison.op is Op.EQ:
            self._lower(right, left, (-value, 0))

    def _lower(self, u: Any, v: Any, limit: Limit | None) -> None:
        known = self.distance[u][v]
        if limit is not None and (known is None or limit < known):
            self.distance[u][v] = limit

    def covered(self, synopsis: Synopsis, row: Row, others: Sequence[Row]) -> bool:
        """Whether each partner of a row joins one of the others, too."""
        bounds: dict[tuple[Any, Any], Limit] = {}
        for of, side, value, strict in corner_of(synopsis, row):
            edge = (of, ZERO) if side is BoundSide.ABOVE else (ZERO, of)
            limit = (value if side is BoundSide.ABOVE else -value, -1 if strict else 0)
            bounds[edge] = min(limit, bounds.get(edge, limit))
        never = [(hole.of, _hole_value(hole, row)) for hole in synopsis.holes]
        return not self._escapes(synopsis, bounds, never, others)

    def _escapes(self, synopsis: Synopsis, bounds: dict[Any, Limit], never: list[Any], others: Sequence[Row]) -> bool:
        if not self._possible(bounds, never):
            return False
        if not others:
            return True
        for edge, limit in self._ways_out(synopsis, others[0]):
            tighter = dict(bounds)
            for one, value in zip(edge, limit, strict=True):
                tighter[one] = min(value, tighter.get(one, value))
            if self._escapes(synopsis, tighter, never, others[1:]):
                return True
        return False

    def _ways_out(self, synopsis: Synopsis, row: Row) -> Iterator[tuple[list[Any], list[Limit]]]:
        for of, side, value, strict in corner_of(synopsis, row):
            whole = of.domain is Domain.INTEGER
            beyond = (value - 1, 0) if whole else (value, 0 if strict else -1)
            if side is BoundSide.BELOW:
                yield [(of, ZERO)], [beyond]
            else:
                yield [(ZERO, of)], [(-value - 1, 0) if whole else (-value, 0 if strict else -1)]
        for hole in synopsis.holes:
            value = _hole_value(hole, row)
            yield [(hole.of, ZERO), (ZERO, hole.of)], [(value, 0), (-value, 0)]

    def _possible(self, bounds: dict[Any, Limit], never: list[Any]) -> bool:
        nodes = list(self.distance)

        def end(u: Any) -> Limit | None:
            """The greatest value that a node can have."""
            ways = [_plus(self.distance[u][v], bounds.get((v, ZERO)) if v != ZERO else (Fraction(0), 0)) for v in nodes]
            return min((way for way in ways if way is not None), default=None)

        def start(u: Any) -> Limit | None:
            ways = [_plus(bounds.get((ZERO, v)) if v != ZERO else (Fraction(0), 0), self.distance[v][u]) for v in nodes]
            return min((way for way in ways if way is not None), default=None)

        for u in nodes:
            around = _plus(end(u), start(u))
            if around is not None and around < (0, 0):
                return False
        return not any(end(of) == (value, 0) and start(of) == (-value, 0) for of, value in never)


def _hole_value(hole: Any, row: Row) -> Fraction:
    return Fraction(row[hole.attribute.name]) + hole.shift


def _plus(one: Limit | None, other: Limit | None) -> Limit | None:
    return None if one is None or other is None else (one[0] + other[0], max(-1, one[1] + other[1]))

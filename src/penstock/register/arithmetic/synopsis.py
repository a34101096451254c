"""A query that is bounded has synopses, which take a limited number of entries.

A row of a stream stands for its projected values and the box of rows that it joins. With duplicates a synopsis counts
rows per values and box; without, it keeps rows whose box is not covered, per values. The paper's buckets, one per
local order and per value of every bounded attribute, take 16 entries for query Q6 of table 1; these take 2 (section 6
leaves it as future work).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod

from penstock.register.arithmetic.closure import WHOLE, Apart, Closure, Limit
from penstock.register.arithmetic.induced import induced
from penstock.register.arithmetic.judgement import BoundSide, BoxEdge, BoxHole, Corner, Kept, Synopsis
from penstock.register.arithmetic.query import ConjunctiveQuery, Opaque, QueryCondition, StreamOccurrence
from penstock.register.arithmetic.references import (
    JoinReference,
    avoided,
    largest_family,
    read_values,
    references,
    step,
)


def synopses(query: ConjunctiveQuery, closure: Closure) -> tuple[Synopsis, ...]:
    """Derive the synopsis of each stream of a query that is bounded."""
    return tuple(synopsis(query, closure, stream) for stream in query.streams)


def synopsis(query: ConjunctiveQuery, closure: Closure, stream: StreamOccurrence) -> Synopsis:
    """Derive the synopsis of a stream that is bounded, if only by itself."""
    written = (condition for condition in query.conditions if condition.streams == {stream.name})
    filters: tuple[QueryCondition, ...] = (*written, *induced(closure, [stream.name]))
    if len(query.streams) == 1 and not query.distinct:
        return Synopsis(stream.name, filters, Kept.NOTHING, (), (), (), 0)
    values = _values(query, closure, stream)
    fixed = _with_equals(closure, values)
    found, holes = references(closure, stream.name, fixed), avoided(closure, stream.name, fixed)
    groups = prod(closure.values(node) or 0 for node in _unequal(closure, values))
    boxes = _boxes(closure, found, holes)
    if query.distinct:
        family = largest_family(closure, found, len(holes))
        boxes = min(size for size in (boxes, family) if size is not None)
    assert boxes is not None, "the query is not bounded"
    return Synopsis(
        stream.name,
        filters,
        Kept.SKYLINE if query.distinct else Kept.COUNTERS,
        tuple(closure.attributes[node - 1] for node in values),
        tuple(_corners(closure, [reference for reference in found if read_values(closure, reference) != 0])),
        tuple(_hole(closure, own, apart) for own, apart in holes),
        groups * boxes,
    )


def _values(query: ConjunctiveQuery, closure: Closure, stream: StreamOccurrence) -> list[int]:
    """Values are kept of projected attributes, and of those in opaque join conditions."""
    looked_at = [c.attributes for c in query.conditions if isinstance(c, Opaque) and len(c.streams) > 1]
    kept = [*query.projected, *sorted(attribute for attributes in looked_at for attribute in attributes)]
    return [closure.node(attribute) for attribute in dict.fromkeys(kept) if attribute.stream == stream.name]


def _equal(closure: Closure, one: int, other: int) -> bool:
    """Say whether the two attributes differ by a constant."""
    there, back = closure.matrix[one][other], closure.matrix[other][one]
    return there is not None and back is not None and there + back == 0


def _with_equals(closure: Closure, values: Sequence[int]) -> frozenset[int]:
    nodes = range(1, len(closure.attributes) + 1)
    return frozenset(node for node in nodes if any(_equal(closure, node, value) for value in values))


def _unequal(closure: Closure, nodes: Iterable[int]) -> list[int]:
    """Pick one node for each class of nodes that differ by constants."""
    found: list[int] = []
    for node in nodes:
        if not any(_equal(closure, node, other) for other in found):
            found.append(node)
    return found


def _boxes(closure: Closure, found: Sequence[JoinReference], holes: Sequence[tuple[int, Apart]]) -> int | None:
    """Count the boxes that the rows of a stream can have at most; None if infinitely many."""
    read: dict[int, list[tuple[Limit, Limit]]] = {}
    for reference in found:
        read.setdefault(reference.own, []).append(_read(closure, reference))
    for own, apart in holes:
        read.setdefault(own, []).append(_met(closure, own, apart))
    total = 1
    for node in _unequal(closure, read):
        equals = [other for other in read if _equal(closure, node, other)]
        ranges = [_moved(closure, interval, other, node) for other in equals for interval in read[other]]
        kinds = _kinds(closure, node, ranges)
        if kinds is None:
            return None
        total *= kinds
    return total


def _read(closure: Closure, reference: JoinReference) -> tuple[Limit, Limit]:
    """Find the least and the greatest own value that limits the other attribute more than constants do."""
    size = step(closure, reference)
    if reference.is_lower:
        below = closure.below(reference.low)
        return None if below is None else reference.limit - below + size, closure.above(reference.own)
    above = closure.above(reference.high)
    return _negated(closure.below(reference.own)), None if above is None else above - reference.limit - size


def _met(closure: Closure, own: int, apart: Apart) -> tuple[Limit, Limit]:
    """Find the least and the greatest own value that the other side of `<>` can have."""
    other, shift = (apart.right, apart.value) if own == apart.left else (apart.left, -apart.value)
    below, above = closure.below(other), closure.above(other)
    return None if below is None else shift - below, None if above is None else above + shift


def _moved(closure: Closure, interval: tuple[Limit, Limit], node: int, onto: int) -> tuple[Limit, Limit]:
    shift = closure.matrix[onto][node] or 0
    low, high = interval
    return None if low is None else low + shift, None if high is None else high + shift


def _kinds(closure: Closure, node: int, ranges: Iterable[tuple[Limit, Limit]]) -> int | None:
    """Count the kinds of values if only those inside of ranges are distinguished: each of them, and each gap."""
    size, least, most = closure.steps[node], _negated(closure.below(node)), closure.above(node)
    inside = []
    for low, high in ranges:
        start = max((limit for limit in (low, least) if limit is not None), default=None)
        end = min((limit for limit in (high, most) if limit is not None), default=None)
        if start is None or end is None:
            return None
        if start <= end:
            inside.append((start, end))
    merged = _merged(inside, size)
    if not merged:
        return 1
    counts = [(end - start) // size + 1 for start, end in merged]
    if size == 1 and max(counts) > WHOLE // 2:
        return None
    outer = (least is None or least < merged[0][0]) + (most is None or merged[-1][1] < most)
    return sum(counts) + outer + sum(1 for one, other in pairwise(merged) if one[1] + size < other[0])


def _merged(intervals: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1] + size:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _negated(limit: Limit) -> Limit:
    return None if limit is None else -limit


def _corners(closure: Closure, found: Sequence[JoinReference]) -> Iterable[Corner]:
    sides: dict[tuple[int, BoundSide], list[JoinReference]] = {}
    for reference in found:
        sides.setdefault((reference.other, BoundSide.BELOW if reference.is_lower else BoundSide.ABOVE), []).append(
            reference
        )
    for (other, side), those in sides.items():
        sign = -1 if side is BoundSide.BELOW else 1
        limit = closure.below(other) if side is BoundSide.BELOW else closure.above(other)
        yield Corner(
            closure.attributes[other - 1],
            side,
            tuple((closure.attributes[ref.own - 1], _edge(closure, ref.limit, sign)) for ref in those),
            None if limit is None else _edge(closure, limit, sign),
        )


def _edge(closure: Closure, limit: int, sign: int) -> BoxEdge:
    whole = -(-limit // WHOLE) * WHOLE
    return BoxEdge(sign * closure.number(whole), strict=limit != whole)


def _hole(closure: Closure, own: int, apart: Apart) -> BoxHole:
    other, shift = (apart.right, -apart.value) if own == apart.left else (apart.left, apart.value)
    below, above = closure.below(other), closure.above(other)
    return BoxHole(
        closure.attributes[other - 1],
        closure.attributes[own - 1],
        closure.number(shift),
        None if below is None else _edge(closure, below, -1),
        None if above is None else _edge(closure, above, 1),
    )

"""The paper's own test, by enumeration of locally total orders (theorems 4.1 to 5.3). It shares no code with ours.

For two streams or three without self-joins, over integers, without `<>` and differences. It departs from the paper
where the paper is wrong: satisfiability is over integers; a comparison is redundant also if a constant stands between
in the weak sense (`S.A = 10 AND S.A < T.D`); `<=` that an order does not decide is an inequality; all that is induced
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from penstock.register.arithmetic import ComparedAttribute, Comparison, ConjunctiveQuery, Op

Element = ComparedAttribute | int
#: (left, right, c): left - right <= c.
Edges = list[tuple[Element | str, Element | str, int]]
INFINITE = float("inf")


def is_bounded(query: ConjunctiveQuery) -> bool:
    constants = {side for c in query.comparisons for side in (c.left, c.right) if isinstance(side, int)}
    if len(query.streams) == 1 and not query.distinct:
        return True
    given = [edge for comparison in query.comparisons for edge in edges(comparison)]
    locals_ = []
    for stream in query.streams:
        orders = total_orders([a for a in query.attributes if a.stream == stream.name] + sorted(constants))
        locals_.append([order for order in orders if shortest([*given, *order], query, constants) is not None])
    for orders in product(*locals_):
        distances = shortest([*given, *(edge for order in orders for edge in order)], query, constants)
        if distances is not None and not _ordered_query_is_bounded(query, distances, constants):
            return False
    return True


def total_orders(elements: Sequence[Element]) -> Iterator[Edges]:
    """Every weak order of the elements that agrees with the order of the constants, as comparisons of neighbours."""
    for ranks in product(range(len(elements)), repeat=len(elements)):
        if set(ranks) != set(range(max(ranks, default=-1) + 1)):
            continue
        numbers = [(value, rank) for value, rank in zip(elements, ranks, strict=True) if isinstance(value, int)]
        if all((a < b) == (i < j) for a, i in numbers for b, j in numbers):
            yield [
                (a, b, 0 if i == j else -1)
                for a, i in zip(elements, ranks, strict=True)
                for b, j in zip(elements, ranks, strict=True)
                if a is not b and i <= j
            ]


def edges(comparison: Comparison) -> Edges:
    left, right = comparison.left, comparison.right
    assert isinstance(left, ComparedAttribute | int)
    assert isinstance(right, ComparedAttribute | int)
    match comparison.op:
        case Op.LT:
            return [(left, right, -1)]
        case Op.LE:
            return [(left, right, 0)]
        case Op.EQ:
            return [(left, right, 0), (right, left, 0)]
    raise AssertionError("the paper has no <>")


def shortest(given: Edges, query: ConjunctiveQuery, constants: set[int]) -> dict[tuple[object, object], float] | None:
    nodes: list[object] = [*query.attributes, *sorted(constants)]
    number = {node: n for n, node in enumerate(nodes)}
    size = len(nodes)
    distance = [[0.0 if u == v else INFINITE for v in range(size)] for u in range(size)]
    for a in constants:
        for b in constants:
            distance[number[a]][number[b]] = float(a - b)
    for left, right, c in given:
        row = distance[number[left]]
        row[number[right]] = min(row[number[right]], float(c))
    for k, onward in enumerate(distance):
        for row in distance:
            if row[k] < INFINITE:
                row[:] = [min(d, row[k] + e) for d, e in zip(row, onward, strict=True)]
    if any(distance[n][n] < 0 for n in range(size)):
        return None
    return {(u, v): distance[number[u]][number[v]] for u in nodes for v in nodes}


def _ordered_query_is_bounded(
    query: ConjunctiveQuery, distance: dict[tuple[object, object], float], constants: set[int]
) -> bool:
    attributes = query.attributes

    def bounded(a: ComparedAttribute) -> bool:
        above = any(distance[a, k] < INFINITE for k in constants)
        return above and any(distance[k, a] < INFINITE for k in constants)

    def less(u: object, v: object) -> bool:
        return distance[u, v] <= 0

    def redundant(u: ComparedAttribute, v: ComparedAttribute) -> bool:
        if any(distance[u, k] < INFINITE and distance[k, v] < INFINITE for k in constants):
            return True
        between = [e for e in attributes if less(u, e) and less(e, v) and not less(e, u) and not less(v, e)]
        return bool(between)

    if not all(bounded(a) for a in query.projected):
        return False
    joins = [(u, v) for u in attributes for v in attributes if u.stream != v.stream and less(u, v)]
    for u, v in joins:
        if less(v, u) and not (bounded(u) and bounded(v)):
            return False
    refs = [(u, v) for u, v in joins if not less(v, u) and not redundant(u, v)]
    for stream in query.streams:
        lowers = {u for u, v in refs if u.stream == stream.name and not bounded(u)}
        uppers = {v for u, v in refs if v.stream == stream.name and not bounded(v)}
        count = _classes(lowers, distance) + _classes(uppers, distance)
        if count > (1 if query.distinct else 0):
            return False
    return True


def _classes(attributes: set[ComparedAttribute], distance: dict[tuple[object, object], float]) -> int:
    found: list[ComparedAttribute] = []
    for a in sorted(attributes):
        if not any(distance[a, b] == 0 and distance[b, a] == 0 for b in found):
            found.append(a)
    return len(found)

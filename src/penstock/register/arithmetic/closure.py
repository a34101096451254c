"""A difference-bound matrix, closed by shortest paths, holds all that a conjunction of comparisons implies.

Every comparison but `<>` is a limit on a difference, `u - v <= c` or `u - v < c`; a constant is a difference from a
node that stands for 0. The closed matrix has the least limit that holds for each pair (section 3, *transitive
closure*, with numbers).

A limit is one integer: the number, in a unit that makes all constants whole, times `WHOLE`, less 1 if the limit is
strict. So the 1 is an infinitesimal, limits are added and compared as they are, and `x < 5` over integers is simply
`x <= 4`. The paper decides satisfiability as if integers were dense; `10 < a AND a < b AND b < 12` has no solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm

from penstock.effort import kept, spend
from penstock.register.arithmetic.query import (
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    ConstantValue,
    Domain,
    Op,
)

#: One, in infinitesimals: more than any path has strict steps.
WHOLE = 1 << 32

#: `None` where there is no limit.
Limit = int | None

Matrix = list[list[Limit]]

#: To compare two limits takes so much less than to visit an expression.
_COMPARED_IN_A_STEP = 16

#: This node stands for 0.
ZERO = 0


@dataclass(frozen=True, slots=True)
class Apart:
    """`left - right <> value`, where neither follows from the other comparisons."""

    left: int
    right: int
    value: int
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Upper:
    """A comparison says `left - right <= limit`, or `<`."""

    left: int
    right: int
    limit: int
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Closure:
    """The comparisons of a satisfiable query imply these limits. Nodes are 0, then the attributes in their order."""

    attributes: tuple[ComparedAttribute, ...]
    #: `matrix[u][v]` limits u - v.
    matrix: Matrix
    uppers: tuple[Upper, ...]
    aparts: tuple[Apart, ...]
    #: By how much two values of an attribute differ at least: an infinitesimal for one that is dense.
    steps: tuple[int, ...]
    #: How many infinitesimals 1 is.
    one: int
    #: Constants that have no order, by the number that stands for them.
    codes: tuple[ConstantValue, ...]

    def node(self, attribute: ComparedAttribute) -> int:
        return self.attributes.index(attribute) + 1

    def above(self, node: int) -> Limit:
        """No value is greater than this."""
        return self.matrix[node][ZERO]

    def below(self, node: int) -> Limit:
        """No value is less than this, negated."""
        return self.matrix[ZERO][node]

    def values(self, node: int) -> int | None:
        """Count the values that the attribute can have (section 6: it is bounded if they are finitely many).

        >>> from penstock.register.arithmetic.query import ComparedAttribute, Comparison, Op, ConjunctiveQuery
        >>> a = ComparedAttribute("S", "a")
        >>> teens = [Comparison(10, Op.LT, a), Comparison(a, Op.LT, 20)]
        >>> closure = close(ConjunctiveQuery.over("S", teens, [a], distinct=True))
        >>> closure.values(closure.node(a))
        9
        """
        above, below = self.above(node), self.below(node)
        if above is None or below is None or (self.is_dense(node) and above + below):
            return None
        return (above + below) // self.steps[node] + 1

    def is_dense(self, node: int) -> bool:
        return self.steps[node] == 1

    def number(self, value: int) -> Fraction:
        """Give a value as the query writes it."""
        return Fraction(value, self.one)

    def limits(self) -> list[tuple[int, int, int]]:
        """Give the comparisons of the query as limits of differences."""
        return [(upper.left, upper.right, upper.limit) for upper in self.uppers]

    def implies(self, comparison: Comparison) -> bool:
        """Say whether a comparison of the query's attributes follows from the query's own."""
        reader = kept("reader", (self,), self._reader)
        if comparison.op is Op.NE:
            apart = reader.apart(comparison)
            return apart is None or self._keeps_apart(apart)
        uppers = ((self.matrix[upper.left][upper.right], upper.limit) for upper in reader.uppers(comparison))
        return all(known is not None and known <= limit for known, limit in uppers)

    def _reader(self) -> _Reader:
        nodes = {attribute: number for number, attribute in enumerate(self.attributes, 1)}
        return _Reader(nodes, {code: number for number, code in enumerate(self.codes)}, self.one, self.steps)

    def _keeps_apart(self, apart: Apart) -> bool:
        above, below = self.matrix[apart.left][apart.right], self.matrix[apart.right][apart.left]
        if (above is not None and above < apart.value) or (below is not None and below < -apart.value):
            return True
        said = {(one.left, one.right, one.value) for one in self.aparts}
        return bool(said & {(apart.left, apart.right, apart.value), (apart.right, apart.left, -apart.value)})


def close(query: ConjunctiveQuery) -> Closure | None:
    """Close a query's comparisons; None if they contradict each other."""
    attributes = query.attributes
    nodes = {attribute: number for number, attribute in enumerate(attributes, 1)}
    codes = _codes(query.comparisons)
    unit = _unit(query, attributes)
    reader = _Reader(nodes, {code: number for number, code in enumerate(codes)}, unit * WHOLE, _steps(attributes, unit))
    uppers = [upper for comparison in query.comparisons for upper in reader.uppers(comparison)]
    aparts = _once(apart for comparison in query.comparisons if (apart := reader.apart(comparison)))
    matrix = closed(len(attributes) + 1, [(upper.left, upper.right, upper.limit) for upper in uppers])
    ends = None if matrix is None else _cut_ends(matrix, aparts, reader.steps)
    if matrix is None or ends is None:
        return None
    matrix = [[None if limit is None else strictness_once(limit) for limit in row] for row in matrix]
    cut = {upper.comparison for upper in ends}
    inside = tuple(apart for apart in aparts if apart.comparison not in cut and _is_inside(matrix, apart))
    return Closure(attributes, matrix, (*uppers, *ends), inside, reader.steps, unit * WHOLE, codes)


def closed(size: int, limits: Iterable[tuple[int, int, int]]) -> Matrix | None:
    """Close the matrix of limits `(left, right, limit)`, counting each strict step; None for a contradiction.

    `x < y AND y < z` leaves room for a value between x and z; as one strict limit, it would be forgotten. So this is
    what to find values with.
    """
    matrix: Matrix = [[None] * size for _ in range(size)]
    for node in range(size):
        matrix[node][node] = 0
    for left, right, limit in limits:
        known = matrix[left][right]
        if known is None or limit < known:
            matrix[left][right] = limit
    return matrix if _shortest_paths(matrix) else None


def tighten(matrix: Matrix, left: int, right: int, limit: int) -> bool:
    """Add `left - right <= limit` to a closed matrix and close it again; False if it contradicts the rest."""
    back = matrix[right][left]
    if back is not None and back + limit < 0:
        return False
    known = matrix[left][right]
    if known is not None and known <= limit:
        return True
    spend(1 + len(matrix) ** 2 // _COMPARED_IN_A_STEP)
    column = [row[left] for row in matrix]
    ends = [(v, onward) for v, onward in enumerate(matrix[right]) if onward is not None]
    for row, start in zip(matrix, column, strict=True):
        if start is not None:
            _shorten(row, start + limit, ends)
    return True


def strictness_once(limit: int) -> int:
    """Make one limit of a sum of limits: it is strict or not, however many of its parts are."""
    whole = -(-limit // WHOLE) * WHOLE
    return whole - (limit != whole)


def _shortest_paths(matrix: Matrix) -> bool:
    """Run Floyd and Warshall's algorithm in place; False if there is a negative cycle, that is, a contradiction."""
    for middle in [*range(1, len(matrix)), ZERO]:  # by way of 0 all is related, so it comes last
        onward = matrix[middle]
        ends = [(v, limit) for v, limit in enumerate(onward) if limit is not None]
        spend(1 + len(matrix) * len(ends) // _COMPARED_IN_A_STEP)
        for row in matrix:
            start = row[middle]
            if start is not None:
                _shorten(row, start, ends)
    return all(limit is None or limit >= 0 for limit in (matrix[node][node] for node in range(len(matrix))))


def _shorten(row: list[Limit], start: int, ends: Sequence[tuple[int, int]]) -> None:
    for v, onward in ends:
        through, known = start + onward, row[v]
        if known is None or through < known:
            row[v] = through


def _cut_ends(matrix: Matrix, aparts: Sequence[Apart], steps: Sequence[int]) -> list[Upper] | None:
    """Add the limits that `<>` sets: `x <= 5 AND x <> 5` is `x < 5`. None for a contradiction."""
    ends: list[Upper] = []
    waiting = True
    while waiting:
        waiting = False
        for apart in aparts:
            u, v, value = apart.left, apart.right, apart.value
            step = min(steps[u], steps[v])
            for end in (Upper(u, v, value - step, apart.comparison), Upper(v, u, -value - step, apart.comparison)):
                if matrix[end.left][end.right] == end.limit + step:
                    if not tighten(matrix, end.left, end.right, end.limit):
                        return None
                    ends.append(end)
                    waiting = True
    return ends


def _once(aparts: Iterable[Apart]) -> list[Apart]:
    """`x <> y` is also `y <> x`."""
    found: dict[tuple[int, int, int], Apart] = {}
    for apart in aparts:
        found.setdefault(max((apart.left, apart.right, apart.value), (apart.right, apart.left, -apart.value)), apart)
    return list(found.values())


def _is_inside(matrix: Matrix, apart: Apart) -> bool:
    """Say whether a `<>` makes a hole in a range; one that lies outside says nothing."""
    above, below = matrix[apart.left][apart.right], matrix[apart.right][apart.left]
    return (above is None or above > apart.value) and (below is None or below > -apart.value)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader turns comparisons into limits."""

    nodes: dict[ComparedAttribute, int]
    codes: dict[ConstantValue, int]
    one: int
    steps: tuple[int, ...]

    def uppers(self, comparison: Comparison) -> list[Upper]:
        left, right, value = self._difference(comparison)
        step = min(self.steps[left], self.steps[right])
        match comparison.op:
            case Op.LT:
                return [Upper(left, right, ceil(value / step) * step - step, comparison)]
            case Op.LE:
                return [Upper(left, right, floor(value / step) * step, comparison)]
            case Op.EQ:
                return [
                    Upper(left, right, floor(value / step) * step, comparison),
                    Upper(right, left, floor(-value / step) * step, comparison),
                ]
        return []

    def apart(self, comparison: Comparison) -> Apart | None:
        """Read a `<>`, unless it is true of all integers: `x <> y + 1/2`."""
        left, right, value = self._difference(comparison)
        possible = comparison.op is Op.NE and value % min(self.steps[left], self.steps[right]) == 0
        return Apart(left, right, floor(value), comparison) if possible else None

    def _difference(self, comparison: Comparison) -> tuple[int, int, Fraction]:
        """`left - right op value`, in infinitesimals."""
        left, at_left = self._side(comparison.left, comparison.attributes[0].domain)
        right, at_right = self._side(comparison.right, comparison.attributes[0].domain)
        return left, right, (at_right - at_left + Fraction(comparison.offset)) * self.one

    def _side(self, side: ComparedAttribute | ConstantValue, domain: Domain) -> tuple[int, Fraction]:
        if isinstance(side, ComparedAttribute):
            return self.nodes[side], Fraction(0)
        return ZERO, Fraction(self.codes[side]) if domain is Domain.OTHER else number(side)


def number(constant: ConstantValue) -> Fraction:
    """Give an ordered constant exactly."""
    if isinstance(constant, int | float | Fraction | Decimal):
        return Fraction(constant)
    raise ValueError(f"{constant!r} is not a number")


def _codes(comparisons: Iterable[Comparison]) -> tuple[ConstantValue, ...]:
    """Number the constants that have no order: only whether they are equal will ever matter."""
    found = {
        side: None
        for comparison in comparisons
        if comparison.attributes[0].domain is Domain.OTHER
        for side in (comparison.left, comparison.right)
        if not isinstance(side, ComparedAttribute)
    }
    return tuple(found)


def _unit(query: ConjunctiveQuery, attributes: Iterable[ComparedAttribute]) -> int:
    """Find the denominator that makes all constants, offsets and steps whole."""
    numbers = [Fraction(1, 10**attribute.scale) for attribute in attributes]
    for comparison in query.comparisons:
        numbers.append(Fraction(comparison.offset))
        if comparison.attributes[0].domain is not Domain.OTHER:
            sides = (comparison.left, comparison.right)
            numbers.extend(number(side) for side in sides if not isinstance(side, ComparedAttribute))
    return lcm(*(value.denominator for value in numbers))


def _steps(attributes: Iterable[ComparedAttribute], unit: int) -> tuple[int, ...]:
    of_zero = [unit * WHOLE]
    return tuple(of_zero + [unit * WHOLE // 10**a.scale if a.domain is Domain.INTEGER else 1 for a in attributes])

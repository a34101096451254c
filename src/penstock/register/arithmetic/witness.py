"""A witness defeats every plan: N rows after each subset of which a plan must be in a state of its own (appendix A).

The proof of lemma A.1 stretches one solution until its attributes lie far apart. Here a family is a solution of the
query's closure taken N times, with links between neighbours, which is a system of differences again. Over integers
the constants drop out: take one solution, and add a large multiple of a solution of the system in which every finite
limit is 0. Over dense domains it is solved as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random

from penstock.register.arithmetic.boundedness import FailedCondition, Pattern
from penstock.register.arithmetic.closure import WHOLE, ZERO, Apart, Closure, Matrix, closed
from penstock.register.arithmetic.evaluation import tells_apart
from penstock.register.arithmetic.judgement import Family, FamilyRow, LinearMemoryWitness
from penstock.register.arithmetic.query import ConjunctiveQuery, ConstantValue, Domain, Opaque
from penstock.register.arithmetic.references import JoinReference, step
from penstock.register.arithmetic.solution import Solution, solve

#: A witness whose making is not certain is tried out on so many rows, if there are not more combinations than this.
TRIED_ON, COMBINATIONS = 3, 2_000

#: How often a dense family is made anew when `<>` happens to exclude one of its members.
ATTEMPTS = 32


def witness(
    query: ConjunctiveQuery, closure: Closure, finding: FailedCondition, written: ConjunctiveQuery
) -> LinearMemoryWitness | None:
    """Build the witness of a condition that fails; None if it proves nothing.

    `written` is the query before it was folded: its rows may have attributes whose values no longer matter.
    """
    if any(isinstance(condition, Opaque) for condition in query.conditions):
        return None
    maker = _Maker(query, closure, finding, written)
    base = next(stream.base for stream in query.streams if stream.name == finding.failure.stream)
    if (closure.aparts or query.joins_itself or _mixes_scales(closure)) and not maker.is_right():
        return None
    return LinearMemoryWitness(base, maker.family)


@dataclass(frozen=True, slots=True)
class _Link:
    """`low - high <= limit` between two members: `low` of the one that is `low_at` further on, and so `high`."""

    low: int
    low_at: int
    high: int
    high_at: int
    limit: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A family has been found, with all continuations that it may need."""

    items: tuple[FamilyRow, ...]
    continuations: tuple[tuple[FamilyRow, ...], ...]
    separating: Callable[[frozenset[int], frozenset[int]], tuple[FamilyRow, ...]]


@dataclass(frozen=True, slots=True)
class _Maker:
    query: ConjunctiveQuery
    closure: Closure
    finding: FailedCondition
    written: ConjunctiveQuery

    def family(self, size: int) -> Family:
        found = self._family(size)
        if found is None:
            raise ValueError(f"no family of {size} rows was found")
        return Family(found.items, found.separating)

    def is_right(self) -> bool:
        """Try the family out: its sets must lead to different answers."""
        if self.query.joins_itself and (2 * TRIED_ON) ** len(self.query.streams) > COMBINATIONS:
            return False
        found = self._family(TRIED_ON)
        if found is None:
            return False
        items = found.items
        sets = [some for size in range(TRIED_ON + 1) for some in combinations(range(TRIED_ON), size)]
        if self.query.joins_itself:
            return tells_apart(self.query, [[items[n] for n in some] for some in sets], found.continuations)
        return all(_separates(self.query, found, one, other) for one, other in combinations(sets, 2))

    def _family(self, size: int) -> _Found | None:
        members = self._members(size + 1)
        if members is None:
            return None
        stream = self.finding.failure.stream
        rows = [{name: self._row(member, name) for name in self._names} for member in members]
        items = tuple(row[stream] for row in rows[:size])
        if len(self.query.streams) == 1:
            partners: list[tuple[FamilyRow, ...]] = [(row[stream],) for row in rows]
        else:
            partners = [tuple(row for name, row in each.items() if name != stream) for each in rows]
        if self.query.joins_itself:
            tried = [*partners, *((row,) for rows in partners for row in rows), *((item,) for item in items)]
            return _Found(items, tuple(tried), partial(_search, self.query, items, tried))
        return _Found(items, tuple(partners), partial(_pick, self.finding.pattern, partners))

    @property
    def _names(self) -> list[str]:
        return [stream.name for stream in self.query.streams]

    def _row(self, member: Solution, name: str) -> FamilyRow:
        base = next(stream.base for stream in self.query.streams if stream.name == name)
        same = {stream.name for stream in self.written.streams if stream.base == base}
        free = {a.name: "any" if a.domain is Domain.OTHER else 0 for a in self.written.attributes if a.stream in same}
        values = {
            attribute.name: decode(self.closure, node, member[node])
            for node, attribute in enumerate(self.closure.attributes, 1)
            if attribute.stream == name
        }
        return FamilyRow(base, {**free, **values})

    def _members(self, size: int) -> list[Solution] | None:
        """Solve the query as many times as asked for, linked as the pattern says. The last solution is a spare."""
        closure, aparts = self.closure, list(self.closure.aparts)
        matrix = closed(len(closure.matrix), [*closure.limits(), *self._extra()])
        if self.finding.pattern is Pattern.HOLES and matrix is not None:
            # But for the cause, and what says the same in other words.
            aparts = [apart for apart in aparts if not _is_broken(apart, matrix)]
        start = None if matrix is None else solve(matrix, aparts, closure.steps, closure.one)
        if matrix is None or start is None:
            return None
        links = self._links()
        whole = [link for link in links if not closure.is_dense(link.low)]
        dense = [link for link in links if closure.is_dense(link.low)]
        members = [dict(start) for _ in range(size)]
        if whole and not _stretch(closure, matrix, members, whole):
            return None
        if dense and not _spread(closure, matrix, members, dense, aparts):
            return None
        return members

    def _extra(self) -> list[tuple[int, int, int]]:
        """For holes, both sides of the `<>` are equal."""
        cause = self.finding.cause
        if not isinstance(cause, Apart):
            return []
        return [(cause.left, cause.right, cause.value), (cause.right, cause.left, -cause.value)]

    def _links(self) -> list[_Link]:
        cause = self.finding.cause
        if isinstance(cause, int):
            return [_Link(cause, 1, cause, 0, -self.closure.steps[cause])]
        if isinstance(cause, Apart):
            return [_Link(cause.left, 1, cause.left, 0, -self.closure.steps[cause.left])]
        return [self._link(reference, number) for number, reference in enumerate(cause)]

    def _link(self, reference: JoinReference, own_at: int) -> _Link:
        """The own attribute of one member and the other of its neighbour break the reference."""
        other_at = 1 - own_at
        limit = -reference.limit - step(self.closure, reference)
        if reference.is_lower:
            return _Link(reference.low, other_at, reference.high, own_at, limit)
        return _Link(reference.low, own_at, reference.high, other_at, limit)


def _stretch(closure: Closure, matrix: Matrix, members: list[Solution], links: Sequence[_Link]) -> bool:
    """Integers: add a large multiple of a solution in which every limit is 0."""
    flat: Matrix = [[None if limit is None else 0 for limit in row] for row in matrix]
    nodes = [node for node in range(1, len(matrix)) if not closure.is_dense(node)]
    steps = [_Link(link.low, link.low_at, link.high, link.high_at, -1) for link in links]
    found = _chain(flat, nodes, len(members), steps, 1)
    if found is None:
        return False
    sizes = [abs(value) for value in members[0].values()] + [abs(link.limit) for link in links]
    sizes += [abs(apart.value) for apart in closure.aparts]
    far = closure.one
    while far <= 4 * max(sizes):
        far *= 10
    for member, heights in zip(members, found, strict=True):
        for node in nodes:
            member[node] += far * heights[node]
    return True


def _spread(
    closure: Closure, matrix: Matrix, members: list[Solution], links: Sequence[_Link], aparts: Sequence[Apart]
) -> bool:
    """Dense values: solve the links as they are, as widely spaced as will do, avoiding what `<>` excludes."""
    nodes = [node for node in range(1, len(matrix)) if closure.is_dense(node)]
    dense = [apart for apart in aparts if closure.is_dense(apart.left) or closure.is_dense(apart.right)]
    for attempt in range(ATTEMPTS):
        for least in (closure.one, closure.one // (4 * len(members)), WHOLE // (1 << 16), 1):
            space = least + attempt * least // 7
            wide = [_Link(link.low, link.low_at, link.high, link.high_at, link.limit + 1 - space) for link in links]
            found = _chain(matrix, nodes, len(members), wide, WHOLE << attempt if attempt else 1)
            if found is not None:
                break
        else:
            return False
        if all(_apart(values, apart) for values in found for apart in dense):
            for member, values in zip(members, found, strict=True):
                member.update((node, values[node]) for node in nodes)
            return True
    return False


def _is_broken(apart: Apart, matrix: Matrix) -> bool:
    """Say whether both sides of a `<>` are equal in all solutions of a closed matrix."""
    return matrix[apart.left][apart.right] == apart.value and matrix[apart.right][apart.left] == -apart.value


def _apart(values: Solution, apart: Apart) -> bool:
    return values[apart.left] - values[apart.right] != apart.value


def _chain(
    matrix: Matrix, nodes: Sequence[int], size: int, links: Sequence[_Link], reach: int
) -> list[Solution] | None:
    """Solve a matrix taken `size` times with links from each copy to the next, by Bellman and Ford's algorithm.

    It finds the largest values that are not above those it starts from, which are random down to the reach.

    Passing over the copies forth and back (Yen) makes it take a few passes only, however many copies there are.
    """
    all_nodes = [ZERO, *nodes]
    edges = [(u, v, limit) for u in all_nodes for v in all_nodes if u != v and (limit := matrix[u][v]) is not None]
    random = Random(reach)
    copies = [{node: -random.randrange(reach) for node in all_nodes} for _ in range(size)]
    order = list(range(size))
    for _ in range(4 * len(all_nodes) + 16):
        before = [dict(copy) for copy in copies]
        for number in order:
            _relax(copies[number], edges)
            _follow(copies, number, links)
        least = min(copy[ZERO] for copy in copies)
        for copy in copies:
            copy[ZERO] = least
        order.reverse()
        if copies == before:
            return [{node: copy[node] - least for node in all_nodes} for copy in copies]
    return None


def _relax(copy: Solution, edges: Sequence[tuple[int, int, int]]) -> None:
    """The matrix is closed, so going over its edges once settles a copy."""
    fixed = dict(copy)
    for u, v, limit in edges:
        copy[u] = min(copy[u], fixed[v] + limit)


def _follow(copies: Sequence[Solution], number: int, links: Sequence[_Link]) -> None:
    for first in (number - 1, number):
        if 0 <= first < len(copies) - 1:
            for link in links:
                low, high = copies[first + link.low_at], copies[first + link.high_at]
                low[link.low] = min(low[link.low], high[link.high] + link.limit)


def _pick(
    pattern: Pattern, partners: Sequence[tuple[FamilyRow, ...]], one: frozenset[int], other: frozenset[int]
) -> tuple[FamilyRow, ...]:
    """Pick the partner that separates two sets of items; for holes, the spare, which joins all, separates sizes."""
    differing = one ^ other
    if not differing:
        raise ValueError("the sets are equal")
    if pattern is Pattern.HOLES and len(one) != len(other):
        return partners[-1]
    return partners[max(differing)]


def _search(
    query: ConjunctiveQuery,
    items: Sequence[FamilyRow],
    tried: Sequence[tuple[FamilyRow, ...]],
    one: frozenset[int],
    other: frozenset[int],
) -> tuple[FamilyRow, ...]:
    """Search a continuation that separates the sets: in a self-join its rows join each other, too."""
    befores = [[items[number] for number in sorted(numbers)] for numbers in (one, other)]
    for rows in tried:
        if tells_apart(query, befores, [rows]):
            return rows
    raise ValueError("no rows tell these sets apart")


def _separates(query: ConjunctiveQuery, family: _Found, one: Sequence[int], other: Sequence[int]) -> bool:
    rows = family.separating(frozenset(one), frozenset(other))
    return tells_apart(query, [[family.items[number] for number in numbers] for numbers in (one, other)], [rows])


def _mixes_scales(closure: Closure) -> bool:
    return len({a.scale for a in closure.attributes if a.domain is Domain.INTEGER}) > 1


def decode(closure: Closure, node: int, value: int) -> ConstantValue:
    """Give a value as a user writes it. One without an order that is no constant of the query gets a new name."""
    number = closure.number(value)
    if closure.attributes[node - 1].domain is not Domain.OTHER:
        return int(number) if number.denominator == 1 else number
    if number.denominator == 1 and 0 <= number < len(closure.codes):
        return closure.codes[int(number)]
    name = f"value {number}"
    while name in closure.codes:
        name += "'"
    return name

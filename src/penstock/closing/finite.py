"""Which columns take finitely many values, whatever arrives: `10 < a AND a < 20` leaves nine.

Comparisons of whole numbers are closed by shortest paths from 0, so that a bound reaches every column that is tied to
it by an equality or a difference. Everything else that bounds values is counted as it stands: IN, booleans, columns of
a static table, `x % 10`, a CASE of constants, and any expression over such columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from penstock.algebra.expressions import (
    FALSE,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    Literal,
    Operator,
    Or,
    Value,
    columns,
    conjuncts,
    substitute,
)
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, classify
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    Output,
    Project,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Table,
    Window,
)
from penstock.algebra.user_functions import calls_user
from penstock.effort import once, spend
from penstock.types import BIGINT_RANGE, BOOLEAN, INT_RANGE, Kind


@dataclass(frozen=True, slots=True)
class Count:
    """Finitely many; how many where that is known. NULL counts as a value where it can be one."""

    number: int | None


#: The columns with finitely many values.
Finite = Mapping[Column, Count]

_WHOLE = frozenset({Kind.INT, Kind.BIGINT, Kind.TIMESTAMP, Kind.DATE})
#: Beyond this many a number of values is no comfort: every BIGINT is one of 2^64.
MOST = 10_000_000
#: Larger products are not worked out: nobody reads them.
LARGEST = 10**101
#: Functions of times with so many values, NULL among them.
_PERIODIC = {"MONTH": 13, "DAY": 32, "HOUR": 25, "MINUTE": 61, "SECOND": 61}


@once
def finite(relation: Relation) -> Finite:
    """The columns of a relation, and of the streams below it, that take finitely many values in its rows."""
    match relation:
        case Window(stream):
            return {column: Count(3) for column in stream.schema if column.type == BOOLEAN}
        case Table(columns=own):
            return {column: Count(None) for column in own}
        case Project(below, outputs):
            return _computed(outputs, finite(below))
        case Aggregate(below, keys):
            return _computed(keys, finite(below))
        case SetOp(_, _, left, right, own):
            return dict(_united(own, finite(left), finite(right), left, right))
        case Distinct(below):
            return finite(below)
    found: dict[Column, Count] = {}
    for below in relation.inputs if not isinstance(relation, AntiJoin) else (relation.left,):
        found |= finite(below)
    return tightened(found, truths(relation))


@once
def truths(relation: Relation) -> tuple[Expr, ...]:
    """Conjuncts that are true of every row of a relation; those of a semi-join for some row of its right side."""
    match relation:
        case Select(below, predicates):
            return predicates + truths(below)
        case Join(operands, on):
            return on + tuple(truth for operand in operands for truth in truths(operand))
        case SemiJoin(left, right, on):
            return on + truths(left) + truths(right)
        case AntiJoin(left=left) | Distinct(left):
            return truths(left)
        case Project(below, outputs) | Aggregate(below, outputs):
            return tuple(renamed(truths(below), [(o.expr, o.column) for o in outputs]))
        case SetOp(SetOperator.EXCEPT, _, left, _, own):
            return tuple(renamed(truths(left), zip(left.schema, own, strict=True)))
        case SetOp(SetOperator.INTERSECT, _, left, right, own):
            sides = ((truths(side), zip(side.schema, own, strict=True)) for side in (left, right))
            return tuple(truth for known, names in sides for truth in renamed(known, names))
    return ()


def renamed(known: tuple[Expr, ...], names: Iterable[tuple[Expr, Column]]) -> Iterator[Expr]:
    """What is known of columns under each of the names that they get; what has no name is left out.

    >>> from penstock.types import BIGINT
    >>> a, b, c = Column("s", "a", BIGINT), Column("t", "b", BIGINT), Column("q", "c", BIGINT)
    >>> few = Compare(Comparator.LE, b, Literal(9, BIGINT))
    >>> [truth.left.scope for truth in renamed((few, Compare(Comparator.EQ, a, b)), [(a, c)])]
    ['q']
    """
    named: dict[Expr, list[Column]] = {}
    for expr, name in names:
        named.setdefault(expr, []).append(name)
    for truth in dict.fromkeys((*known, *_implied(known))):
        read = sorted(columns(truth), key=str)
        for chosen in product(*(named.get(column, ()) for column in read)) if read else ():
            yield substitute(truth, dict(zip(read, chosen, strict=True)))


def _implied(known: tuple[Expr, ...]) -> Iterator[Expr]:
    """What comparisons with other columns say of single ones: their ends, and all that is said of their equals."""
    alone = intervals(truth for truth in known if len(columns(truth)) == 1)
    for column, ends in intervals(known).items():
        least, most = INT_RANGE if column.type.kind is Kind.INT else BIGINT_RANGE
        for op, end, said in zip((Comparator.GE, Comparator.LE), ends, alone.get(column, (None, None)), strict=True):
            if end is not None and end != said and least <= end <= most:
                yield Compare(op, column, Literal(end, column.type))
    pairs = [
        view for view in map(classify, known) if isinstance(view, ColumnEquality) and view.left.type == view.right.type
    ]
    both = [(one, other) for p in pairs for one, other in ((p.left, p.right), (p.right, p.left))]
    of: dict[Column, dict[Expr, None]] = {column: {} for column, _ in both}
    for truth in known:
        if len(read := columns(truth)) == 1 and (column := next(iter(read))) in of:
            of[column][truth] = None
    for _ in pairs:  # as often as a chain of equalities is long
        before = sum(map(len, of.values()))
        for one, other in both:
            spend(1 + len(of[one]))
            of[other] |= dict.fromkeys(substitute(truth, {one: other}) for truth in of[one])
        if sum(map(len, of.values())) == before:
            break
    yield from (truth for said in of.values() for truth in said)


def tightened(found: Mapping[Column, Count], predicates: Iterable[Expr]) -> Finite:
    """What is finite once predicates are known to be true."""
    known = dict(found)
    predicates = tuple(predicates)
    spend(2 * len(predicates))
    for column, (low, high) in intervals(predicates).items():
        if low is not None and high is not None and high - low < MOST:
            _improve(known, column, max(0, high - low + 1))
    for predicate in predicates:
        for column, number in _listed(predicate):
            _improve(known, column, number)
    pairs = [view for view in map(classify, predicates) if isinstance(view, ColumnEquality)]
    for _ in pairs:  # as often as a chain of equalities is long
        spend(len(pairs))
        before = dict(known)
        for pair in pairs:
            _share(known, pair.left, pair.right)
            _share(known, pair.right, pair.left)
        if known == before:
            break
    return known


def count(expr: Expr, known: Finite) -> Count | None:
    """How many values an expression takes over columns of which some have finitely many."""
    match expr:
        case Literal():
            return Count(1)
        case Column() if expr in known:
            return known[expr]
        case Arithmetic(Operator.MODULO, _, Literal(int(divisor))) if divisor != 0:
            return Count(min(2 * abs(divisor), MOST))
        case Call(function) if function in _PERIODIC:
            return Count(_PERIODIC[function])
        case Call("_COUPON", (_, Literal(int(bits)))):
            return Count((64 << bits) + 1)
        case Case(_, values, otherwise) if all(count(value, known) for value in (*values, otherwise)):
            numbers = [_number(count(value, known)) for value in (*values, otherwise)]
            return Count(None if None in numbers else sum(number or 0 for number in numbers))
    if expr.type == BOOLEAN:
        return Count(3)
    if calls_user(expr):
        return None
    read = columns(expr)
    if not read <= known.keys():
        return None
    return together(known[column] for column in read)


def together(counts: Iterable[Count]) -> Count:
    """How many combinations there are of values of each."""
    numbers = [each.number for each in counts]
    number = None if None in numbers else prod(number for number in numbers if number is not None)
    return Count(None if number is None else min(number, LARGEST))


def contradicts(predicates: Iterable[Expr]) -> bool:
    """Whether no row can satisfy all predicates: a negative cycle of differences. A no may be wrong.

    >>> from penstock.types import BIGINT
    >>> a, b = Column("s", "a", BIGINT), Column("t", "b", BIGINT)
    >>> contradicts([Compare(Comparator.LT, a, b), Compare(Comparator.GT, a, b)])
    True
    """
    return _contradicts(tuple(predicates))


@once
def _contradicts(predicates: tuple[Expr, ...]) -> bool:
    spend(2 * len(predicates))
    if FALSE in predicates or _is_torn(predicates):
        return True
    edges = list(_all_edges(predicates))
    distances: dict[Column | None, int] = dict.fromkeys((end for edge in edges for end in edge[:2]), 0)
    for _ in range(len(distances) + 1):
        spend(len(edges))
        changed = False
        for left, right, gap in edges:
            if distances[right] + gap < distances[left]:
                distances[left] = distances[right] + gap
                changed = True
        if not changed:
            return False
    return bool(edges)


def _is_torn(predicates: Iterable[Expr]) -> bool:
    """Whether a column of any type would have to be above its upper bound, or equal to two constants."""
    low: dict[Column, tuple[Any, bool]] = {}
    high: dict[Column, tuple[Any, bool]] = {}
    equal: dict[Column, set[Value]] = {}
    for view in map(classify, predicates):
        if isinstance(view, ColumnBound) and view.op is Comparator.EQ:
            equal.setdefault(view.column, set()).add(view.value)
        elif isinstance(view, ColumnBound) and view.column.type.is_numeric:
            if view.op in (Comparator.GT, Comparator.GE):
                bound = view.value, view.op is Comparator.GT
                low[view.column] = max(low.get(view.column, bound), bound)
            elif view.op in (Comparator.LT, Comparator.LE):
                bound = view.value, view.op is Comparator.LE
                high[view.column] = min(high.get(view.column, bound), bound)
    crossed = (
        low[c][0] > high[c][0] or (low[c][0] == high[c][0] and (low[c][1] or not high[c][1])) for c in low.keys() & high
    )
    return any(len(values) > 1 for values in equal.values()) or any(crossed)


def _all_edges(predicates: Iterable[Expr]) -> Iterator[tuple[Column | None, Column | None, int]]:
    """`left - right <= gap` for whole-numbered columns; None stands for 0."""
    for view in map(classify, predicates):
        match view:
            case ColumnBound(column, op, int(value)) if column.type.kind in _WHOLE:
                least, most = _interval(op, value)
                if most is not None:
                    yield column, None, most
                if least is not None:
                    yield None, column, -least
            case ColumnEquality(left, right) if left.type.kind in _WHOLE:
                yield from ((left, right, 0), (right, left, 0))
            case ColumnDifference(left, right, op, value):
                yield from _edges(left, right, op, value)


Interval = tuple[int | None, int | None]


def intervals(predicates: Iterable[Expr]) -> dict[Column, Interval]:
    """The least and the greatest value of whole-numbered columns, as far as comparisons bound them.

    Shortest paths from 0 by Bellman and Ford. A contradiction shows as an empty interval.

    >>> from penstock.types import BIGINT
    >>> a, b = Column("s", "a", BIGINT), Column("t", "b", BIGINT)
    >>> ten, twenty = Literal(10, BIGINT), Literal(20, BIGINT)
    >>> low, high = Compare(Comparator.GT, a, ten), Compare(Comparator.LT, b, twenty)
    >>> intervals([Compare(Comparator.EQ, a, b), low, high])[a]
    (11, 19)
    """
    low: dict[Column, int] = {}
    high: dict[Column, int] = {}
    edges: list[tuple[Column, Column, int]] = []
    for view in map(classify, predicates):
        match view:
            case ColumnBound(column, op, int(value)) if column.type.kind in _WHOLE:
                least, most = _interval(op, value)
                if least is not None:
                    low[column] = max(low.get(column, least), least)
                if most is not None:
                    high[column] = min(high.get(column, most), most)
            case ColumnEquality(left, right) if left.type.kind in _WHOLE:
                edges += [(left, right, 0), (right, left, 0)]
            case ColumnDifference(left, right, op, value):
                edges += _edges(left, right, op, value)
    for _ in range(len({column for edge in edges for column in edge[:2]}) + 2):
        spend(len(edges))
        if not sum(_relax(low, high, *edge) for edge in edges):
            break
    return {column: (low.get(column), high.get(column)) for column in {**low, **high}}


def _relax(low: dict[Column, int], high: dict[Column, int], left: Column, right: Column, gap: int) -> bool:
    """`left - right <= gap` bounds left above and right below. Whether that is new."""
    changed = False
    if right in high and high[right] + gap < high.get(left, high[right] + gap + 1):
        high[left] = high[right] + gap
        changed = True
    if left in low and low[left] - gap > low.get(right, low[left] - gap - 1):
        low[right] = low[left] - gap
        changed = True
    return changed


def _interval(op: Comparator, value: int) -> Interval:
    match op:
        case Comparator.EQ:
            return value, value
        case Comparator.LT:
            return None, value - 1
        case Comparator.LE:
            return None, value
        case Comparator.GT:
            return value + 1, None
        case Comparator.GE:
            return value, None
    return None, None


def _edges(left: Column, right: Column, op: Comparator, value: int) -> Iterator[tuple[Column, Column, int]]:
    """`left - right op value` as differences that are at most so much."""
    if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
        yield left, right, value - (op is Comparator.LT)
    if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
        yield right, left, -value - (op is Comparator.GT)


def _listed(predicate: Expr) -> Iterator[tuple[Column, int]]:
    """The columns that one predicate leaves a counted number of values."""
    match predicate:
        case In(Column() as column, options) if all(isinstance(option, Literal) for option in options):
            yield column, len(options)
        case Compare(Comparator.EQ | Comparator.SAME, Column() as column, Literal()):
            yield column, 1
        case Compare(Comparator.EQ, Cast(Column() as column), Literal(int())) if column.type.kind in _WHOLE:
            yield column, 1
        case Column():
            yield predicate, 1
        case And(args):
            for arg in args:
                yield from _listed(arg)
        case Or(args):
            branches = [tightened({}, conjuncts(arg)) for arg in args]
            for column in set(branches[0]).intersection(*branches[1:]):
                numbers = [branch[column].number for branch in branches]
                if None not in numbers:
                    yield column, sum(number or 0 for number in numbers)


def _improve(known: dict[Column, Count], column: Column, number: int) -> None:
    before = known.get(column)
    if before is None or before.number is None or number < before.number:
        known[column] = Count(number)


def _share(known: dict[Column, Count], source: Column, target: Column) -> None:
    if source in known and (target not in known or _larger(known[target], known[source])):
        known[target] = known[source]


def _larger(one: Count, other: Count) -> bool:
    return other.number is not None and (one.number is None or one.number > other.number)


def _number(counted: Count | None) -> int | None:
    return counted.number if counted is not None else None


def _computed(outputs: tuple[Output, ...], known: Finite) -> Finite:
    counts = {output.column: count(output.expr, known) for output in outputs}
    return {column: number for column, number in counts.items() if number is not None}


def _united(
    own: tuple[Column, ...], of_left: Finite, of_right: Finite, left: Relation, right: Relation
) -> Iterator[tuple[Column, Count]]:
    for column, a, b in zip(own, left.schema, right.schema, strict=True):
        if a in of_left and b in of_right:
            numbers = of_left[a].number, of_right[b].number
            yield column, Count(None if None in numbers else sum(number or 0 for number in numbers))

"""Semi-joins and anti-joins that are filters: a row is judged once, when it arrives, and not matched for as long as it
is there.

A row may be judged once if its outcome cannot change while it is there. That is so in two cases:

- its window is `[NOW]`: it is there at its own instant only. What a filter says of it is what the side holds at that
  instant, all arrivals of it included;
- all sides are tables, or computed of tables: they never change.

Time windows commute with filters (thesis 2.2.4), so rows are judged before their window stores them, and only those
that pass are stored. Rows of other relations, such as windows of rows, are judged when they come and when they go.

Outcomes of filters do not depend on each other, so they commute, and a stack of them is one node whose order is chosen
while it runs. The pass assumes that joins have their retentions: those that drop rows by declarations stay joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeGuard

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns, substitute
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.pipelined_filters import MembershipFilter, PipelinedFilters
from penstock.algebra.relations import Distinct, PartitionRows, Range, Relation, Select
from penstock.algebra.user_functions import calls_user
from penstock.closing.join_variables import is_table
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.effort import spend

#: A profile tuple is a word with a bit for each filter.
MOST_FILTERS = 63

NOW = Range(0)


class _Candidate(NamedTuple):
    """A semi-join or anti-join as a filter."""

    side: Relation
    wants_match: bool
    columns: tuple[Column, ...]
    where: tuple[Expr, ...]


def with_pipelined_filters(relation: Relation) -> Relation:
    """The physical relation in which stacks of semi-joins and anti-joins are pipelined filters, where they may be.

    >>> from penstock.algebra.relations import Output, Rows, Stream
    >>> from penstock.types import BIGINT
    >>> a, b = Column("s", "a", BIGINT), Column("t", "a", BIGINT)
    >>> s, t = Stream("s", "s", (a,), a), Stream("t", "t", (b,), b)
    >>> now, ten = Scan(s, NOW, (), (Output(a, a),)), Scan(t, Rows(10), (), (Output(b, b),))
    >>> join = PhysicalJoin(JoinKind.SEMI, (now, Distinct(ten)), (Compare(Comparator.EQ, a, b),))
    >>> filters = with_pipelined_filters(join)
    >>> filters.left == now, filters.sides == (ten,), filters.filters[0].columns == (a,), filters.window == NOW
    (True, True, True, True)
    """
    spend()
    if not _is_semi_join(relation):
        inputs = tuple(map(with_pipelined_filters, relation.inputs))
        changed = any(new is not old for new, old in zip(inputs, relation.inputs, strict=True))
        return relation.with_inputs(inputs) if changed else relation
    stack: list[PhysicalJoin] = []
    while _is_semi_join(relation):
        stack.append(relation)
        relation = relation.operands[0]
    return _rebuilt(with_pipelined_filters(relation), [_with_right_side(join) for join in reversed(stack)])


def _is_semi_join(relation: Relation) -> TypeGuard[PhysicalJoin]:
    return isinstance(relation, PhysicalJoin) and relation.kind is not JoinKind.JOIN


def _drops_rows(join: PhysicalJoin) -> bool:
    """Whether declarations let it drop rows that arrived."""
    return join.retention is not None or bool(join.endings)


def _with_right_side(join: PhysicalJoin) -> PhysicalJoin:
    right = with_pipelined_filters(join.operands[1])
    return join if right is join.operands[1] else join.with_inputs((join.operands[0], right, *join.evidence))


def _rebuilt(base: Relation, stack: Sequence[PhysicalJoin]) -> Relation:
    """A stack of semi-joins over its base, from the lowest up, with filters in place of those that are."""
    is_now = isinstance(base, Scan) and base.spec == NOW and not any(_drops_rows(join) for join in stack)
    run: list[_Candidate] = []
    others: list[PhysicalJoin] = []
    for join in stack:
        found = _candidate(join)
        if found is not None and (is_now or is_table(found.side)) and len(run) < MOST_FILTERS:
            run.append(found)
        elif is_now:
            # Filters commute with semi-joins, so those that are none may come last.
            others.append(join)
        else:
            base, run = _over(_filtered(base, run), join), []
    base = _filtered(base, run)
    for join in others:
        base = _over(base, join)
    return base


def _over(base: Relation, join: PhysicalJoin) -> PhysicalJoin:
    return join if base is join.operands[0] else join.with_inputs((base, *join.inputs[1:]))


def _filtered(base: Relation, run: Sequence[_Candidate]) -> Relation:
    if not run:
        return base
    filters = (MembershipFilter(each.wants_match, number, each.columns, each.where) for number, each in enumerate(run))
    window = base.spec if isinstance(base, Scan) and isinstance(base.spec, Range) else None
    return PipelinedFilters(base, tuple(each.side for each in run), tuple(filters), window)


def _candidate(join: PhysicalJoin) -> _Candidate | None:
    """The join as a filter, if its predicates are equalities of columns, and predicates of one input alone."""
    if join.purges:
        return None
    left, right = join.operands
    # Keys are counted, so duplicates make no difference.
    right = right.input if isinstance(right, Distinct) else right
    pairs: dict[Column, Column] = {}
    here: list[Expr] = []
    there: list[Expr] = []
    for expr in join.on:
        if columns(expr) <= set(left.schema):
            here.append(expr)
        elif columns(expr) <= set(right.schema):
            there.append(expr)
        elif (pair := _equal_columns(expr, left)) is None:
            return None
        elif (known := pairs.setdefault(pair[1], pair[0])) != pair[0]:
            # Both equal one column of the right side.
            here.append(Compare(Comparator.EQ, known, pair[0]))
    if any(map(calls_user, (*here, *there))):
        # A user function is called on combinations only, since it may fail on others.
        return None
    keys = tuple(column for column in right.schema if column in pairs)
    side = _of_keys(right, tuple(there), keys)
    return _Candidate(side, join.kind is JoinKind.SEMI, tuple(pairs[key] for key in keys), tuple(here))


def _equal_columns(expr: Expr, left: Relation) -> tuple[Column, Column] | None:
    """A column of the left input, and the one of the right that it has to equal."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return None
    one, other = expr.left, expr.right
    if not isinstance(one, Column) or not isinstance(other, Column):
        return None
    return (one, other) if one in left.schema else (other, one)


def _of_keys(right: Relation, where: tuple[Expr, ...], keys: tuple[Column, ...]) -> Relation:
    """The keys of those rows of a right side of which its own predicates are true."""
    if isinstance(right, Scan):
        right = _narrowed(right, where, keys)
    elif where:
        right = Select(right, where)
    return right if right.schema == keys else Keep(right, keys)


def _narrowed(scan: Scan, where: tuple[Expr, ...], keys: tuple[Column, ...]) -> Scan:
    """A scan filters before its window stores rows, and stores what is read: keys, and what names partitions."""
    inside = {output.column: output.expr for output in scan.outputs}
    by = scan.spec.by if isinstance(scan.spec, PartitionRows) else ()
    kept = tuple(output for output in scan.outputs if output.column in keys or output.column in by)
    return replace(scan, where=scan.where + tuple(substitute(expr, inside) for expr in where), outputs=kept)

"""Groups that end: from some time on, or after punctuations, no more row has their keys. Then nothing of them is kept.

What they showed stays in the result, since nothing will change it. So it is with distinct values and rows of set
operations. What closes them is found by `closed_values.py`. A join below that forgets knows more: for which values it
gives no more results.

A group that stays open may have values that do not: of COUNT(DISTINCT x) an x that comes no more is counted for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.physical import Keep
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    Distinct,
    Output,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    SetOperator,
    rewrite_relation,
)
from penstock.closing.closed_values import Declared, JointKeys, closed_values, forgettable
from penstock.closing.group_closers import (
    AfterJoin,
    Closers,
    EndingValues,
    GroupEnding,
    NeverNull,
)
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.joint_rows import JointRows
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.purging import with_purging
from penstock.closing.rules import ByPunctuation
from penstock.errors import PenstockError


def with_endings(relation: Relation, declared: Declared) -> Relation:
    """The physical relation with groups that end, where something says so."""
    return rewrite_relation(relation, lambda node: _ending(node, declared))


def ending_of_groups(node: Aggregate | Distinct | SetOp, declared: Declared) -> GroupEnding | None:
    """How the entries of a physical operator end, if they do."""
    found = _ending(node, declared)
    if not (isinstance(found, GroupEnding) and found.closes_groups) and isinstance(node.inputs[0], PhysicalJoin):
        # A join that purges tells for which values it gives no more results.
        found = _ending(node.with_inputs((with_purging(node.inputs[0], declared.catalog), *node.inputs[1:])), declared)
    return found if isinstance(found, GroupEnding) else None


def emitting(relation: Relation) -> Relation:
    """The relation whose outermost groups show when they close (EMIT ON CLOSE)."""
    if isinstance(relation, Select | Project | Keep | Repeat):
        return relation.with_inputs((emitting(relation.input),))
    if isinstance(relation, SetOp) and relation.op is SetOperator.UNION and relation.all:
        return relation.with_inputs(tuple(map(emitting, relation.inputs)))
    if is_monotone(relation):
        return relation  # the rows of an outer join that have partners show at once
    if isinstance(relation, GroupEnding) and relation.closers.streams:
        return replace(relation, after_join=(), emits=True)
    raise PenstockError(
        "EMIT ON CLOSE gives a group when it closes, and nothing shows when these do",
        "group by a time such as DATE_TRUNC('HOUR', ts), or by columns that each stream has punctuations of: "
        "PUNCTUATED BY (...) WHEN ...; a stream with UNIQUE on them needs none",
    )


def named_rows_that_others_follow(join: PhysicalJoin, keys: tuple[Expr, ...], declared: Declared) -> Iterator[Column]:
    """The times of rows that keys of a physical join name by UNIQUE, and that rows of other inputs follow in time."""
    rows = JointRows()
    rows.add(join)
    for joint in () if rows.matches else rows.joints():
        yield from JointKeys(joint, keys, declared).followed_times()


def _ending(node: Relation, declared: Declared) -> Relation:
    if isinstance(node, SetOp):
        closers = forgettable(closed_values(node, node.schema, declared))
        is_kept = not (node.op is SetOperator.UNION and node.all)
        return GroupEnding(node, closers) if closers is not None and closers.streams and is_kept else node
    if not isinstance(node, Aggregate | Distinct):
        return node
    groups = _ending_groups(node, declared)
    is_counted = isinstance(groups.input, Aggregate) and is_monotone(node.input)
    values = tuple(_ending_values(groups, declared)) if is_counted else ()
    return replace(groups, values=values) if values or groups.closes_groups else node


def _ending_groups(node: Aggregate | Distinct, declared: Declared) -> GroupEnding:
    """Groups of rows that only come have a row. Those of others end when nothing below changes any more."""
    keys: tuple[Expr, ...] = tuple(key.expr for key in node.keys) if isinstance(node, Aggregate) else node.input.schema
    grows = is_monotone(node.input)
    found = closed_values(node.input, keys, declared, is_there=grows)
    if found is not None and not declared.emits:
        found = _without_lasting(found, node.input) if grows else forgettable(found)
    closers = found or Closers()
    return GroupEnding(node, closers, () if closers.streams or not grows else tuple(_after_join(node.input, keys)))


def _without_lasting(closers: Closers, grouped: Relation) -> Closers:
    """Without punctuations that would have to be remembered indefinitely, where all they close has other closers.

    One is forgotten when all streams are closed for its values, or the join below is done with them.
    """
    read = grouped.evidence if isinstance(grouped, PhysicalJoin) else ()
    kept = set(range(len(closers.evidence)))
    for number, scan in enumerate(closers.evidence):
        users = [closer for closer in closers.punctuations() if closer.evidence == number]
        is_forgotten = scan in read or any(closers.all_close(frozenset(user.keys)) for user in users)
        rest = closers.reading(kept - {number})
        if not is_forgotten and all(any(not isinstance(c, NeverNull) for c in own) for own in rest.streams):
            kept.discard(number)
    return closers.reading(kept)


def keeps_values(aggregation: Aggregation) -> bool:
    """Of a set, MIN and MAX are as of a bag, and over rows that only come they are one value."""
    return aggregation.distinct and aggregation.function not in (AggregateFunction.MIN, AggregateFunction.MAX)


def _ending_values(grouping: GroupEnding, declared: Declared) -> Iterator[EndingValues]:
    """The aggregates that keep values which end sooner than their groups: by the value, too."""
    node = grouping.input
    assert isinstance(node, Aggregate)
    for number, aggregation in enumerate(node.aggregations):
        if aggregation.argument is not None and keeps_values(aggregation):
            column = replace(aggregation.column, type=aggregation.argument.type)
            finer = Aggregate(node.input, (*node.keys, Output(column, aggregation.argument)), ())
            groups = _ending_groups(finer, declared)
            if (groups.closers.streams, groups.after_join) != (grouping.closers.streams, grouping.after_join):
                yield EndingValues(number, groups)


def _after_join(join: Relation, keys: tuple[Expr, ...]) -> Iterator[AfterJoin]:
    if not isinstance(join, PhysicalJoin):
        return
    variables = join_variables(join)
    for number, rule in enumerate(join.rules):
        if isinstance(rule, ByPunctuation):
            places = [next((n for n, key in enumerate(keys) if key in variables[v]), None) for v in rule.variables]
            if None not in places:
                yield AfterJoin(tuple(place for place in places if place is not None), number)

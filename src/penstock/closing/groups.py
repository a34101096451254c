"""Groups that end: from some time on, or after punctuations, no more row has their keys. Then nothing of them is kept.

What they showed stays in the result, since nothing will change it. So it is with distinct values and rows of set
operations. What closes them is found by `closed_values.py`. A join below that purges says more: for which values it
gives no more results.

A group that stays open may have values that do not: of COUNT(DISTINCT x) an x that comes no more is counted for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.algebra.expressions import Column, Expr, substitute
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    Distinct,
    Output,
    PartitionRows,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    SetOperator,
    rewrite_relation,
)
from penstock.closing.closed_values import closed_values, forgettable
from penstock.closing.group_closers import (
    AfterJoin,
    Closers,
    EndingValues,
    GroupEnding,
    NeverNull,
)
from penstock.closing.group_retention import is_forgotten, lasting_nulls
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.joint_keys import Declared, JointKeys
from penstock.closing.joint_rows import JointRows
from penstock.closing.physical_join import PhysicalJoin, join_below
from penstock.closing.purging import with_purging
from penstock.closing.rules import ByPunctuation
from penstock.errors import PenstockError


def with_endings(relation: Relation, declared: Declared) -> Relation:
    """The physical relation with groups that end, where something says so."""
    found = rewrite_relation(relation, lambda node: _ending(_over_partitions(node, declared), declared))
    return ending_partitions(found, declared)


def _over_partitions(node: Relation, declared: Declared) -> Relation:
    """An operator over partitioned windows, whose partitions end; of joins `row_endings.py` asks more."""
    if isinstance(node, PhysicalJoin | GroupEnding | Scan) or not node.inputs:
        return node
    inputs = tuple(ending_partitions(below, declared) for below in node.inputs)
    return node if inputs == node.inputs else node.with_inputs(inputs)


def ending_partitions(relation: Relation, declared: Declared) -> Relation:
    """A partitioned window whose partitions end by punctuations; any other relation as it is."""
    if not isinstance(relation, Scan) or not isinstance(relation.spec, PartitionRows):
        return relation
    closers = forgettable(closed_values(relation, relation.spec.by, declared))
    return relation if closers is None or lasting_nulls(closers) else GroupEnding(relation, closers)


def ending_of_groups(node: Aggregate | Distinct | SetOp, declared: Declared) -> GroupEnding | None:
    """How the entries of a physical operator end, if they do."""
    found = _ending(node, declared)
    if not (isinstance(found, GroupEnding) and found.closes_groups) and join_below(node) is not None:
        # A join that purges says for which values it gives no more results.
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
    keys = _keys(node)
    grows = is_monotone(node.input)
    found = closed_values(node.input, keys, declared, is_there=grows)
    if found is not None and not declared.emits and (alone := forgettable(found)) is not None and alone.streams:
        return GroupEnding(node, alone)
    by_join = tuple(_after_join(node, keys)) if grows else ()
    if found is not None and not declared.emits:
        found = _without_lasting(found, node, by_join) if grows else None
    if found is None or not found.streams:
        return GroupEnding(node, Closers(), by_join)
    return GroupEnding(node, found, done_by_join=by_join)


def _without_lasting(closers: Closers, node: Aggregate | Distinct, by_join: Sequence[AfterJoin]) -> Closers | None:
    """Without punctuations that would have to be remembered indefinitely; None if a stream has no other closers."""
    kept = set(range(len(closers.evidence)))
    for number in range(len(closers.evidence)):
        rest = closers.reading(kept - {number})
        is_enough = all(any(not isinstance(c, NeverNull) for c in own) for own in rest.streams)
        if is_enough and not is_forgotten(closers, number, node, by_join):
            kept.discard(number)
    left = closers.reading(kept)
    forgotten = (is_forgotten(left, number, node, by_join) for number in range(len(left.evidence)))
    return left if all(forgotten) else None


def keeps_values(aggregation: Aggregation) -> bool:
    """Of a set, MIN and MAX are as of a bag, and over rows that only come they are one value."""
    return aggregation.distinct and aggregation.function not in (AggregateFunction.MIN, AggregateFunction.MAX)


def _ending_values(grouping: GroupEnding, declared: Declared) -> Iterator[EndingValues]:
    """The aggregates that keep values which end sooner than their groups: by the value, too."""
    declared = replace(declared, emits=False)  # no value shows when it ends
    node = grouping.input
    assert isinstance(node, Aggregate)
    for number, aggregation in enumerate(node.aggregations):
        if aggregation.argument is not None and keeps_values(aggregation):
            column = replace(aggregation.column, type=aggregation.argument.type)
            finer = Aggregate(node.input, (*node.keys, Output(column, aggregation.argument)), ())
            groups = _ending_groups(finer, declared)
            if (groups.closers.streams, groups.after_join) != (grouping.closers.streams, grouping.after_join):
                yield EndingValues(number, groups)


def _after_join(node: Aggregate | Distinct, keys: tuple[Expr, ...]) -> Iterator[AfterJoin]:
    """What the rules by punctuations of a join below say of values that are keys."""
    join = join_below(node)
    if join is None:
        return
    own = _over_join(node, keys)
    variables = join_variables(join)
    for number, rule in enumerate(join.rules):
        if isinstance(rule, ByPunctuation):
            places = [next((n for n, key in enumerate(own) if key in variables[v]), None) for v in rule.variables]
            if None not in places:
                yield AfterJoin(tuple(place for place in places if place is not None), number)


def keys_of_join(node: Relation) -> list[Expr]:
    """The keys of groups of a join's results, over the columns of the join."""
    assert isinstance(node, Aggregate | Distinct)
    return _over_join(node, _keys(node))


def _keys(node: Aggregate | Distinct) -> tuple[Expr, ...]:
    return tuple(key.expr for key in node.keys) if isinstance(node, Aggregate) else node.input.schema


def _over_join(node: Aggregate | Distinct, keys: tuple[Expr, ...]) -> list[Expr]:
    below = node.input
    inside = {output.column: output.expr for output in below.outputs} if isinstance(below, Project) else {}
    return [substitute(key, inside) for key in keys]

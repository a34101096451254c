"""The physical form of a relation as the register reads it: what a run of it drops, counts and closes.

The plan runs this very form (`plan/fragments.py`), so a bound that it does not keep to is no bound of the run: joins
say what they keep by their retentions, and for groups, distinct values and set operations it is looked up here whether
the form ends them. What is proved and not done is said in the verdict, not when the query runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeGuard

from penstock.algebra.expressions import FALSE
from penstock.algebra.physical import Scan
from penstock.algebra.relations import (
    Aggregate,
    Distinct,
    Relation,
    SetOp,
    Window,
    walk_relations,
)
from penstock.catalog import Catalog, Constraint, Punctuated
from penstock.closing.declarations import constraint_text
from penstock.closing.group_closers import Closers, GroupEnding
from penstock.closing.group_retention import NOTHING_ENDS, GroupRetention
from penstock.closing.groups import keeps_values, with_endings
from penstock.closing.join_trees import input_scope
from penstock.closing.joint_keys import Declared
from penstock.closing.narrowing import is_narrow, narrowed
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.purging import join_retention, with_purging
from penstock.closing.retention import Retention, RetentionStep
from penstock.closing.row_endings import awaiting_null, ending_steps, leaves, row_endings, with_row_endings
from penstock.closing.row_times import with_row_times
from penstock.register.bucket_joins import with_constant_synopses
from penstock.register.folding import folded
from penstock.register.states import StatefulOperator

_KINDS = {
    StatefulOperator.JOIN: JoinKind.JOIN,
    StatefulOperator.SEMI_JOIN: JoinKind.SEMI,
    StatefulOperator.ANTI_JOIN: JoinKind.ANTI,
}

_ENDED = {
    StatefulOperator.DISTINCT: Distinct,
    StatefulOperator.SET_OPERATION: SetOp,
    StatefulOperator.WINDOW: Scan,
}

#: A stream that is no input of any join is not kept by one. What is computed goes by a name that a rewrite may change.
_NOT_JOINED, _NOT_FOUND = Retention("", ()), Retention("")


class PhysicalForm:
    """What is asked of the physical form of a relation in normal form; each part is worked out when it is asked for."""

    def __init__(self, relation: Relation, catalog: Catalog) -> None:
        self._normal, self._catalog = relation, catalog

    @cached_property
    def _narrow(self) -> Relation:
        return narrowed(self._normal)

    @cached_property
    def _folded(self) -> Relation:
        return folded(self._narrow)

    @cached_property
    def _counting(self) -> Relation:
        """With buckets, and joins that may yet purge."""
        return with_constant_synopses(self._folded, self._catalog)

    @cached_property
    def _joins(self) -> list[PhysicalJoin]:
        return [node for node in walk_relations(self._counting) if isinstance(node, PhysicalJoin)]

    def _whole(self, catalog: Catalog, *, emits: bool = False) -> list[Relation]:
        """All operators, with groups that end by what is declared; as soon as they can, if they show when they do."""
        declared = Declared(catalog, emits=emits)
        timed = with_row_times(self._folded, declared)
        counting = self._counting if timed is self._folded else with_constant_synopses(timed, self._catalog)
        return list(walk_relations(with_endings(with_purging(counting, catalog), declared)))

    @cached_property
    def _run(self) -> list[Relation]:
        return self._whole(self._catalog)

    @cached_property
    def _run_that_sees(self) -> list[Relation]:
        """As if some rows were the punctuations of each scheme."""
        return self._whole(self._seeing) if self.unseen else self._run

    @cached_property
    def _seeing(self) -> Catalog:
        return _seeing(self._catalog)

    @cached_property
    def unseen(self) -> frozenset[str]:
        """Punctuation schemes that do not say where their punctuations come from: a run never sees one."""
        declared = [(s.name, each) for s in self._catalog.streams for each in s.constraints]
        return frozenset(f"{name}: {constraint_text(each)}" for name, each in declared if _is_unseen(each))

    def retention(self, scope: str, label: str) -> Retention:
        """What joins keep of an occurrence of a stream, or of what is computed: the most, where several read it."""
        found = self._retentions.get(scope, [_NOT_JOINED if scope in self._streams else _NOT_FOUND])
        nulls = tuple(dict.fromkeys(keys for each in found for keys in each.awaiting_null))
        return replace(next((each for each in found if not each.goes), found[0]), input=label, awaiting_null=nulls)

    @cached_property
    def _retentions(self) -> dict[str, list[Retention]]:
        found: dict[str, list[Retention]] = {}
        for node in self._joins:
            for operand, retention in zip(node.operands, self._kept(node), strict=True):
                found.setdefault(_scope(node, operand), []).append(retention)
        return found

    @cached_property
    def _streams(self) -> frozenset[str]:
        return frozenset(node.stream.occurrence for node in walk_relations(self._normal) if isinstance(node, Window))

    def _kept(self, node: PhysicalJoin) -> Iterator[Retention]:
        """What a join keeps of each input: by its closers, or until rows end, by what a run sees or is declared."""
        kept = join_retention(node, self._catalog)
        by_rules = kept[1].retentions if kept is not None else tuple(Retention("") for _ in node.operands)
        asked = node if kept is None or not kept[1].forgets else replace(kept[0], retention=kept[1])
        ended = row_endings(asked, Declared(self._catalog))
        unseen = () if ended and all(ended) else row_endings(asked, Declared(self._seeing))
        for number, retention in enumerate(by_rules):
            if retention.goes:
                yield retention
            elif ended and (closers := ended[number]) is not None:
                nulls = tuple(awaiting_null(node.operands[number], closers))
                yield Retention("", ending_steps(node, closers, self._catalog), ends=True, awaiting_null=nulls)
            elif unseen and (closers := unseen[number]) is not None:
                yield Retention("", tuple(self._unseen_steps(node, closers)), ends=True)
            else:
                yield retention

    def _unseen_steps(self, node: PhysicalJoin, closers: Closers) -> Iterator[RetentionStep]:
        for step in ending_steps(node, closers, self._seeing):
            yield replace(step, is_seen=False) if self.unseen.intersection(step.leans_on) else step

    def has_buckets(self, operator: StatefulOperator, scope: str, occurrence: str | None) -> bool:
        """Whether joins keep buckets in place of an input's rows; an input that is not joined at all is not kept."""
        joins = [node for node in self._joins if node.kind is _KINDS[operator]]
        mine = [
            (join, n) for join in joins for n, operand in enumerate(join.operands) if _scope(join, operand) == scope
        ]
        if not mine:
            scans = [node for join in joins for node in walk_relations(join) if isinstance(node, Scan)]
            return occurrence is not None and all(scan.stream.occurrence != occurrence for scan in scans)
        return all(join.buckets and join.buckets[number] is not None for join, number in mine)

    def ends(self, operator: StatefulOperator, scope: str, by_declaration: bool = False) -> bool:
        """Whether groups, distinct values or rows of a set operation end in a run, or go with the rows of windows.

        With `by_declaration`, if it saw the punctuations of all schemes.
        """
        nodes = self._run_that_sees if by_declaration else self._run
        if operator is StatefulOperator.WINDOW:
            nodes = self._with_rows_that_end(nodes, Declared(self._seeing if by_declaration else self._catalog))
        return _is_ended(nodes, operator, scope) or self._goes_with_its_rows(operator, scope)

    def on_close(self, scope: str) -> GroupRetention:
        """What is kept of groups that show when they close, and what closes them as soon as they can."""
        return _groups(self._run_on_close, StatefulOperator.GROUP_BY, scope)

    @cached_property
    def _run_on_close(self) -> list[Relation]:
        return self._whole(self._catalog, emits=True)

    def groups(self, operator: StatefulOperator, scope: str, seen: bool = False) -> GroupRetention:
        """What is kept of groups, distinct values, rows of a set operation or partitions, and what closes them.

        If not `seen`, as if a run saw the punctuations of all schemes.
        """
        nodes = self._run if seen else self._run_that_sees
        if operator is StatefulOperator.WINDOW:
            nodes = self._with_rows_that_end(nodes, Declared(self._catalog if seen else self._seeing))
        return _groups(nodes, operator, scope)

    def _with_rows_that_end(self, nodes: list[Relation], declared: Declared) -> list[Relation]:
        """All operators, with joins that drop rows of computed inputs and of partitions."""
        return list(walk_relations(with_row_endings(nodes[0], declared)))

    def _goes_with_its_rows(self, operator: StatefulOperator, scope: str) -> bool:
        """Whether a group, or an entry of a set operation, is made of rows that all leave their windows."""
        asked = [node for node in walk_relations(self._normal) if _holds(node, operator, scope)]
        return bool(asked) and all(leaves(below) for node in asked for below in node.inputs)

    def is_narrow(self, scope: str) -> bool:
        """Whether a set operation sees finitely many values on both sides."""
        operations = [node for node in walk_relations(self._narrow) if isinstance(node, SetOp)]
        return all(is_narrow(node) for node in operations if node.columns[0].scope == scope)


def _groups(nodes: list[Relation], operator: StatefulOperator, scope: str) -> GroupRetention:
    kind = _ENDED.get(operator, Aggregate)
    own = [end for end in nodes if isinstance(end, GroupEnding) and isinstance(end.input, kind)]
    return next((GroupRetention(end) for end in own if end.schema[0].scope == scope), NOTHING_ENDS)


def _is_ended(nodes: list[Relation], operator: StatefulOperator, scope: str) -> bool:
    endings = [node for node in nodes if isinstance(node, GroupEnding)]
    own = [end for end in endings if end.schema and end.schema[0].scope == scope]
    match operator:
        case StatefulOperator.GROUP_BY:
            return any(end.closes_groups for end in own if isinstance(end.input, Aggregate))
        case StatefulOperator.AGGREGATE_VALUES:
            groupings = [end for end in own if isinstance(end.input, Aggregate)]
            return any(end.closes_groups or _all_values_end(end) for end in groupings)
        case StatefulOperator.SET_OPERATION:
            return any(isinstance(end.input, SetOp) for end in own)
        case StatefulOperator.DISTINCT:
            distinct = [node for node in nodes if isinstance(node, Distinct)]
            return all(any(end.input is node for end in endings) for node in distinct)
        case StatefulOperator.WINDOW:
            scans = [node for node in nodes if isinstance(node, Scan) and node.stream.occurrence == scope]
            return all(any(end.input is node for end in endings) for node in scans)
    return False


def _seeing(catalog: Catalog) -> Catalog:
    """The catalog, in which each scheme says how its punctuations come."""
    for stream in catalog.streams:
        seen = tuple(replace(c, when=FALSE) if _is_unseen(c) else c for c in stream.constraints)
        catalog = catalog.having(replace(stream, constraints=seen)) if seen != stream.constraints else catalog
    return catalog


def _is_unseen(constraint: Constraint) -> TypeGuard[Punctuated]:
    return isinstance(constraint, Punctuated) and constraint.when is None and constraint.source is None


def _scope(join: PhysicalJoin, operand: Relation) -> str:
    """What the register calls an input. Only an inner join has subresults; the right side of others may be any join."""
    if join.kind is JoinKind.JOIN or isinstance(operand, Scan):
        return input_scope(operand)
    return operand.schema[0].scope if operand.schema else ""


def _all_values_end(ending: GroupEnding) -> bool:
    assert isinstance(ending.input, Aggregate)
    return len(ending.values) == sum(map(keeps_values, ending.input.aggregations))


def _holds(node: Relation, operator: StatefulOperator, scope: str) -> bool:
    match operator:
        case StatefulOperator.GROUP_BY | StatefulOperator.AGGREGATE_VALUES:
            return isinstance(node, Aggregate) and node.schema[0].scope == scope
        case StatefulOperator.SET_OPERATION:
            return isinstance(node, SetOp) and node.schema[0].scope == scope
        case StatefulOperator.DISTINCT:
            return isinstance(node, Distinct)
    return False

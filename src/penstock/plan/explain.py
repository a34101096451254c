"""A plan's fragments for people and programs: their operators, their cells, and how rows find them.

`penstock explain --cells N` shows this; metrics name operators as it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from penstock.algebra.buckets import Buckets
from penstock.algebra.copies import written
from penstock.algebra.physical import Keep, Received, Scan
from penstock.algebra.pipelined_filters import MembershipFilter, PipelinedFilters
from penstock.algebra.printing import Json, expression_text, plan_text, window_text
from penstock.algebra.relations import (
    Aggregation,
    Relation,
    Rows,
    StreamKind,
    Table,
    walk_relations,
)
from penstock.closing.bounds import counted
from penstock.closing.group_closers import Closers, GroupEnding, GroupInTime, WithFirstRow
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByNo
from penstock.plan.caches import MOST_MEMORY, candidates_of
from penstock.plan.fragments import Dimension, Fragment, Leaf, Plan, Route
from penstock.plan.panes import Panes
from penstock.plan.probe_paths import BLOCK, Path, Stage, inputs_read, paths_of, residual_of, tests_along


def operator_name(relation: Relation, number: int) -> str:
    """What the operator of a relation is called; `number` is its place from the root down."""
    match relation:
        case PhysicalJoin():
            name = relation.kind.value
        case GroupEnding():
            name = "ending"
        case PipelinedFilters():
            name = "filters"
        case _:
            name = type(relation).__name__.lower()
    return f"{name}{number}"


def fragments_text(plan: Plan) -> str:
    return "\n\n".join(_fragment_text(plan, fragment) for fragment in plan.fragments)


def fragments_json(plan: Plan) -> list[Json]:
    return [
        {
            "fragment": fragment.number,
            "cells": fragment.cells,
            "shares": list(fragment.shares),
            "inputs": [_route_json(fragment, route) for route in fragment.routes],
            "operators": [
                {"operator": operator_name(node, number), "text": _operator_text(node), **_choices_json(node)}
                for number, node in enumerate(walk_relations(fragment.root))
            ],
            "sends_to": _receivers(plan, fragment),
            "step": _step_text(fragment.root),
            **({"comes_once": True} if plan.comes_once and fragment is plan.last else {}),
        }
        for fragment in plan.fragments
    ]


def _step_text(root: Relation) -> str:
    """What a step holds beside what arrives in it and what is kept."""
    joins = any(isinstance(node, PhysicalJoin) for node in walk_relations(root))
    held = [f"up to {BLOCK:,} combinations of each join at a time, and those of one instant as a bag"] if joins else []
    return "; ".join([*held, "the rows that it gives"])


def _choices_json(relation: Relation) -> dict[str, Json]:
    """What may be replaced while a query runs: probe paths of joins, and the order of filters."""
    match relation:
        case PhysicalJoin():
            return _paths_json(relation)
        case PipelinedFilters(filters=filters):
            return {"filters": [_filter_json(relation, each) for each in filters]}
    return {}


def _filter_json(relation: PipelinedFilters, each: MembershipFilter) -> Json:
    where: list[Json] = [expression_text(expr) for expr in each.where]
    return {
        "wants_match": each.wants_match,
        "side": each.side,
        "on": [f"{expression_text(a)} = {expression_text(b)}" for a, b in relation.compared(each)],
        **({"where": where} if where else {}),
    }


def filter_text(relation: PipelinedFilters, each: MembershipFilter) -> str:
    """A filter as it is written."""
    on = [f"{expression_text(a)} = {expression_text(b)}" for a, b in relation.compared(each)]
    on += map(expression_text, each.where)
    return f"{'SemiJoin' if each.wants_match else 'AntiJoin'} on {' AND '.join(on) or 'TRUE'}"


def _filters_text(relation: PipelinedFilters) -> str:
    """The filters, as they are written, and what they judge."""
    texts = " and ".join(filter_text(relation, each) for each in relation.filters)
    judged = "changes" if relation.window is None else f"arrivals, which then are in {window_text(relation.window)}"
    return f"{texts}, as filters in any order, of {judged}"


def _paths_json(relation: PhysicalJoin) -> dict[str, Json]:
    """Of each input of a join, which others its rows probe one after the other, by which of their columns, and which
    predicates are tested behind each probe.
    """
    operands, variables, residual = relation.operands, join_variables(relation), residual_of(relation)
    reads = inputs_read(residual, [operand.schema for operand in operands])

    def stage(each: Stage, tests: Sequence[int]) -> Json:
        columns = [column for v in each.variables if (column := variables[v][each.target]) is not None]
        by: list[Json] = [expression_text(column) for column in columns]
        tested: list[Json] = [expression_text(residual[number]) for number in tests]
        found: dict[str, Json] = {"probes": operand_name(operands[each.target]), "by": by, "kind": each.kind.value}
        return {**found, "tests": tested} if tested else found

    def stages(start: int, path: Path) -> list[Json]:
        return [stage(*each) for each in zip(path, tests_along(start, path, reads), strict=True)]

    paths = enumerate(paths_of(relation))
    return {"paths": [{"input": operand_name(operands[n]), "stages": stages(n, path)} for n, path in paths]}


def _fragment_text(plan: Plan, fragment: Fragment) -> str:
    cells = "1 cell" if fragment.cells == 1 else f"{fragment.cells} cells"
    grid = f" ({' × '.join(map(str, fragment.shares))})" if len(fragment.shares) > 1 else ""
    lines = [f"fragment {fragment.number}: {cells}{grid}{_emission(plan, fragment)}"]
    lines += [f"  {_route_text(fragment, route)}" for route in fragment.routes]
    return "\n".join([*lines, *_tree(fragment.root, 0, "  ")[1]])


def _emission(plan: Plan, fragment: Fragment) -> str:
    if receivers := _receivers(plan, fragment):
        return f", sends to {', '.join(f'fragment {number}' for number in receivers)}"
    if fragment is not plan.last:
        return ", counts violations"
    kind = plan.kind.value if isinstance(plan.kind, StreamKind) else "the change log"
    return f", gives {kind}" + (", each row comes once" if plan.comes_once else "")


def _receivers(plan: Plan, fragment: Fragment) -> list[Json]:
    return [
        other.number
        for other in plan.fragments
        if any(isinstance(r.leaf, Received) and r.leaf.fragment == fragment.number for r in other.routes)
    ]


def _route_text(fragment: Fragment, route: Route) -> str:
    by = [_dimension_text(dimension) for dimension in route.dimensions if dimension is not None]
    copies = fragment.replication(route)
    if fragment.cells == 1:
        return f"reads {_leaf_name(route.leaf)}"
    parts = [f"reads {_leaf_name(route.leaf)}"]
    parts += [f"partitioned by {' × '.join(by)}"] if by else []
    parts += [f"each row in {copies} cells"] if copies > 1 else []
    is_counted = isinstance(route.leaf, Scan) and isinstance(route.leaf.spec, Rows)
    parts += ["counted in all cells"] if is_counted and copies < fragment.cells else []
    return ", ".join(parts)


def _route_json(fragment: Fragment, route: Route) -> Json:
    dimensions: list[Json] = [
        None if dimension is None else [expression_text(expr) for expr in dimension] for dimension in route.dimensions
    ]
    return {
        "input": _leaf_name(route.leaf),
        "partitioned_by": dimensions,
        "replication": fragment.replication(route),
    }


def _dimension_text(dimension: Dimension) -> str:
    return f"({', '.join(expression_text(expr) for expr in dimension or ())})"


def _leaf_name(leaf: Leaf) -> str:
    match leaf:
        case Scan(stream):
            return _aliased(stream.name, stream.occurrence)
        case Table(name, occurrence):
            return _aliased(name, occurrence)
    return f"fragment {leaf.fragment}"


def _aliased(name: str, occurrence: str) -> str:
    occurrence = written(occurrence)
    return name if name == occurrence else f"{name} AS {occurrence}"


def _tree(relation: Relation, number: int, margin: str) -> tuple[int, list[str]]:
    """The operators from the root down, and the number of the next one."""
    lines = [f"{margin}{operator_name(relation, number)}: {_operator_text(relation)}"]
    number += 1
    for below in relation.inputs:
        number, more = _tree(below, number, margin + "  ")
        lines += more
    return number, lines


def _kept_texts(join: PhysicalJoin) -> Iterator[str]:
    """What a join keeps of its inputs, where that is less than their windows hold."""
    if join.retention is not None:
        yield from (_retention_text(join, number) for number in join.forgets)
        yield from (f"watches {monitor.constraint}" for monitor in join.retention.monitors if monitor.varies)
        yield from _noes(join)
    for operand, closers in zip(join.operands, join.endings, strict=False):
        if closers is not None:
            yield f"forgets rows of {operand_name(operand)} that end {_closers_text(closers)}"
    if join.buckets:
        yield f"keeps {_all_buckets_text(join.operands, join.buckets)}"
    if join.stateless is not None:
        yield f"keeps nothing of {operand_name(join.operands[join.stateless])}"
    if join.counted:
        yield f"counts rows of {' and '.join(operand_name(join.operands[number]) for number in join.counted)}"
    if found := candidates_of(join):
        segments = dict.fromkeys(
            " with ".join(operand_name(join.operands[m]) for m in cache.members) for cache in found
        )
        yield f"may cache {' and '.join(segments)} in at most {MOST_MEMORY >> 20} MiB"


def _retention_text(join: PhysicalJoin, number: int) -> str:
    """Until what a join keeps the rows of an input, or that it forgets some of them."""
    assert join.retention is not None
    retention = join.retention.retentions[number]
    return (
        written(str(retention))
        if retention.enforced
        else f"forgets rows of {_leaf_name(cast(Leaf, join.operands[number]))}"
    )


def _all_buckets_text(operands: Sequence[Relation], buckets: Sequence[Buckets | None]) -> str:
    parts = [(operand, kept) for operand, kept in zip(operands, buckets, strict=True) if kept is not None]
    once = ", without duplicates" if any(kept.space is not None for _, kept in parts) else ""
    return " and ".join(_buckets_text(operand, kept) for operand, kept in parts) + once


def _buckets_text(operand: Relation, buckets: Buckets) -> str:
    """What a join keeps of an input in place of its rows."""
    what = "buckets" if buckets.size is None else counted(buckets.size, "bucket")
    totals = " and ".join(dict.fromkeys(map(_aggregate_text, buckets.totals)))
    return f"{what} of {operand_name(operand)}" + (f" with {totals}" if totals else "")


def operand_name(operand: Relation) -> str:
    """What an input of an operator is called: the streams, tables and fragments that it reads."""
    return " and ".join(dict.fromkeys(map(_leaf_name, _leaves(operand))))


def _leaves(relation: Relation) -> Iterator[Leaf]:
    """The leaves whose rows a relation is made of: evidence says only when they go."""
    if isinstance(relation, Scan | Table | Received):
        yield relation
    below = relation.operands if isinstance(relation, PhysicalJoin) else relation.inputs
    for each in below[:1] if isinstance(relation, GroupEnding) else below:
        yield from _leaves(each)


def _aggregate_text(aggregation: Aggregation) -> str:
    argument = "*" if aggregation.argument is None else expression_text(aggregation.argument)
    return f"{aggregation.function.value}({argument})"


def _operator_text(relation: Relation) -> str:
    match relation:
        case Scan(stream, spec, where, outputs):
            kept = ", ".join(expression_text(output.expr) for output in outputs)
            condition = f" where {' AND '.join(map(expression_text, where))}" if where else ""
            condition += f", one key in {relation.sample.one_in}" if relation.sample else ""
            return (
                f"{_aliased(stream.name, stream.occurrence)} {window_text(spec)}{condition}, keeps {kept or 'nothing'}"
            )
        case Received(fragment):
            return f"rows of fragment {fragment}"
        case Panes():
            return "one partial aggregate per group and pane"
        case Keep(_, columns):
            return f"keeps {', '.join(map(expression_text, columns)) or 'nothing'}"
        case Table():
            return f"table {_leaf_name(relation)}"
        case GroupEnding():
            entries = "partitions" if isinstance(relation.input, Scan) else "groups"
            done = "gives groups when they close" if relation.emits else f"forgets {entries} that end"
            parts = [f"{done} {_ending_text(relation)}"] if relation.closes_groups else []
            for values in relation.values:
                column = values.groups.schema[-1].name
                parts.append(f"forgets values of {column} that end {_ending_text(values.groups)}")
            return ", ".join(parts)
        case PipelinedFilters():
            return _filters_text(relation)
        case PhysicalJoin():
            return ", ".join([_operator_text(relation.logical()), *_kept_texts(relation)])
    return plan_text(relation).partition("\n")[0]


def _ending_text(ending: GroupEnding) -> str:
    return _closers_text(ending.closers, by_join=bool(ending.after_join))


def _closers_text(closers: Closers, *, by_join: bool = False) -> str:
    """What closes groups or rows."""
    ways = ["by time"] * any(isinstance(closer, GroupInTime) for closer in closers)
    ways += ["by keys"] * any(isinstance(closer, WithFirstRow) for closer in closers)
    ways += ["by the join"] * by_join
    return " and ".join([*ways, *(f"by {_leaf_name(scan)}" for scan in closers.evidence)])


def _noes(join: PhysicalJoin) -> Iterator[str]:
    """The inputs of which it may keep the keys of No rows, or not."""
    targets = [join.operands[rule.target] for rule in join.rules if isinstance(rule, ByNo) and rule.late]
    names = " and ".join(dict.fromkeys(_leaf_name(cast(Leaf, target)) for target in targets))
    if names:
        yield f"may keep No of {names}"

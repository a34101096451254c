"""Groups whose keys name a row: by UNIQUE they decide its time, too, which is then as good as a key.

    GROUP BY a.id      b.ts BETWEEN a.ts AND a.ts + 120 s      UNIQUE (id) of a

      a.id = 7, a.ts = 10 s     what joins it comes up to 130 s
      |------------- b --------------|
                                     the group of 7 is closed

So the time becomes a key that is not shown: the groups stay the same, and what follows the row closes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.physical import physical
from penstock.algebra.relations import Aggregate, Distinct, Output, Project, Relation, rewrite_relation
from penstock.closing.group_closers import GroupEnding
from penstock.closing.groups import ending_of_groups, named_rows_that_others_follow
from penstock.closing.joint_keys import Declared
from penstock.closing.physical_join import PhysicalJoin, with_physical_joins


def with_row_times(relation: Relation, declared: Declared) -> Relation:
    """The relation in normal form whose groups have the times of rows that their keys name, where that closes them."""

    def rule(node: Relation) -> Relation:
        return widened(node, declared) if isinstance(node, Aggregate | Distinct) else node

    return rewrite_relation(relation, rule)


def widened(node: Aggregate | Distinct, declared: Declared) -> Relation:
    """GROUP BY or DISTINCT with the times of rows that its keys name; itself, where they would not help."""
    times = tuple(_times(node, declared))
    if not times or (not declared.emits and _closes(node, declared)):
        return node
    finer = _by_times(node, times)
    return Project(finer, tuple(map(_same, node.schema))) if _closes(finer, declared) else node


def _times(node: Aggregate | Distinct, declared: Declared) -> Iterator[Column]:
    form = with_physical_joins(physical(node))
    assert isinstance(form, Aggregate | Distinct)
    if isinstance(form.input, PhysicalJoin):
        keys: tuple[Expr, ...] = tuple(key.expr for key in form.keys) if isinstance(form, Aggregate) else form.schema
        there = frozenset(_grouped(node).schema)
        # A row below another GROUP BY or DISTINCT may have a time that what is grouped here does not have.
        yield from (t for t in named_rows_that_others_follow(form.input, keys, declared) if t in there)


def _grouped(node: Aggregate | Distinct) -> Relation:
    """The rows that are grouped, before DISTINCT chooses columns of them."""
    is_list = isinstance(node, Distinct) and isinstance(node.input, Project)
    return node.input.inputs[0] if is_list else node.input


def _by_times(node: Aggregate | Distinct, times: tuple[Column, ...]) -> Aggregate | Distinct:
    if isinstance(node, Aggregate):
        scope = node.schema[0].scope
        hidden = tuple(Output(Column(scope, f"_{t.scope}_{t.name}", t.type), t) for t in times)
        return Aggregate(node.input, node.keys + hidden, node.aggregations)
    if isinstance(node.input, Project):
        return Distinct(Project(node.input.input, node.input.outputs + tuple(map(_same, times))))
    return node  # all columns are there


def _same(column: Column) -> Output:
    return Output(column, column)


def _closes(node: Aggregate | Distinct, declared: Declared) -> bool:
    form = with_physical_joins(physical(node))
    assert isinstance(form, Aggregate | Distinct)
    found: GroupEnding | None = ending_of_groups(form, declared)
    return found is not None and found.closes_groups

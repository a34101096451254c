"""Queries that are unions of disjoint cases over the same rows: outer joins, EXISTS under OR, windows that overlap.

    a LEFT JOIN b ON c      the combinations for which c is true
                            UNION ALL the rows of a without such a b, and NULLs for b's columns

Each case reads the rows under names of its own; the union has the columns of what it stands for, so that expressions
over those stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.algebra.copies import Renaming, copied, renamed
from penstock.algebra.expressions import Column, Expr, Literal
from penstock.algebra.relations import (
    AntiJoin,
    Join,
    Output,
    Project,
    Relation,
    Schema,
    SemiJoin,
    SetOp,
    SetOperator,
    Table,
    Window,
    walk_relations,
)
from penstock.sql.environment import Environment
from penstock.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Existence:
    """That some row, or no row, of a relation makes all of `on` true."""

    relation: Relation
    on: tuple[Expr, ...]
    negated: bool

    def among(self, rows: Relation) -> Relation:
        """The rows of which it is so."""
        join = AntiJoin if self.negated else SemiJoin
        return join(rows, self.relation, self.on)


@dataclass(frozen=True, slots=True)
class Mark:
    """A truth value that subqueries give to each row: for each value what exists, and no row is in two cases."""

    column: Column
    cases: tuple[tuple[bool | None, tuple[Existence, ...]], ...]


def copy_of(relation: Relation, env: Environment) -> tuple[Relation, Renaming]:
    """The relation under other names, which stands at the same place of the text."""
    occurrences = {node.stream.occurrence for node in walk_relations(relation) if isinstance(node, Window)}
    occurrences |= {node.occurrence for node in walk_relations(relation) if isinstance(node, Table)}

    def fresh(scope: str) -> str:
        wanted = re.sub(r"_\d+$", "", scope)  # of b_2 another copy is b_3
        name = env.occurrence(wanted) if scope in occurrences else env.names.fresh(wanted)
        if scope in env.places:
            env.places[name] = env.places[scope]
        if scope in env.own_places:
            env.own_places.add(name)
        return name

    return copied(relation, fresh)


def union_all(cases: Sequence[Relation], columns: Schema, env: Environment) -> Relation:
    """The rows of all cases, which have columns of the same types, under the columns that are given."""
    union = cases[0]
    for number, case in enumerate(cases[1:], 2):
        label = env.names.fresh("case")
        schema = columns if number == len(cases) else numbered(columns, label)
        union = SetOp(SetOperator.UNION, True, union, case, schema)
    return union


def numbered(columns: Schema, label: str) -> Schema:
    """Columns like these in one scope, where their names may repeat."""
    names = [column.name.lower() for column in columns]
    return tuple(
        Column(label, column.name if names.count(column.name.lower()) == 1 else f"{column.name}_{place}", column.type)
        for place, column in enumerate(columns, 1)
    )


def outer_join(side: str, left: Relation, right: Relation, on: tuple[Expr, ...], env: Environment) -> Relation:
    """LEFT, RIGHT or FULL OUTER JOIN, with the columns of both sides."""
    columns = left.schema + right.schema
    (own, own_names), (other, other_names) = copy_of(left, env), copy_of(right, env)
    cases: list[Relation] = [Join((own, other), renamed(on, own_names | other_names))]
    if side in ("LEFT", "FULL"):
        cases.append(_unmatched(left, right, on, columns, env))
    if side in ("RIGHT", "FULL"):
        cases.append(_unmatched(right, left, on, columns, env))
    return union_all(cases, columns, env)


def _unmatched(kept: Relation, missing: Relation, on: tuple[Expr, ...], columns: Schema, env: Environment) -> Relation:
    """The rows of one side without a partner on the other, whose columns are NULL."""
    (own, own_names), (other, other_names) = copy_of(kept, env), copy_of(missing, env)
    alone = AntiJoin(own, other, renamed(on, own_names | other_names))
    padded = numbered(columns, env.names.fresh("unmatched"))
    values = [own_names.get(column, Literal(None, column.type)) for column in columns]
    return Project(alone, tuple(map(Output, padded, values)))


def marked(relation: Relation, mark: Mark, env: Environment) -> Relation:
    """The relation with the column of a mark: a union of the rows that have each of its values."""
    schema = (*relation.schema, mark.column)
    return union_all([_marked(relation, value, found, schema, env) for value, found in mark.cases], schema, env)


def _marked(
    relation: Relation, value: bool | None, found: tuple[Existence, ...], schema: Schema, env: Environment
) -> Relation:
    rows, names = copy_of(relation, env)
    outputs = tuple(names[column] for column in relation.schema)
    for existence in found:
        other, other_names = copy_of(existence.relation, env)
        rows = Existence(other, renamed(existence.on, names | other_names), existence.negated).among(rows)
    own = numbered(schema, env.names.fresh("mark"))
    return Project(rows, tuple(map(Output, own, (*outputs, Literal(value, BOOLEAN)))))

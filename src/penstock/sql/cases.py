"""Queries that are unions of disjoint cases over the same rows: EXISTS under OR, and windows that overlap.

    a WHERE x OR EXISTS b   the rows of a with such a b, marked TRUE
                            UNION ALL the rows of a without one, marked FALSE

Each case reads the rows under names of its own; the union has the columns of what it stands for, so that expressions
over those stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.copies import Renaming, copied, numbered, renamed, union_all
from penstock.algebra.expressions import Column, Expr, Literal
from penstock.algebra.relations import (
    AntiJoin,
    Output,
    Project,
    Relation,
    Schema,
    SemiJoin,
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
    for node in walk_relations(relation):
        if isinstance(node, Window | Table):
            env.count_occurrence()
    return copied(relation, env.copies.fresh)


def marked(relation: Relation, mark: Mark, env: Environment) -> Relation:
    """The relation with the column of a mark: a union of the rows that have each of its values."""
    schema = (*relation.schema, mark.column)
    return union_all([_marked(relation, value, found, schema, env) for value, found in mark.cases], schema, env.copies)


def _marked(
    relation: Relation, value: bool | None, found: tuple[Existence, ...], schema: Schema, env: Environment
) -> Relation:
    rows, names = copy_of(relation, env)
    outputs = tuple(names[column] for column in relation.schema)
    for existence in found:
        other, other_names = copy_of(existence.relation, env)
        rows = Existence(other, renamed(existence.on, names | other_names), existence.negated).among(rows)
    own = numbered(schema, env.copies.fresh("mark"))
    return Project(rows, tuple(map(Output, own, (*outputs, Literal(value, BOOLEAN)))))

"""Relation: what all nodes of the algebra share, and what each checks when it is built.

A column that an input does not have, or two inputs that share a scope, cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.expressions import AlgebraError, Column, Expr, columns, require
from penstock.effort import spend
from penstock.types import BOOLEAN

Schema = tuple[Column, ...]

#: To look a column up takes so much less than to visit an expression.
_COLUMNS_IN_A_STEP = 4


class Relation:
    """What all nodes share: a schema, inputs, and a copy of themselves over other inputs."""

    __slots__ = ("_known_schema",)
    _known_schema: Schema

    @property
    def schema(self) -> Schema:
        """The columns, which everybody asks for: they are put together once."""
        try:
            return self._known_schema
        except AttributeError:
            object.__setattr__(self, "_known_schema", self._schema())
            return self._known_schema

    def _schema(self) -> Schema:
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        require(not inputs, f"{type(self).__name__} has no inputs")
        return self


def require_columns(exprs: Iterable[Expr], schema: Schema) -> None:
    spend(1 + len(schema) // _COLUMNS_IN_A_STEP)
    missing: set[Column] = set()
    for expr in exprs:
        missing.update((expr,) if isinstance(expr, Column) else columns(expr))
    missing.difference_update(schema)
    if missing:
        raise AlgebraError(f"no column {', '.join(map(str, missing))} in ({', '.join(map(str, schema))})")


def require_predicates(predicates: tuple[Expr, ...], schema: Schema) -> None:
    require(all(predicate.type == BOOLEAN for predicate in predicates), "a predicate is a boolean")
    require_columns(predicates, schema)


def require_distinct(schema: Schema) -> None:
    spend(1 + len(schema) // _COLUMNS_IN_A_STEP)
    names = {(column.scope, column.name) for column in schema}
    if len(names) != len(schema):
        raise AlgebraError(f"a column stands twice in ({', '.join(map(str, schema))})")

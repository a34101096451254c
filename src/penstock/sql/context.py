"""Where an expression stands: which names are in scope, and who takes aggregates and scalar subqueries there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from sqlglot import exp

from penstock.algebra.expressions import Expr
from penstock.catalog import Functions
from penstock.sql.diagnostics import Diagnostics
from penstock.sql.scope import Scope
from penstock.sql.syntax import Tree


class Refusal(NamedTuple):
    message: str
    hint: str | None = None


NO_AGGREGATE = Refusal("there is no aggregate here")
NO_SUBQUERY = Refusal("there is no subquery here")
NO_EXISTENCE = Refusal(
    "EXISTS and IN (SELECT ...) do not stand here", "they stand in WHERE, HAVING and the select list, CASE included"
)


@dataclass(frozen=True, slots=True)
class Callables:
    """The user functions that there are, and why none of them may be called here, if that is so."""

    functions: Functions = field(default_factory=dict)
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Where an expression stands."""

    diagnostics: Diagnostics
    scope: Scope
    #: Takes an aggregate call (and the condition of its FILTER), or says why there may be none.
    aggregate: Callable[[exp.Anonymous, Tree | None], Expr] | Refusal = NO_AGGREGATE
    #: Takes a scalar subquery, or says why there may be none.
    subquery: Callable[[exp.Subquery], Expr] | Refusal = NO_SUBQUERY
    #: Takes EXISTS or IN (SELECT ...) in an expression, or says why there may be none.
    existence: Callable[[Tree, Context], Expr] | Refusal = NO_EXISTENCE
    #: The user functions that may be called.
    callables: Callables = field(default_factory=Callables)
    #: Names that are looked up after the columns in scope: aliases of the select list or of GROUP BY.
    aliases: Mapping[str, Callable[[], Expr]] = field(default_factory=dict)
    #: Those aliases that are looked up before.
    hiding: frozenset[str] = frozenset()
    #: The clause that gives names to rows.
    clause: str = "FROM"

    def fail(self, message: str, hint: str | None, place: Tree) -> NoReturn:
        self.diagnostics.fail(message, hint, place)

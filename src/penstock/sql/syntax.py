"""Statements as they are written: what the parser gives and the binder reads.

Declarations are small values of ours; queries and predicates inside them are sqlglot's trees. Each name keeps its place
in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.algebra.join_trees import TreeJoin
from penstock.algebra.relations import Approximate
from penstock.catalog import Connector, OnViolation, Within
from penstock.errors import Span
from penstock.types import TimeUnit

#: A tree of sqlglot's.
Tree = exp.Expr


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span
    quoted: bool = False


Names = tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class ColumnDef:
    name: Name
    type: Tree
    span: Span
    virtual: bool = False
    not_null: bool = False
    #: UNIQUE or PRIMARY KEY, if the column alone is one.
    key: str = ""


@dataclass(frozen=True, slots=True)
class UniqueClause:
    span: Span
    columns: Names
    #: PRIMARY KEY: its columns are NOT NULL, too.
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class NotNullClause:
    span: Span
    columns: Names


@dataclass(frozen=True, slots=True)
class ReferenceClause:
    span: Span
    columns: Names
    parent: Name
    parent_columns: Names
    #: May be left out where the parent is a table, whose rows are all there from the start.
    within: Within | None
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True)
class ClusteredClause:
    span: Span
    columns: Names
    within: Within
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True)
class OrderedClause:
    span: Span
    column: Name
    within: Within
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True)
class PunctuatedClause:
    span: Span
    columns: Names
    when: Tree | None
    source: Name | None
    source_columns: Names
    lifespan: int | None
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True)
class RateClause:
    span: Span
    most: int
    least: int | None
    per: int


ConstraintClause = (
    UniqueClause | NotNullClause | ReferenceClause | ClusteredClause | OrderedClause | PunctuatedClause | RateClause
)

Creation = Literal["CREATE", "CREATE OR REPLACE", "CREATE IF NOT EXISTS"]


@dataclass(frozen=True, slots=True)
class CreateStream:
    span: Span
    creation: Creation
    name: Name
    elements: tuple[ColumnDef | ConstraintClause, ...]
    timestamp: Name | None
    delay: int | None
    connector: Connector | None
    #: The unit that is written behind the timestamp, and where.
    unit: tuple[TimeUnit, Span] | None = None
    #: How long other streams wait for it while it is quiet, in microseconds.
    idle: int | None = None


@dataclass(frozen=True, slots=True)
class CreateTable:
    span: Span
    creation: Creation
    name: Name
    elements: tuple[ColumnDef | ConstraintClause, ...]
    connector: Connector | None


@dataclass(frozen=True, slots=True)
class CreateView:
    span: Span
    creation: Creation
    name: Name
    query: Tree


@dataclass(frozen=True, slots=True)
class QueryClauses:
    """What stands behind a query: whether it is allowed to be unbounded, where EMIT ON CLOSE and APPROXIMATE stand."""

    allowed: bool = False
    on_close: Span | None = None
    approximate: tuple[Approximate, Span] | None = None


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What WITH (...) says of a query: how far it adapts, whether results come early, and trees of joins by which it
    runs, with their places.
    """

    adaptive: str | None = None
    early: bool | None = None
    trees: tuple[tuple[TreeJoin, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateQuery:
    """`CREATE QUERY name AS ...`; a bare SELECT has no name."""

    span: Span
    creation: Creation
    name: Name | None
    query: Tree
    allow_unbounded: bool
    #: Where EMIT ON CLOSE stands, if it does.
    on_close: Span | None = None
    options: QueryOptions = QueryOptions()
    #: APPROXIMATE, and where it stands.
    approximate: tuple[Approximate, Span] | None = None


@dataclass(frozen=True, slots=True)
class VariableDef:
    stream: Name
    name: Name


@dataclass(frozen=True, slots=True)
class CreateAssertion:
    span: Span
    creation: Creation
    name: Name
    each: tuple[VariableDef, ...]
    premise: Tree | None
    some: tuple[VariableDef, ...]
    conclusion: Tree
    on_violation: OnViolation | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    span: Span
    kind: str
    name: Name
    if_exists: bool


@dataclass(frozen=True, slots=True)
class AlterStream:
    span: Span
    name: Name
    added: tuple[ConstraintClause, ...]


Statement = CreateStream | CreateTable | CreateView | CreateQuery | CreateAssertion | Drop | AlterStream

"""The tree of a generated query: typed, immutable, printed by `penstock_sql` and by `duckdb_sql`.

It follows the text: sugar such as BETWEEN, `*`, USING and views is kept, for the binder to take apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from penstock.types import BOOLEAN, TIMESTAMP, Type, common_type
from tests.generators.declarations import StreamDecl, TableDecl, Value


@dataclass(frozen=True, slots=True)
class Ref:
    """A column. `bare`: it is written without its qualifier. `exact`: sums of such DOUBLEs need no rounding."""

    qualifier: str
    name: str
    type: Type
    bare: bool = False
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Const:
    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class TimeText:
    """A time as a mere string, which it is compared with makes a TIMESTAMP or DATE."""

    value: int
    type: Type


@dataclass(frozen=True, slots=True)
class BareNull:
    """NULL that takes its type from what stands around it."""

    type: Type


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * / %` of numbers, and `||` of strings."""

    op: str
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Minus:
    arg: Expr

    @property
    def type(self) -> Type:
        return self.arg.type


@dataclass(frozen=True, slots=True)
class Shift:
    """A timestamp plus or minus an interval."""

    op: str
    arg: Expr
    microseconds: int

    @property
    def type(self) -> Type:
        return TIMESTAMP


class Predicate:
    """What all expressions of type BOOLEAN but columns, constants and calls share."""

    __slots__ = ()

    @property
    def type(self) -> Type:
        return BOOLEAN


@dataclass(frozen=True, slots=True)
class Gap(Predicate):
    """`left - right op INTERVAL [* factor]`, of timestamps."""

    op: str
    left: Expr
    right: Expr
    microseconds: int
    factor: Expr | None


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """`= <> < <= > >= <=>`, IS DISTINCT FROM, and IS NOT DISTINCT FROM, which is `<=>`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Logic(Predicate):
    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    arg: Expr


@dataclass(frozen=True, slots=True)
class IsNull(Predicate):
    arg: Expr
    negated: bool


@dataclass(frozen=True, slots=True)
class IsTruth(Predicate):
    """`IS [NOT] TRUE`, `IS [NOT] FALSE`."""

    arg: Expr
    truth: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class InList(Predicate):
    arg: Expr
    options: tuple[Expr, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Like(Predicate):
    """LIKE, or with `fold` ILIKE, which takes upper and lower case as the same."""

    arg: Expr
    pattern: str
    escape: str | None
    negated: bool
    fold: bool


@dataclass(frozen=True, slots=True)
class Between(Predicate):
    arg: Expr
    low: Expr
    high: Expr
    negated: bool


@dataclass(frozen=True, slots=True)
class CaseWhen:
    """`CASE [operand] WHEN ... THEN ... [ELSE ...] END`."""

    operand: Expr | None
    whens: tuple[Expr, ...]
    thens: tuple[Expr, ...]
    otherwise: Expr | None
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    arg: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Aggregate:
    """COUNT(*) has no argument. `where` is the condition of FILTER."""

    function: str
    arg: Expr | None
    distinct: bool
    type: Type
    where: Expr | None = None
    #: What MIN_BY and MAX_BY compare.
    by: Expr | None = None


@dataclass(frozen=True, slots=True)
class ScalarQuery:
    query: Query
    type: Type


@dataclass(frozen=True, slots=True)
class Exists(Predicate):
    query: Query


@dataclass(frozen=True, slots=True)
class InQuery(Predicate):
    """`arg IN (query)`, or `(arg, arg) IN (query)`."""

    args: tuple[Expr, ...]
    query: Query
    negated: bool


Expr: TypeAlias = (
    Ref
    | Const
    | TimeText
    | BareNull
    | Binary
    | Minus
    | Shift
    | Gap
    | Compare
    | Logic
    | Not
    | IsNull
    | IsTruth
    | InList
    | Like
    | Between
    | CaseWhen
    | Cast
    | Call
    | Aggregate
    | ScalarQuery
    | Exists
    | InQuery
)


@dataclass(frozen=True, slots=True)
class Unbounded:
    """`text` is one of its spellings, and may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Range:
    width: int
    slide: int | None


@dataclass(frozen=True, slots=True)
class Now:
    pass


@dataclass(frozen=True, slots=True)
class Rows:
    count: int
    by: tuple[str, ...] = ()


Window = Unbounded | Range | Now | Rows


@dataclass(frozen=True, slots=True)
class StreamUse:
    stream: StreamDecl
    window: Window
    alias: str | None


@dataclass(frozen=True, slots=True)
class TableUse:
    table: TableDecl
    alias: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """A query with a name, and names for its columns if they are given."""

    name: str
    query: Query
    renamed: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[Output, ...]:
        return renamed_outputs(self.query, self.renamed)


@dataclass(frozen=True, slots=True)
class NamedUse:
    """A view or a query of WITH, by its name."""

    named: Named
    alias: str | None


@dataclass(frozen=True, slots=True)
class Derived:
    """`(query) AS alias`, or `(query) AS alias(renamed)`."""

    query: Query
    alias: str
    renamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinOn:
    """Without a predicate it is a CROSS JOIN; with a side, LEFT, RIGHT or FULL, an outer join."""

    left: Source
    right: Source
    on: Expr | None
    side: str = ""


@dataclass(frozen=True, slots=True)
class HalfJoin:
    """`left LEFT SEMI JOIN right ON ...`, or ANTI."""

    kind: str
    left: Source
    right: Source
    on: Expr


@dataclass(frozen=True, slots=True)
class JoinUsing:
    left: Source
    right: Source
    columns: tuple[str, ...]
    side: str = ""


Source: TypeAlias = StreamUse | TableUse | NamedUse | Derived | JoinOn | JoinUsing | HalfJoin


@dataclass(frozen=True, slots=True)
class Item:
    expr: Expr
    alias: str | None


@dataclass(frozen=True, slots=True)
class Star:
    """`*`, or `qualifier.*`, and the columns that it stands for."""

    qualifier: str | None
    columns: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Select:
    items: tuple[Item | Star, ...]
    sources: tuple[Source, ...]
    where: tuple[Expr, ...] = ()
    group_by: tuple[Expr, ...] = ()
    having: tuple[Expr, ...] = ()
    distinct: bool = False
    #: Keys that stand in the select list are written as their number there.
    by_number: bool = False


@dataclass(frozen=True, slots=True)
class SetOperation:
    op: str
    all: bool
    left: Query
    right: Query


@dataclass(frozen=True, slots=True)
class With:
    named: tuple[Named, ...]
    body: Query


Query: TypeAlias = Select | SetOperation | With


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    type: Type
    exact: bool


def outputs(query: Query) -> tuple[Output, ...]:
    """The columns of a query's result."""
    match query:
        case With(_, body):
            return outputs(body)
        case SetOperation(_, _, left, right):
            pairs = zip(outputs(left), outputs(right), strict=True)
            return tuple(Output(a.name, common((a, b)), a.exact and b.exact) for a, b in pairs)
        case Select(items):
            return tuple(output for item in items for output in _item_outputs(item))


def renamed_outputs(query: Query, names: tuple[str, ...]) -> tuple[Output, ...]:
    """The columns of a query under other names, if there are any."""
    own = outputs(query)
    return tuple(replace(o, name=name) for o, name in zip(own, names, strict=True)) if names else own


def _item_outputs(item: Item | Star) -> Iterator[Output]:
    match item:
        case Star(_, columns):
            for column in columns:
                yield Output(column.name, column.type, column.exact)
        case Item(expr, alias):
            name = alias or (expr.name if isinstance(expr, Ref) else "")
            yield Output(name, expr.type, is_exact(expr))


def is_exact(expr: Expr) -> bool:
    """Whether sums of such DOUBLEs are exact: true of what the pools hold, and of their least and greatest."""
    match expr:
        case Ref():
            return expr.exact
        case Aggregate("MIN" | "MAX", argument):
            return argument is not None and is_exact(argument)
    return isinstance(expr, Const | BareNull)


def common(exprs: Sequence[Expr | Output]) -> Type:
    """The type that all widen to."""
    shape = exprs[0].type
    for expr in exprs[1:]:
        wider = common_type(shape, expr.type)
        assert wider is not None
        shape = wider
    return shape


def refs(expr: Expr) -> Iterator[Ref]:
    """The columns in an expression, but for those in its subqueries."""
    if isinstance(expr, Ref):
        yield expr
    for field in fields(expr):
        part = getattr(expr, field.name)
        for each in part if isinstance(part, tuple) else (part,):
            if isinstance(each, Expr):
                yield from refs(each)

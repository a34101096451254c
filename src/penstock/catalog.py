"""What is declared: streams, tables, views, assertions, user functions, and what may be assumed of streams.

The constraints are the papers': many-one joins (UNIQUE), k-constraints (RIDS, CA, OA of thesis chapter 6), punctuation
schemes (Li et al.), assertions (Koudas et al.). A catalog is immutable: a declaration gives a new one. Names are looked
up without regard to case, as Spark does, and keep the spelling of their declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any

from penstock.algebra.expressions import Expr, require
from penstock.algebra.user_functions import UserFunction
from penstock.masking import MASK, is_secret_option, remember_secrets
from penstock.types import Kind, TimeUnit, Type, duration_text


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared column. A virtual one is 001's conceptual attribute: assertions may speak of it, no row has it."""

    name: str
    type: Type
    virtual: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A column of data that was handed over which no query can read, and why: its type, or its name."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class WithinRows:
    k: int


@dataclass(frozen=True, slots=True)
class WithinTime:
    """`WITHIN t`, or `LATENCY t`: the same, said of how long things take. RATE makes it a number of rows (000, A)."""

    microseconds: int
    is_latency: bool = False


@dataclass(frozen=True, slots=True)
class Inferred:
    """k is left to k-Mon to find, with the parameters of thesis 6.6.3. The defaults are those of figures 6.13 and 6.15.

    Rows wait `c` times as long as k says, a share `p` of the values is remembered longer, k shrinks after `w` rows, and
    a k above the threshold is of no use.
    """

    c: float = 1.2
    p: float = 0.01
    w: int = 1000
    threshold: int = 100_000

    def __post_init__(self) -> None:
        require(self.c >= 1 and 0 < self.p <= 1 and self.w > 0 and self.threshold >= 0, f"no monitor can be so: {self}")


def inferred_text(inferred: Inferred) -> str:
    """INFERRED as it is written, with the parameters that are not the defaults.

    >>> inferred_text(Inferred()), inferred_text(Inferred(c=2.0, w=500))
    ('INFERRED', 'INFERRED (c 2, w 500)')
    """
    usual = asdict(Inferred())
    chosen = [(name, value) for name, value in asdict(inferred).items() if value != usual[name]]
    listed = ", ".join(f"{name} {int(value) if value == int(value) else value}" for name, value in chosen)
    return f"INFERRED ({listed})" if listed else "INFERRED"


Within = WithinRows | WithinTime | Inferred


class OnViolation(Enum):
    """What a run does when a row comes that a declaration has ruled out: count it, stop, let k grow, or not look."""

    WARN = "WARN"
    ERROR = "ERROR"
    WIDEN = "WIDEN"
    IGNORE = "IGNORE"


@dataclass(frozen=True, slots=True)
class Unique:
    """No two rows agree on these columns, so a join on them is many-one."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """RIDS(k): the row of `parent` that a row refers to comes at most k rows of `parent`, or that time, later."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    within: Within
    on_violation: OnViolation = OnViolation.WARN


@dataclass(frozen=True, slots=True)
class Clustered:
    """CA(k): between two rows with the same values at most k rows have others."""

    columns: tuple[str, ...]
    within: Within
    on_violation: OnViolation = OnViolation.WARN


@dataclass(frozen=True, slots=True)
class Ordered:
    """OA(k): a row that comes more than k rows, or that time, after another has no smaller value."""

    column: str
    within: Within
    on_violation: OnViolation = OnViolation.WARN


@dataclass(frozen=True, slots=True)
class Punctuated:
    """A punctuation scheme: from time to time a punctuation says that no more row has certain values of `columns`.

    The punctuations are the stream's own rows that satisfy `when` (an expression over columns of scope ""), or the rows
    of another stream, whose columns `source_columns` hold the values.
    """

    columns: tuple[str, ...]
    when: Expr | None = None
    source: str | None = None
    source_columns: tuple[str, ...] = ()
    lifespan: int | None = None
    on_violation: OnViolation = OnViolation.WARN


@dataclass(frozen=True, slots=True)
class NotNull:
    """Every row has a value in each of these columns. One that has not is bad input: it is left out and counted."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rated:
    """RATE: in any `per` microseconds arrive at most `most` rows, and at least `least`."""

    most: int
    least: int | None = None
    per: int = 1_000_000


def rate_text(most: int, least: int | None, per: int) -> str:
    """A rate as it is written.

    >>> rate_text(1000, 500, 1_000_000), rate_text(1, None, 10_000_000)
    ('RATE BETWEEN 500 AND 1000 PER SECOND', 'RATE 1 PER 10 SECONDS')
    """
    rows = f"{most}" if least is None else f"BETWEEN {least} AND {most}"
    return f"RATE {rows} PER {duration_text(per).removeprefix('1 ')}"


Constraint = Unique | NotNull | Reference | Clustered | Ordered | Punctuated | Rated


@dataclass(frozen=True, slots=True)
class Connector:
    """`USING format OPTIONS (...)`: a Spark data source. Its secrets are not shown, here or anywhere later."""

    format: str
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        remember_secrets(self.options)

    def __repr__(self) -> str:
        shown = tuple((name, MASK if is_secret_option(name, value) else value) for name, value in self.options)
        return f"Connector(format={self.format!r}, options={shown!r})"


@dataclass(frozen=True, slots=True)
class StreamDef:
    name: str
    attributes: tuple[Attribute, ...]
    timestamp: str
    delay: int = 0
    constraints: tuple[Constraint, ...] = ()
    connector: Connector | None = None
    #: What a BIGINT timestamp counts, if that is written. What is not counts microseconds.
    written_unit: TimeUnit | None = None
    #: Columns of data that was handed over which no query can read.
    left_out: tuple[LeftOut, ...] = ()
    #: After so many microseconds of the wall clock without a row of it time goes on without it; never if it is None.
    idle: int | None = None

    @property
    def unit(self) -> TimeUnit:
        """What its times count: a DATE counts days, and what is not said microseconds."""
        is_date = any(a.name == self.timestamp and a.type.kind is Kind.DATE for a in self.attributes)
        return TimeUnit.DAYS if is_date else self.written_unit or TimeUnit.MICROSECONDS

    @property
    def not_null(self) -> frozenset[str]:
        """The columns that hold no NULL, in lower case: those that are declared so, and that of the timestamps."""
        return _not_null(self.constraints) | {self.timestamp.lower()}


@dataclass(frozen=True, slots=True)
class TableDef:
    name: str
    attributes: tuple[Attribute, ...]
    constraints: tuple[Unique | NotNull, ...] = ()
    connector: Connector | None = None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def not_null(self) -> frozenset[str]:
        """The columns that hold no NULL, in lower case."""
        return _not_null(self.constraints)


def _not_null(constraints: Iterable[Constraint]) -> frozenset[str]:
    declared = (constraint.columns for constraint in constraints if isinstance(constraint, NotNull))
    return frozenset(name.lower() for names in declared for name in names)


@dataclass(frozen=True, slots=True)
class ViewDef:
    """A view is kept as the syntax of its query and bound anew at each use, so that each use has its own windows."""

    name: str
    query: Any
    #: The names in its FROM clauses, in lower case.
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class TupleVariable:
    stream: str
    name: str


@dataclass(frozen=True, slots=True)
class AssertionDef:
    """For all rows `each` with `premise`, the conclusion holds: for some rows `some`, if there are any.

    Expressions are over columns whose scope is the tuple variable's name.
    """

    name: str
    each: tuple[TupleVariable, ...]
    premise: tuple[Expr, ...]
    some: tuple[TupleVariable, ...]
    conclusion: tuple[Expr, ...]
    #: What a run does that leans on it and sees it broken.
    on_violation: OnViolation = OnViolation.WARN


Definition = StreamDef | TableDef | ViewDef | AssertionDef

#: User functions by their names in upper case and their numbers of arguments.
Functions = Mapping[tuple[str, int], UserFunction]


@dataclass(frozen=True, slots=True)
class Catalog:
    definitions: Mapping[str, Definition] = field(default_factory=lambda: MappingProxyType({}))
    functions: Functions = field(default_factory=lambda: MappingProxyType({}))

    def get(self, name: str) -> Definition | None:
        return self.definitions.get(name.lower())

    def having(self, definition: Definition) -> Catalog:
        """The catalog with a definition added, or put in place of the one of that name."""
        return replace(self, definitions=MappingProxyType({**self.definitions, definition.name.lower(): definition}))

    def calling(self, function: UserFunction) -> Catalog:
        """The catalog with a function added, or put in place of the one of that name with as many arguments."""
        key = function.name.upper(), len(function.arguments)
        return replace(self, functions=MappingProxyType({**self.functions, key: function}))

    def without(self, name: str) -> Catalog:
        kept = {key: value for key, value in self.definitions.items() if key != name.lower()}
        return replace(self, definitions=MappingProxyType(kept))

    @property
    def streams(self) -> tuple[StreamDef, ...]:
        return tuple(d for d in self.definitions.values() if isinstance(d, StreamDef))

    @property
    def tables(self) -> tuple[TableDef, ...]:
        return tuple(d for d in self.definitions.values() if isinstance(d, TableDef))

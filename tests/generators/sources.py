"""Strategies for FROM: streams under windows, tables, views and subqueries, and the joins between them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from penstock.types import Type
from tests.generators.declarations import StreamDecl, TableDecl
from tests.generators.expressions import Draw, Scope, chance, choose, equality, predicate
from tests.generators.features import Features, WindowKind
from tests.generators.syntax import (
    Derived,
    Expr,
    HalfJoin,
    JoinOn,
    JoinUsing,
    Logic,
    Named,
    NamedUse,
    Now,
    Output,
    Query,
    Range,
    Ref,
    Rows,
    Select,
    SetOperation,
    Source,
    StreamUse,
    TableUse,
    Unbounded,
    Window,
    With,
    outputs,
    renamed_outputs,
)


@dataclass(frozen=True, slots=True)
class Environment:
    """What a query may read, and how deep it may still go."""

    features: Features
    streams: tuple[StreamDecl, ...]
    tables: tuple[TableDecl, ...]
    #: Makes the query of a subquery in FROM; its outputs have names of their own.
    subquery: Callable[[Draw, Environment], Query]
    level: int
    views: tuple[Named, ...] = ()
    #: What the queries around call their sources.
    taken: frozenset[str] = frozenset()
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    def new_names(self, draw: Draw, query: Query) -> tuple[str, ...]:
        """Now and then other names for the columns of a query."""
        return tuple(self.fresh("c") for _ in outputs(query)) if chance(draw, 15) else ()

    def inside(self, from_: From) -> Environment:
        """The environment of a subquery of a query with these sources."""
        return replace(self, level=self.level - 1, taken=self.taken | {entry.qualifier for entry in from_.entries})


#: The most rows that the sources of one FROM may have together: the reference tries all combinations.
MOST_ROWS = 600


def most_rows(query: Query, features: Features) -> int:
    """No query of these features has more rows at an instant than this."""
    match query:
        case With(_, body):
            return most_rows(body, features)
        case SetOperation(_, _, left, right):
            return most_rows(left, features) + most_rows(right, features)
        case Select(_, sources):
            return math.prod(_most_rows(source, features) for source in sources)


def _most_rows(source: Source, features: Features) -> int:
    match source:
        case StreamUse() | TableUse():
            return features.max_rows
        case NamedUse(named):
            return most_rows(named.query, features)
        case Derived(query):
            return most_rows(query, features)
        case JoinOn(left, right) | JoinUsing(left, right) | HalfJoin(_, left, right):
            return (_most_rows(left, features) + 1) * (_most_rows(right, features) + 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A source and its columns. `hidden` ones are those that USING shows on the left only."""

    qualifier: str
    columns: tuple[Output, ...]
    hidden: frozenset[str] = frozenset()

    @property
    def refs(self) -> tuple[Ref, ...]:
        return tuple(Ref(self.qualifier, c.name, c.type, exact=c.exact) for c in self.columns)

    @property
    def shown(self) -> tuple[Ref, ...]:
        return tuple(ref for ref in self.refs if ref.name not in self.hidden)


@dataclass(frozen=True, slots=True)
class From:
    sources: tuple[Source, ...]
    entries: tuple[Entry, ...]
    #: Conditions that join the sources, for WHERE.
    conditions: tuple[Expr, ...] = ()
    #: Where the entries of the last source begin: those that JOIN ... ON may speak of.
    last: int = 0
    #: What `*` stands for, but for the last source and in it: each USING puts its columns first in its join.
    star_before: tuple[Ref, ...] = ()
    star_last: tuple[Ref, ...] = ()
    #: What is called something, also where LEFT SEMI JOIN hides it.
    names: frozenset[str] = frozenset()

    @property
    def star(self) -> tuple[Ref, ...]:
        return self.star_before + self.star_last

    def beside(self, source: Source, entry: Entry, condition: Expr | None) -> From:
        """With another source after a comma."""
        return From(
            (*self.sources, source),
            (*self.entries, entry),
            (*self.conditions, condition) if condition else self.conditions,
            len(self.entries),
            self.star,
            entry.refs,
            self.names | {entry.qualifier},
        )

    def joined(self, last: Source, entry: Entry) -> From:
        """With the last source replaced by a join of it with `entry`."""
        return replace(
            self,
            sources=(*self.sources[:-1], last),
            entries=(*self.entries, entry),
            star_last=self.star_last + entry.shown,
            names=self.names | {entry.qualifier},
        )

    def joined_using(self, columns: tuple[str, ...], source: Source, entry: Entry, side: str) -> From:
        merged = tuple(ref for name in columns for ref in self.star_last if ref.name == name)
        rest = tuple(ref for ref in self.star_last if ref not in merged)
        tree = JoinUsing(self.sources[-1], source, columns, side)
        return replace(self, star_last=merged + rest).joined(tree, replace(entry, hidden=frozenset(columns)))

    def columns(self, bare: bool) -> tuple[Ref, ...]:
        """All columns; with `bare`, those whose names are unique are written without qualifier."""
        counts = Counter(ref.name for entry in self.entries for ref in entry.shown)
        return tuple(
            replace(ref, bare=bare and ref.name not in entry.hidden and counts[ref.name] == 1)
            for entry in self.entries
            for ref in entry.refs
        )


def from_clause(draw: Draw, env: Environment, most: int) -> From:
    most = min(most, env.features.max_sources) if env.features.joins else 1
    count = choose(draw, [n for n in (1, 1, 2, 2, 3) if n <= most])
    entry, source = _entry(draw, env, frozenset())
    from_ = From((), ()).beside(source, entry, None)
    for _ in range(1, count):
        from_ = _joined(draw, env, from_)
    return from_


def with_other_windows(draw: Draw, env: Environment, source: Source) -> Source:
    match source:
        case StreamUse(stream, _, _):
            return replace(source, window=_window(draw, env, stream))
        case JoinOn(left, right) | JoinUsing(left, right) | HalfJoin(_, left, right):
            left, right = (with_other_windows(draw, env, side) for side in (left, right))
            return replace(source, left=left, right=right)
    return source


def _joined(draw: Draw, env: Environment, from_: From) -> From:
    """With one more source, joined to the last one or, after a comma, to all, if they do not get too many rows."""
    entry, source = _entry(draw, env, from_.names)
    if math.prod(_most_rows(each, env.features) for each in (*from_.sources, source)) > MOST_ROWS:
        return from_
    last = from_.entries[from_.last :]
    left = tuple(ref for other in last for ref in other.refs)
    common = _common_columns(last, entry)
    side = choose(draw, ("", "LEFT", "RIGHT", "FULL")) if env.features.outer_joins else ""
    match choose(draw, ("comma", "comma", "on", "using", "cross", "semi")):
        case "comma":
            before = tuple(ref for other in from_.entries for ref in other.refs)
            condition = equality(draw, before, entry.refs) if chance(draw, 85) else None
            return from_.beside(source, entry, condition)
        case "cross":
            return from_.joined(JoinOn(from_.sources[-1], source, None), entry)
        case "using" if common:
            columns = tuple(draw(st.lists(st.sampled_from(common), min_size=1, max_size=2, unique=True)))
            # In DuckDB a qualified column of a RIGHT JOIN's left side is not the one that USING shows.
            return from_.joined_using(columns, source, entry, side if side == "LEFT" else "")
        case "semi":
            kind = choose(draw, ("SEMI", "ANTI"))
            tree = HalfJoin(kind, from_.sources[-1], source, _on(draw, env, left, entry.refs))
            names = from_.names | {entry.qualifier}
            return replace(from_, sources=(*from_.sources[:-1], tree), names=names)
    return from_.joined(JoinOn(from_.sources[-1], source, _on(draw, env, left, entry.refs), side), entry)


def _on(draw: Draw, env: Environment, left: tuple[Ref, ...], right: tuple[Ref, ...]) -> Expr:
    condition = equality(draw, left, right)
    further = predicate(draw, Scope(left + right, env.features), 1)
    if condition is None or chance(draw, 10):
        return further
    return Logic("AND", (condition, further)) if chance(draw, 30) else condition


def _common_columns(last: tuple[Entry, ...], entry: Entry) -> list[str]:
    """The columns that USING may join on: one on each side has the name, and they have one type."""
    left = [ref for other in last for ref in other.shown]
    counts = Counter(ref.name for ref in left)
    own = {column.name: column.type for column in entry.columns}
    return [ref.name for ref in left if counts[ref.name] == 1 and own.get(ref.name) == ref.type]


def _entry(draw: Draw, env: Environment, used: frozenset[str]) -> tuple[Entry, Source]:
    kinds = ["stream"] * 6
    kinds += ["table"] * 2 if env.tables else []
    kinds += ["view"] * 3 if env.views else []
    kinds += ["derived"] if env.features.derived_tables and env.level > 0 else []
    match choose(draw, kinds):
        case "table":
            table = choose(draw, env.tables)
            alias = _alias(draw, env, table.name, used)
            return _declared(alias or table.name, table.columns), TableUse(table, alias)
        case "view":
            view = choose(draw, env.views)
            alias = _alias(draw, env, view.name, used)
            return Entry(alias or view.name, view.outputs), NamedUse(view, alias)
        case "derived":
            query = env.subquery(draw, replace(env, level=env.level - 1, taken=frozenset()))
            derived = Derived(query, env.fresh("x"), env.new_names(draw, query))
            return Entry(derived.alias, renamed_outputs(query, derived.renamed)), derived
    stream = choose(draw, env.streams)
    alias = _alias(draw, env, stream.name, used)
    return _declared(alias or stream.name, stream.columns), StreamUse(stream, _window(draw, env, stream), alias)


def _declared(qualifier: str, columns: tuple[tuple[str, Type], ...]) -> Entry:
    return Entry(qualifier, tuple(Output(name, type_, True) for name, type_ in columns))


def _alias(draw: Draw, env: Environment, name: str, used: frozenset[str]) -> str | None:
    """No alias now and then, where the name is free."""
    if name not in used | env.taken and chance(draw, 50):
        return None
    return env.fresh("x")


def _window(draw: Draw, env: Environment, stream: StreamDecl) -> Window:
    widths = st.integers(0, max(1, env.features.max_time // 2))
    match choose(draw, env.features.windows):
        case WindowKind.RANGE:
            return Range(draw(widths), None)
        case WindowKind.SLIDE:
            return Range(draw(widths), draw(st.integers(1, 5)))
        case WindowKind.NOW:
            return Now()
        case WindowKind.ROWS:
            return Rows(draw(st.integers(1, 3)))
        case WindowKind.PARTITION:
            # Partitions by time are small: most often by something else.
            names = [name for name, _ in stream.columns if name != "ts" or chance(draw, 20)]
            by = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
            return Rows(draw(st.integers(1, 3)), tuple(by))
    return Unbounded(choose(draw, ("", "[UNBOUNDED]", "[ROWS UNBOUNDED]", "[RANGE UNBOUNDED]")))

"""A text of statements, bound in order: what it declares and what it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn

from penstock.algebra.relations import Query
from penstock.algebra.zones import DEFAULT, zone_name
from penstock.catalog import AssertionDef, Catalog, Definition, Punctuated, Reference, StreamDef, ViewDef
from penstock.errors import Origin, Places, Source, Span, SqlError, SqlErrors
from penstock.sql.declarations import (
    bind_assertion_def,
    bind_constraints,
    bind_stream_def,
    bind_table_def,
    bind_view_def,
    check_references,
    spelled_as_declared,
)
from penstock.sql.diagnostics import (
    Consequence,
    Diagnostics,
    TooLarge,
    did_you_mean,
    listed,
    nested_too_deeply,
    tree_span,
)
from penstock.sql.environment import Environment
from penstock.sql.queries import bind_root
from penstock.sql.statements import parse_script
from penstock.sql.syntax import (
    AlterStream,
    ColumnDef,
    ConstraintClause,
    CreateAssertion,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateView,
    Creation,
    Drop,
    Name,
    Statement,
)
from penstock.sql.system_streams import system_definition
from penstock.sql.zone import binding_in

#: The name of a query that has none.
ANONYMOUS = "query"


@dataclass(frozen=True, slots=True)
class Script:
    """What `bind_text` returns: the `catalog` of declarations, the `queries`, and the `errors` of a text."""

    catalog: Catalog
    queries: tuple[Query, ...]
    errors: tuple[SqlError, ...]
    source: Source
    #: Where each query stands, by its name in lower case.
    places: Mapping[str, Places]

    def origin(self, query: Query) -> Origin | None:
        """Where a query of this text comes from."""
        places = self.places.get(query.name.lower())
        return None if places is None else Origin(self.source, places)

    def checked(self) -> Script:
        """Returns itself, or raises all of its errors."""
        if self.errors:
            raise SqlErrors(self.errors)
        return self


def bind_text(text: str, file: str = "<text>", catalog: Catalog | None = None, zone: str = DEFAULT) -> Script:
    """Returns what the statements of a text declare and ask, after those of a catalog, in a time zone.

    Errors are collected, not raised: `checked()` raises them.

    >>> import penstock
    >>> script = penstock.bind_text("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts; SELECT a FROM s [ROWS 5]")
    >>> script.queries[0].schema
    (Column(scope='', name='a', type=Type(kind=<Kind.BIGINT: 'BIGINT'>, precision=None, scale=None)),)
    """
    source = Source(file, text)
    parsed = parse_script(source)
    has_named = any(isinstance(statement, CreateQuery) and statement.name for statement in parsed.statements)
    binder = _ScriptBinder(source, catalog or Catalog(), parsed.broken, has_named)
    with binding_in(zone_name(zone)):
        for statement in parsed.statements:
            binder.bind(statement)
        binder.check_references()
    errors = (*parsed.errors, *binder.errors)
    shown = sorted((e for e in errors if not isinstance(e, Consequence)), key=lambda e: e.span.start)
    return Script(binder.catalog, tuple(binder.queries.values()), tuple(shown), source, binder.places)


class _ScriptBinder:
    """Goes through the statements and keeps what they made of the catalog."""

    def __init__(self, source: Source, catalog: Catalog, broken: frozenset[str], has_named: bool) -> None:
        self.source = source
        self.catalog = catalog
        self.queries: dict[str, Query] = {}
        self.places: dict[str, Places] = {}
        self.errors: list[SqlError] = []
        self._broken = broken
        self._has_named = has_named
        #: What the queries read, views included.
        self._reads: dict[str, frozenset[str]] = {}
        #: The constraints of streams, which may refer to streams that come after them.
        self._referring: dict[str, list[ConstraintClause]] = {}

    def bind(self, statement: Statement) -> None:
        def bind(diagnostics: Diagnostics) -> None:
            match statement:
                case CreateQuery():
                    self._create_query(statement, diagnostics)
                case Drop():
                    self._drop(statement, diagnostics)
                case AlterStream():
                    self._alter(statement, diagnostics)
                case _:
                    self._create(statement, diagnostics)

        name = getattr(statement, "name", None)
        if not self._diagnosed(statement.span, bind) and name is not None and not isinstance(statement, Drop):
            self._broken |= {name.text.lower()}

    def check_references(self) -> None:
        """To be called at the end, when all that constraints refer to has been declared."""
        for name, clauses in self._referring.items():
            if clauses:
                self._diagnosed(clauses[0].span, partial(self._check_references, name, clauses))

    def _check_references(self, name: str, clauses: list[ConstraintClause], diagnostics: Diagnostics) -> None:
        stream = self.catalog.get(name)
        assert isinstance(stream, StreamDef)
        check_references(clauses, stream, self._env(diagnostics))
        diagnostics.stop_if_failed()
        self.catalog = self.catalog.having(spelled_as_declared(stream, self.catalog))

    def _diagnosed(self, span: Span, action: Callable[[Diagnostics], None]) -> bool:
        """Runs an action, keeps its errors, and says whether there were none."""
        diagnostics = Diagnostics(self.source, span)
        try:
            with diagnostics.gathering():
                action(diagnostics)
        except TooLarge as stop:
            diagnostics.errors = [stop.error]
        except RecursionError:
            diagnostics.errors = [nested_too_deeply(self.source, span)]
        self.errors += diagnostics.errors
        return not diagnostics.errors

    def _env(self, diagnostics: Diagnostics) -> Environment:
        return Environment(self.catalog, diagnostics, broken=self._broken, queries=frozenset(self.queries))

    def _create(
        self, statement: CreateStream | CreateTable | CreateView | CreateAssertion, diagnostics: Diagnostics
    ) -> None:
        existing = self.catalog.get(statement.name.text)
        if existing is not None and statement.creation == "CREATE IF NOT EXISTS":
            if _kind(existing) != type(statement).__name__.removeprefix("Create").upper():
                message = f"{existing.name} is there already, and is {_described(existing)}"
                diagnostics.fail(message, "choose another name", statement.name)
            return
        self._refuse_existing(existing, statement.creation, statement.name, diagnostics)
        definition: Definition
        clauses: list[ConstraintClause] = []
        match statement:
            case CreateStream():
                definition = bind_stream_def(statement, diagnostics, self.catalog.functions)
                clauses = [element for element in statement.elements if not isinstance(element, ColumnDef)]
            case CreateTable():
                definition = bind_table_def(statement, diagnostics)
            case CreateView():
                definition = bind_view_def(statement, self._env(diagnostics))
            case CreateAssertion():
                definition = bind_assertion_def(statement, self._env(diagnostics))
        diagnostics.stop_if_failed()
        self.catalog = self.catalog.having(definition)
        if isinstance(definition, ViewDef):
            self._declare_system(definition.reads)
        self._referring[definition.name.lower()] = clauses

    def _refuse_existing(
        self, existing: Definition | None, creation: Creation, name: Name, diagnostics: Diagnostics
    ) -> None:
        if existing is None:
            return
        if creation == "CREATE":
            diagnostics.fail(f"{existing.name} is there already", "write CREATE OR REPLACE, or DROP it first", name)
        self._refuse_users(existing, "replaced", self._users(existing), name, diagnostics)

    def _users(self, definition: Definition) -> list[str]:
        """The views and queries that read it, and the assertions about it."""
        key = definition.name.lower()
        users = [other.name for other in self.catalog.definitions.values() if key in _spoken_of(other)]
        return users + [query.name for query in self.queries.values() if key in self._reads[query.name.lower()]]

    def _refuse_users(
        self, definition: Definition, verb: str, users: list[str], name: Name, diagnostics: Diagnostics
    ) -> None:
        if users:
            message = f"{definition.name} cannot be {verb}: {listed(users)} {'uses' if len(users) == 1 else 'use'} it"
            diagnostics.fail(message, f"drop {listed(users)} first", name)

    def _create_query(self, statement: CreateQuery, diagnostics: Diagnostics) -> None:
        name = statement.name.text if statement.name else ANONYMOUS
        existing = self.queries.get(name.lower())
        if existing is not None and statement.creation == "CREATE IF NOT EXISTS":
            return
        if existing is not None and statement.creation == "CREATE":
            if statement.name is None:
                diagnostics.fail("of several queries each needs a name", _NAME_IT, statement.span)
            diagnostics.fail(f"there is a query {existing.name} already", "give it another name", statement.name)
        if statement.name is None and self._has_named:
            diagnostics.fail("beside CREATE QUERY this query needs a name too", _NAME_IT, statement.span)
        env = self._env(diagnostics)
        query = bind_root(name, statement, env)
        diagnostics.stop_if_failed()
        self.queries[name.lower()] = query
        whole = tree_span(statement.query) or statement.span
        self.places[name.lower()] = Places(whole, env.places, frozenset(env.own_places), statement.name is not None)
        self._reads[name.lower()] = frozenset(env.reads)
        self._declare_system(env.reads)

    def _declare_system(self, reads: Iterable[str]) -> None:
        """Takes what is read of the system's own streams and views into the catalog, as if it were declared."""
        for name in sorted(reads):
            definition = system_definition(name)
            if definition is not None and self.catalog.get(name) is None:
                self.catalog = self.catalog.having(definition)

    def _drop(self, statement: Drop, diagnostics: Diagnostics) -> None:
        key = statement.name.text.lower()
        if statement.kind == "QUERY":
            if self.queries.pop(key, None) is None and not statement.if_exists and key not in self._broken:
                self._unknown(statement, [query.name for query in self.queries.values()], diagnostics)
            return
        definition = self.catalog.get(key)
        if definition is None:
            if not statement.if_exists and key not in self._broken:
                known = [d.name for d in self.catalog.definitions.values() if _kind(d) == statement.kind]
                self._unknown(statement, known, diagnostics)
            return
        if _kind(definition) != statement.kind:
            hint = f"write DROP {_kind(definition)} {definition.name}"
            diagnostics.fail(f"{definition.name} is {_described(definition)}", hint, statement.name)
        users = self._users(definition) + [s.name for s in self.catalog.streams if key in _referred_to(s)]
        self._refuse_users(definition, "dropped", users, statement.name, diagnostics)
        self.catalog = self.catalog.without(key)
        self._referring.pop(key, None)

    def _unknown(self, statement: Drop, known: list[str], diagnostics: Diagnostics) -> NoReturn:
        name, kind = statement.name, statement.kind.lower()
        diagnostics.fail(f"there is no {kind} {name.text}", did_you_mean(name.text, known), name)

    def _alter(self, statement: AlterStream, diagnostics: Diagnostics) -> None:
        definition = self.catalog.get(statement.name.text)
        if not isinstance(definition, StreamDef):
            if statement.name.text.lower() in self._broken:
                raise Consequence("", None, self.source, statement.span)
            if definition is not None:
                message = f"{definition.name} is {_described(definition)}"
                diagnostics.fail(message, "constraints are added to streams", statement.name)
            hint = did_you_mean(statement.name.text, [stream.name for stream in self.catalog.streams])
            diagnostics.fail(f"there is no stream {statement.name.text}", hint, statement.name)
        functions, before = self.catalog.functions, definition.constraints
        added = bind_constraints(statement.added, definition.attributes, diagnostics, functions, before)
        diagnostics.stop_if_failed()
        self._referring.setdefault(definition.name.lower(), []).extend(statement.added)
        self.catalog = self.catalog.having(replace(definition, constraints=definition.constraints + added))


_NAME_IT = "write CREATE QUERY name AS SELECT ..."


def _kind(definition: Definition) -> str:
    """STREAM, TABLE, VIEW or ASSERTION."""
    return type(definition).__name__.removesuffix("Def").upper()


def _described(definition: Definition) -> str:
    kind = _kind(definition).lower()
    return f"an {kind}" if kind == "assertion" else f"a {kind}"


def _spoken_of(definition: Definition) -> Set[str]:
    """What a view reads and what an assertion is about, in lower case."""
    match definition:
        case ViewDef():
            return definition.reads
        case AssertionDef():
            return {variable.stream.lower() for variable in (*definition.each, *definition.some)}
    return frozenset()


def _referred_to(stream: StreamDef) -> set[str]:
    """The other streams and tables that a stream's constraints refer to, in lower case."""
    parents = {c.parent for c in stream.constraints if isinstance(c, Reference)}
    sources = {c.source for c in stream.constraints if isinstance(c, Punctuated) and c.source is not None}
    return {name.lower() for name in parents | sources} - {stream.name.lower()}

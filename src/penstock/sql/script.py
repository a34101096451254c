"""A text of statements, bound in order: what it declares and what it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.relations import Query, Table, Window, walk_relations
from penstock.catalog import Catalog, Definition, StreamDef, ViewDef
from penstock.errors import Source, Span, SqlError, SqlErrors
from penstock.sql.declarations import (
    bind_assertion_def,
    bind_constraints,
    bind_stream_def,
    bind_table_def,
    bind_view_def,
    check_references,
)
from penstock.sql.diagnostics import Consequence, Diagnostics, did_you_mean
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

#: The name of a query that has none.
ANONYMOUS = "query"


@dataclass(frozen=True, slots=True)
class Script:
    """What a text declares and asks, as far as it is right, and all that is wrong with it."""

    catalog: Catalog
    queries: tuple[Query, ...]
    errors: tuple[SqlError, ...]

    def checked(self) -> Script:
        """Itself, or an exception with all errors."""
        if self.errors:
            raise SqlErrors(self.errors)
        return self


def bind_text(text: str, file: str = "<text>", catalog: Catalog | None = None) -> Script:
    """Parses and binds the statements of a text.

    >>> script = bind_text("CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM s [ROWS 5]")
    >>> script.queries[0].schema
    (Column(scope='', name='a', type=Type(kind=<Kind.BIGINT: 'BIGINT'>, precision=None, scale=None)),)
    """
    source = Source(file, text)
    parsed = parse_script(source)
    binder = _ScriptBinder(source, catalog or Catalog(), parsed.broken)
    for statement in parsed.statements:
        binder.bind(statement)
    binder.check_references()
    errors = (*parsed.errors, *binder.errors)
    shown = sorted((e for e in errors if not isinstance(e, Consequence)), key=lambda e: e.span.start)
    return Script(binder.catalog, tuple(binder.queries.values()), tuple(shown))


class _ScriptBinder:
    """Goes through the statements and keeps what they made of the catalog."""

    def __init__(self, source: Source, catalog: Catalog, broken: frozenset[str]) -> None:
        self.source = source
        self.catalog = catalog
        self.queries: dict[str, Query] = {}
        self.errors: list[SqlError] = []
        self._broken = broken
        self._referring: list[tuple[str, Sequence[ConstraintClause]]] = []

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
        """Streams may refer to streams that come after them, so this is done at the end."""
        for name, clauses in self._referring:
            definition = self.catalog.get(name)
            if isinstance(definition, StreamDef):
                self._diagnosed(
                    clauses[0].span,
                    lambda diagnostics, d=definition, c=clauses: check_references(c, d, self._env(diagnostics)),  # type: ignore[misc]
                )

    def _diagnosed(self, span: Span, action: Callable[[Diagnostics], None]) -> bool:
        """Runs an action, keeps its errors, and says whether there were none."""
        diagnostics = Diagnostics(self.source, span)
        try:
            with diagnostics.gathering():
                action(diagnostics)
        except RecursionError:
            diagnostics.note(SqlError("this is nested too deeply", None, self.source, span))
        self.errors += diagnostics.errors
        return not diagnostics.errors

    def _env(self, diagnostics: Diagnostics) -> Environment:
        return Environment(self.catalog, diagnostics, broken=self._broken)

    def _create(
        self, statement: CreateStream | CreateTable | CreateView | CreateAssertion, diagnostics: Diagnostics
    ) -> None:
        existing = self.catalog.get(statement.name.text)
        if existing is not None and statement.creation == "CREATE IF NOT EXISTS":
            return
        self._refuse_existing(existing, statement.creation, statement.name, diagnostics)
        definition: Definition
        match statement:
            case CreateStream():
                definition = bind_stream_def(statement, diagnostics)
                clauses = [element for element in statement.elements if not isinstance(element, ColumnDef)]
                self._referring += [(definition.name, clauses)] if clauses else []
            case CreateTable():
                definition = bind_table_def(statement, diagnostics)
            case CreateView():
                definition = bind_view_def(statement, self._env(diagnostics))
            case CreateAssertion():
                definition = bind_assertion_def(statement, self._env(diagnostics))
        diagnostics.stop_if_failed()
        self.catalog = self.catalog.having(definition)

    def _refuse_existing(
        self, existing: Definition | None, creation: Creation, name: Name, diagnostics: Diagnostics
    ) -> None:
        if existing is None:
            return
        if creation == "CREATE":
            diagnostics.fail(f"{existing.name} is there already", "write CREATE OR REPLACE, or DROP it first", name)
        self._refuse_readers(existing, "replaced", name, diagnostics)

    def _refuse_readers(self, definition: Definition, verb: str, name: Name, diagnostics: Diagnostics) -> None:
        key = definition.name.lower()
        readers = [v.name for v in self.catalog.definitions.values() if isinstance(v, ViewDef) and key in v.reads]
        readers += [query.name for query in self.queries.values() if key in _reads(query)]
        if readers:
            diagnostics.fail(f"{definition.name} cannot be {verb}: {', '.join(readers)} reads it", None, name)

    def _create_query(self, statement: CreateQuery, diagnostics: Diagnostics) -> None:
        name = statement.name.text if statement.name else ANONYMOUS
        existing = self.queries.get(name.lower())
        if existing is not None and statement.creation == "CREATE IF NOT EXISTS":
            return
        if existing is not None and statement.creation == "CREATE":
            hint = "write CREATE QUERY name AS SELECT ..." if statement.name is None else "give it another name"
            diagnostics.fail(f"there is a query {name} already", hint, statement.name or statement.span)
        if statement.name is None and self.queries:
            hint = "write CREATE QUERY name AS SELECT ..."
            diagnostics.fail("beside other queries a query needs a name", hint, statement.span)
        query = bind_root(name, statement.query, self._env(diagnostics), statement.allow_unbounded)
        diagnostics.stop_if_failed()
        self.queries[name.lower()] = query

    def _drop(self, statement: Drop, diagnostics: Diagnostics) -> None:
        key = statement.name.text.lower()
        if statement.kind == "QUERY":
            if self.queries.pop(key, None) is None and not statement.if_exists:
                self._unknown(statement, [query.name for query in self.queries.values()], diagnostics)
            return
        definition = self.catalog.get(key)
        kind = "" if definition is None else type(definition).__name__.removesuffix("Def").upper()
        if kind != statement.kind:
            if definition is None and (statement.if_exists or key in self._broken):
                return
            known = [d.name for d in self.catalog.definitions.values()]
            self._unknown(statement, known, diagnostics)
        assert definition is not None
        self._refuse_readers(definition, "dropped", statement.name, diagnostics)
        self.catalog = self.catalog.without(key)

    def _unknown(self, statement: Drop, known: list[str], diagnostics: Diagnostics) -> None:
        name, kind = statement.name, statement.kind.lower()
        diagnostics.fail(f"there is no {kind} {name.text}", did_you_mean(name.text, known), name)

    def _alter(self, statement: AlterStream, diagnostics: Diagnostics) -> None:
        definition = self.catalog.get(statement.name.text)
        if not isinstance(definition, StreamDef):
            if statement.name.text.lower() in self._broken:
                raise Consequence("", None, self.source, statement.span)
            hint = did_you_mean(statement.name.text, [stream.name for stream in self.catalog.streams])
            diagnostics.fail(f"there is no stream {statement.name.text}", hint, statement.name)
        added = bind_constraints(statement.added, definition.attributes, diagnostics)
        diagnostics.stop_if_failed()
        self._referring.append((definition.name, statement.added))
        self.catalog = self.catalog.having(replace(definition, constraints=definition.constraints + added))


def _reads(query: Query) -> set[str]:
    nodes = walk_relations(query.relation)
    return {
        (node.stream.name if isinstance(node, Window) else node.name).lower()
        for node in nodes
        if isinstance(node, (Window, Table))
    }

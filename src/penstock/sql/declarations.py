"""DDL: declarations as written, to definitions of the catalog.

A stream may refer to one that is declared further down, so references and sources of punctuations are checked when the
whole text has been read: see `check_references`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock import types
from penstock.algebra.expressions import Column, Expr, conjuncts
from penstock.catalog import (
    AssertionDef,
    Attribute,
    Catalog,
    Clustered,
    Constraint,
    Functions,
    NotNull,
    OnViolation,
    Ordered,
    Punctuated,
    Rated,
    Reference,
    StreamDef,
    TableDef,
    TupleVariable,
    Unique,
    ViewDef,
    WithinRows,
)
from penstock.sql.context import Callables, Context, Refusal
from penstock.sql.diagnostics import Consequence, Diagnostics, did_you_mean, listed
from penstock.sql.environment import Environment
from penstock.sql.literals import bind_type
from penstock.sql.queries import bind_query
from penstock.sql.scalars import bind_predicate
from penstock.sql.scope import Item, Scope
from penstock.sql.syntax import (
    ClusteredClause,
    ColumnDef,
    ConstraintClause,
    CreateAssertion,
    CreateStream,
    CreateTable,
    CreateView,
    Name,
    Names,
    NotNullClause,
    OrderedClause,
    PunctuatedClause,
    RateClause,
    ReferenceClause,
    Tree,
    UniqueClause,
    VariableDef,
)
from penstock.types import Kind, common_type

_NO_AGGREGATE = Refusal("an assertion is about single rows, and has no aggregate")
_NO_FUNCTION_IN_ASSERTION = Refusal(
    "an assertion calls no user function", "what is proved from an assertion must not depend on code; write it in SQL"
)
_NO_FUNCTION_IN_CONSTRAINT = Refusal(
    "a constraint calls no user function", "compare columns with constants, or compute the column before it arrives"
)
_NO_SUBQUERY = Refusal("an assertion has no subquery", "THEN EXISTS stream variable WHERE ... is about other rows")


def bind_stream_def(statement: CreateStream, diagnostics: Diagnostics, functions: Functions) -> StreamDef:
    attributes = _attributes(statement.elements, diagnostics)
    clauses = [element for element in statement.elements if not isinstance(element, ColumnDef)]
    not_null = _not_null(statement.elements, diagnostics)
    keys = tuple(Unique((element.name.text,)) for element in _own_keys(statement.elements))
    constraints = not_null + keys + bind_constraints(clauses, attributes, diagnostics, functions)
    timestamp = _timestamp(statement, attributes, diagnostics)
    diagnostics.stop_if_failed()
    unit = statement.unit[0] if statement.unit else None
    delay, connector = statement.delay or 0, statement.connector
    name = statement.name.text
    return StreamDef(name, attributes, timestamp, delay, constraints, connector, unit, idle=statement.idle)


def bind_table_def(statement: CreateTable, diagnostics: Diagnostics) -> TableDef:
    attributes = _attributes(statement.elements, diagnostics)
    constraints: list[Unique | NotNull] = list(_not_null(statement.elements, diagnostics))
    constraints += [Unique((element.name.text,)) for element in _own_keys(statement.elements)]
    for element in statement.elements:
        with diagnostics.gathering():
            if isinstance(element, UniqueClause):
                constraints.append(Unique(_column_names(element.columns, attributes, diagnostics)))
                if element.is_primary:
                    constraints.append(NotNull(_column_names(element.columns, attributes, diagnostics)))
            elif isinstance(element, NotNullClause):
                constraints.append(NotNull(_column_names(element.columns, attributes, diagnostics)))
            elif not isinstance(element, ColumnDef):
                message = "of a table only UNIQUE and NOT NULL can be said: nothing of it arrives"
                diagnostics.fail(message, None, element.span)
            elif element.virtual:
                diagnostics.fail("only a stream has virtual columns", None, element.span)
    diagnostics.stop_if_failed()
    return TableDef(statement.name.text, attributes, tuple(constraints), statement.connector)


def bind_view_def(statement: CreateView, env: Environment) -> ViewDef:
    """The view is bound here only to be checked."""
    bind_query(statement.query, env.names.fresh(statement.name.text), env)
    env.diagnostics.stop_if_failed()
    if statement.name.text.lower() in env.reads:
        env.diagnostics.fail("a view cannot read itself", "give the new view another name", statement.name)
    return ViewDef(statement.name.text, statement.query, frozenset(env.reads))


def bind_assertion_def(statement: CreateAssertion, env: Environment) -> AssertionDef:
    scope = Scope()
    each = _variables(statement.each, scope, env)
    some = _variables(statement.some, scope, env)
    env.diagnostics.stop_if_failed()
    outer = Scope(scope.items[: len(each)])
    premise = _assertion_predicates(statement.premise, outer, env) if statement.premise else ()
    conclusion = _assertion_predicates(statement.conclusion, scope, env)
    on_violation = statement.on_violation or OnViolation.WARN
    return AssertionDef(statement.name.text, each, premise, some, conclusion, on_violation)


def bind_constraints(
    clauses: Sequence[ConstraintClause],
    attributes: tuple[Attribute, ...],
    diagnostics: Diagnostics,
    functions: Functions,
    before: tuple[Constraint, ...] = (),
) -> tuple[Constraint, ...]:
    """The constraints that clauses add to those that were there before."""
    constraints: list[Constraint] = []
    for clause in clauses:
        with diagnostics.gathering():
            if isinstance(clause, RateClause) and any(isinstance(each, Rated) for each in (*before, *constraints)):
                diagnostics.fail("RATE stands twice", "a stream has one rate: BETWEEN gives it two ends", clause.span)
            constraints.append(_bind_constraint(clause, attributes, diagnostics, functions))
            if isinstance(clause, UniqueClause) and clause.is_primary:
                constraints.append(NotNull(_column_names(clause.columns, attributes, diagnostics)))
    return tuple(constraints)


def check_references(clauses: Sequence[ConstraintClause], stream: StreamDef, env: Environment) -> None:
    """That what a stream's constraints refer to is there, with columns of fitting types."""
    for clause in clauses:
        with env.diagnostics.gathering():
            if isinstance(clause, ReferenceClause):
                _check_reference(clause, stream, env)
            elif isinstance(clause, PunctuatedClause) and clause.source is not None:
                source = _referred(clause.source, env)
                if not isinstance(source, StreamDef):
                    env.diagnostics.fail(
                        f"punctuations come from a stream, and {source.name} is none", None, clause.source
                    )
                _check_pairs(clause.columns, stream, clause.source_columns, source, env)


def spelled_as_declared(stream: StreamDef, catalog: Catalog) -> StreamDef:
    """The stream with constraints that spell what they refer to as it was declared."""
    return replace(stream, constraints=tuple(_spelled(constraint, catalog) for constraint in stream.constraints))


def _spelled(constraint: Constraint, catalog: Catalog) -> Constraint:
    match constraint:
        case Reference(parent=name, parent_columns=columns):
            parent, columns = _spellings(name, columns, catalog)
            return replace(constraint, parent=parent, parent_columns=columns)
        case Punctuated(source=str(name), source_columns=columns):
            source, columns = _spellings(name, columns, catalog)
            return replace(constraint, source=source, source_columns=columns)
    return constraint


def _spellings(name: str, columns: tuple[str, ...], catalog: Catalog) -> tuple[str, tuple[str, ...]]:
    definition = catalog.get(name)
    assert isinstance(definition, (StreamDef, TableDef))
    declared = {attribute.name.lower(): attribute.name for attribute in definition.attributes}
    return definition.name, tuple(declared[column.lower()] for column in columns)


def _check_reference(clause: ReferenceClause, stream: StreamDef, env: Environment) -> None:
    parent = _referred(clause.parent, env)
    if clause.within is None and isinstance(parent, StreamDef):
        hint = "write WITHIN n ROWS, WITHIN t SECONDS, or INFERRED; WITHIN 0 ROWS if the parent always comes first"
        env.diagnostics.fail("FOREIGN KEY needs WITHIN or INFERRED", hint, clause.span)
    _check_pairs(clause.columns, stream, clause.parent_columns, parent, env)


def _referred(name: Name, env: Environment) -> StreamDef | TableDef:
    definition = env.catalog.get(name.text)
    if isinstance(definition, (StreamDef, TableDef)):
        return definition
    if name.text.lower() in env.broken:
        raise Consequence("", None, env.diagnostics.source, name.span)
    known = [d.name for d in env.catalog.definitions.values() if isinstance(d, (StreamDef, TableDef))]
    hint = did_you_mean(name.text, known) or "declare it with CREATE STREAM"
    env.diagnostics.fail(f"there is no stream {name.text}", hint, name)


def _check_pairs(
    columns: Names, stream: StreamDef, others: Names, other: StreamDef | TableDef, env: Environment
) -> None:
    for name, other_name in zip(columns, others, strict=True):
        mine = _attribute(name, stream.attributes, env.diagnostics)
        its = _attribute(other_name, other.attributes, env.diagnostics)
        if common_type(mine.type, its.type) is None:
            message = f"{mine.name} is {mine.type}, and {other.name}.{its.name} is {its.type}"
            env.diagnostics.fail(message, "declare both with one type", name)


def _attributes(elements: Sequence[ColumnDef | ConstraintClause], diagnostics: Diagnostics) -> tuple[Attribute, ...]:
    attributes: list[Attribute] = []
    for element in elements:
        if isinstance(element, ColumnDef):
            with diagnostics.gathering():
                if any(a.name.lower() == element.name.text.lower() for a in attributes):
                    diagnostics.fail(f"the column {element.name.text} is declared twice", None, element.name)
                attributes.append(Attribute(element.name.text, types.NULL, element.virtual))
                type_ = bind_type(element.type, diagnostics)
                attributes[-1] = replace(attributes[-1], type=type_)
    if not diagnostics.errors and all(attribute.virtual for attribute in attributes):
        diagnostics.fail("there is no column", "declare one: name TYPE", None)
    return tuple(attributes)


def _own_keys(elements: Sequence[ColumnDef | ConstraintClause]) -> list[ColumnDef]:
    """The columns that are declared as keys where they stand."""
    return [element for element in elements if isinstance(element, ColumnDef) and element.key]


def _not_null(elements: Sequence[ColumnDef | ConstraintClause], diagnostics: Diagnostics) -> tuple[NotNull, ...]:
    """What columns say of themselves, as one constraint."""
    columns = [element for element in elements if isinstance(element, ColumnDef)]
    declared = [element for element in columns if element.not_null or element.key == "PRIMARY KEY"]
    for element in declared:
        with diagnostics.gathering():
            if element.virtual:
                hint = "leave NOT NULL out"
                diagnostics.fail(f"{element.name.text} is virtual: no row has it, or lacks it", hint, element.span)
    return (NotNull(tuple(element.name.text for element in declared)),) if declared else ()


def _timestamp(statement: CreateStream, attributes: tuple[Attribute, ...], diagnostics: Diagnostics) -> str:
    if statement.timestamp is None:
        hint = "add TIMESTAMP BY column after the parenthesis"
        diagnostics.fail("a stream needs the column of its timestamps", hint, statement.name)
    attribute = _attribute(statement.timestamp, attributes, diagnostics)
    if attribute.type.kind not in (Kind.TIMESTAMP, Kind.DATE, Kind.BIGINT, Kind.NULL):
        hint = "declare it as TIMESTAMP or DATE, or as BIGINT if it counts microseconds or another unit"
        diagnostics.fail(f"{attribute.name} is {attribute.type}, and no timestamp", hint, statement.timestamp)
    if statement.unit is not None and attribute.type.kind in (Kind.TIMESTAMP, Kind.DATE):
        hint = "leave the unit out: it says what a BIGINT counts"
        diagnostics.fail(f"{attribute.name} is a {attribute.type}, which has no unit", hint, statement.unit[1])
    return attribute.name


def _bind_constraint(
    clause: ConstraintClause, attributes: tuple[Attribute, ...], diagnostics: Diagnostics, functions: Functions
) -> Constraint:
    def names(columns: Names) -> tuple[str, ...]:
        return _column_names(columns, attributes, diagnostics)

    on_violation = getattr(clause, "on_violation", None) or OnViolation.WARN
    match clause:
        case UniqueClause():
            return Unique(names(clause.columns))
        case NotNullClause():
            return NotNull(names(clause.columns))
        case ReferenceClause():
            parents = tuple(name.text for name in clause.parent_columns)
            within = clause.within or WithinRows(0)
            return Reference(names(clause.columns), clause.parent.text, parents, within, on_violation)
        case ClusteredClause():
            return Clustered(names(clause.columns), clause.within, on_violation)
        case OrderedClause():
            return Ordered(names((clause.column,))[0], clause.within, on_violation)
        case PunctuatedClause():
            when = _own_predicate(clause.when, attributes, diagnostics, functions) if clause.when else None
            source = clause.source.text if clause.source else None
            sources = tuple(name.text for name in clause.source_columns)
            return Punctuated(names(clause.columns), when, source, sources, clause.lifespan, on_violation)
        case RateClause():
            return Rated(clause.most, clause.least, clause.per)


def _column_names(columns: Names, attributes: tuple[Attribute, ...], diagnostics: Diagnostics) -> tuple[str, ...]:
    names: list[str] = []
    for column in columns:
        attribute = _attribute(column, attributes, diagnostics)
        if attribute.name in names:
            diagnostics.fail(f"{attribute.name} stands twice", None, column)
        names.append(attribute.name)
    return tuple(names)


def _attribute(name: Name, attributes: tuple[Attribute, ...], diagnostics: Diagnostics) -> Attribute:
    found = next((a for a in attributes if a.name.lower() == name.text.lower()), None)
    if found is None:
        known = [attribute.name for attribute in attributes]
        hint = did_you_mean(name.text, known) or f"columns are {listed(known)}"
        diagnostics.fail(f"there is no column {name.text}", hint, name)
    if found.virtual:
        diagnostics.fail(f"{found.name} is virtual: no row has it", "CREATE ASSERTION speaks of virtual columns", name)
    return found


def _own_predicate(
    tree: Tree, attributes: tuple[Attribute, ...], diagnostics: Diagnostics, functions: Functions
) -> Expr:
    """A predicate over a stream's own columns, whose scope is empty."""
    columns = tuple((a.name, Column("", a.name, a.type)) for a in attributes if not a.virtual)
    virtual = frozenset(a.name.lower() for a in attributes if a.virtual)
    callables = Callables(functions, _NO_FUNCTION_IN_CONSTRAINT)
    return bind_predicate(tree, Context(diagnostics, Scope([Item("", columns, virtual)]), callables=callables))


def _variables(variables: Sequence[VariableDef], scope: Scope, env: Environment) -> tuple[TupleVariable, ...]:
    bound: list[TupleVariable] = []
    for variable in variables:
        with env.diagnostics.gathering():
            stream = _referred(variable.stream, env)
            if not isinstance(stream, StreamDef):
                env.diagnostics.fail("an assertion is over streams", None, variable.stream)
            if scope.item(variable.name.text) is not None:
                hint = f"give each row a name: {stream.name} x, {stream.name} y"
                env.diagnostics.fail(f"{variable.name.text} stands twice", hint, variable.name)
            name = variable.name.text
            columns = tuple((a.name, Column(name, a.name, a.type)) for a in stream.attributes)
            scope.items.append(Item(name, columns))
            bound.append(TupleVariable(stream.name, name))
    return tuple(bound)


def _assertion_predicates(tree: Tree, scope: Scope, env: Environment) -> tuple[Expr, ...]:
    callables = Callables(env.catalog.functions, _NO_FUNCTION_IN_ASSERTION)
    context = Context(env.diagnostics, scope, _NO_AGGREGATE, _NO_SUBQUERY, callables=callables, clause="FOR")
    return conjuncts(bind_predicate(tree, context))

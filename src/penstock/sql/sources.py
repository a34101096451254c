"""What FROM reads: streams with their windows, and tables."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from penstock.algebra.expressions import Column
from penstock.algebra.relations import (
    PartitionRows,
    Range,
    Relation,
    Rows,
    Stream,
    Table,
    Unbounded,
    Window,
    WindowSpec,
)
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.sql.diagnostics import Diagnostics, did_you_mean, listed
from penstock.sql.dialect import INSTEAD_OF_WINDOW, StreamWindow
from penstock.sql.scope import Item
from penstock.sql.syntax import Tree


def bind_stream(
    definition: StreamDef, occurrence: str, qualifier: str, tree: exp.Table, diagnostics: Diagnostics
) -> tuple[Relation, Item]:
    """One occurrence of a stream, under its window."""
    item = _item(definition, occurrence, qualifier)
    schema = tuple(column for _, column in item.columns)
    (timestamp,) = item.named(definition.timestamp)
    stream = Stream(definition.name, occurrence, schema, timestamp, definition.unit)
    return Window(stream, _window(tree.args.get("window"), item, diagnostics)), item


def bind_table(
    definition: TableDef, occurrence: str, qualifier: str, tree: exp.Table, diagnostics: Diagnostics
) -> tuple[Relation, Item]:
    refuse_window(tree, f"{definition.name} is a table", diagnostics)
    item = _item(definition, occurrence, qualifier)
    return Table(definition.name, occurrence, tuple(column for _, column in item.columns)), item


def refuse_window(tree: Tree, because: str, diagnostics: Diagnostics) -> None:
    if window := tree.args.get("window"):
        diagnostics.fail(f"{because}, and has no window", INSTEAD_OF_WINDOW, window)


def unknown_source(tree: exp.Table, catalog: Catalog, others: list[str], diagnostics: Diagnostics) -> NoReturn:
    known = [*(definition.name for definition in catalog.definitions.values()), *others]
    hint = did_you_mean(tree.name, known)
    if hint is None:
        hint = f"there are {listed(known)}" if known else "declare it with CREATE STREAM"
    diagnostics.fail(f"there is no stream, table or view {tree.name}", hint, tree.this)


def _item(definition: StreamDef | TableDef, occurrence: str, qualifier: str) -> Item:
    attributes = definition.attributes
    columns = tuple((a.name, Column(occurrence, a.name, a.type)) for a in attributes if not a.virtual)
    virtual = frozenset(a.name.lower() for a in attributes if a.virtual)
    return Item(qualifier, columns, virtual, definition.left_out)


def _window(tree: StreamWindow | None, item: Item, diagnostics: Diagnostics) -> WindowSpec:
    kind = tree.args["kind"] if tree is not None else "UNBOUNDED"
    if tree is None or kind == "UNBOUNDED":
        return Unbounded()
    if kind == "RANGE":
        return Range(tree.args["size"], tree.args.get("slide"))
    by = tree.args.get("by")
    if not by:
        return Rows(tree.args["size"])
    return PartitionRows(tuple(_partition_column(name, item, diagnostics) for name in by), tree.args["size"])


def _partition_column(name: Tree, item: Item, diagnostics: Diagnostics) -> Column:
    found = item.named(name.name)
    if not found:
        names = [visible for visible, _ in item.columns]
        hint = did_you_mean(name.name, names) or f"columns are {listed(names)}"
        diagnostics.fail(f"there is no column {name.name} in {item.qualifier}", hint, name)
    return found[0]

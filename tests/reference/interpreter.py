"""The result of a query on given input: CQL's abstract semantics (thesis 2.1), one instant after the other.

R(-1) is empty. At each instant the relation's change is emitted as the query's root says: as a change log, or as the
stream that ISTREAM, DSTREAM or RSTREAM make of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.algebra.relations import (
    Aggregate,
    Project,
    Query,
    Relation,
    Repeat,
    Select,
    SetOp,
    StreamKind,
    Table,
    ToStream,
    Window,
    walk_relations,
)
from penstock.catalog import Attribute, Catalog, NotNull, StreamDef, TableDef
from tests.reference.closing import groups_closing
from tests.reference.instants import arrivals, instants, microsecond
from tests.reference.relations import Input, Inputs, relation_at
from tests.reference.scalar import evaluate, holds
from tests.reference.values import Bag, Row, canonical, minus, sort_key
from tests.reference.windows import Element

Data = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Change:
    ts: int
    op: str
    row: Row


def run(
    query: Query,
    catalog: Catalog,
    data: Data,
    horizon: int | None = None,
    every_instant: bool = False,
) -> list[Change]:
    """All that the query emits up to the horizon, by default the largest timestamp that its streams have.

    `data` holds the rows of each stream and table that the query reads, in arrival order, with one value per attribute
    that is not virtual. At one instant deletions come before insertions, and rows in order. With `every_instant` no
    instant is passed over: the same result, slower.
    """
    inputs, end = admit(query, catalog, data, horizon)
    if isinstance(query.root, ToStream) and query.root.kind is StreamKind.ON_CLOSE:
        return _closing(query, catalog, {**_others(catalog, data, horizon, end), **inputs}, end)
    at = range(end + 1) if every_instant else instants(query.relation, inputs, end)
    arrived = arrivals(query.relation, inputs)
    before: Bag = []
    changes: list[Change] = []
    for t in at:
        now = relation_at(query.relation, inputs, t)
        changes.extend(_emitted(query, t, before, now, t in arrived))
        before = now
    return changes


def _closing(query: Query, catalog: Catalog, inputs: Inputs, horizon: int) -> list[Change]:
    found = _closing_rows(query.relation, catalog, inputs, horizon)
    in_order = sorted(found, key=lambda one: (one[0], sort_key(one[1])))
    return [Change(t, "+", tuple(map(canonical, row))) for t, row in in_order]


def _closing_rows(relation: Relation, catalog: Catalog, inputs: Inputs, horizon: int) -> Iterator[tuple[int, Row]]:
    """Rows of groups when these close; of UNION ALL each side by itself, and rows without groups when they come."""
    above: list[Relation] = []
    while isinstance(relation, Select | Project) and any(isinstance(node, SetOp) for node in _top(relation)):
        above.append(relation)
        relation = relation.input
    if isinstance(relation, SetOp):
        for side in relation.inputs:
            for t, row in _closing_rows(side, catalog, inputs, horizon):
                rows = [row]
                for node in reversed(above):
                    rows = [shown for one in rows for shown in _shown(node, one)]
                yield from ((t, one) for one in rows)
    elif any(isinstance(node, Aggregate) for node in _top(relation)):
        yield from groups_closing(relation, catalog, inputs, horizon)
    else:
        before: Bag = []
        for t in instants(relation, inputs, horizon):
            now = relation_at(relation, inputs, t)
            yield from ((t, row) for row in minus(now, before))
            before = now


def _top(relation: Relation) -> Iterator[Relation]:
    """What stands below the conditions and lists of a relation."""
    while isinstance(relation, Select | Project | Repeat):
        relation = relation.input
    yield relation


def _shown(node: Relation, row: Row) -> list[Row]:
    assert isinstance(node, Select | Project)
    named = dict(zip(node.input.schema, row, strict=True))
    if isinstance(node, Select):
        return [row] if holds(node.predicates, named) else []
    return [tuple(evaluate(output.expr, named) for output in node.outputs)]


def _others(catalog: Catalog, data: Data, horizon: int | None, end: int) -> Inputs:
    """Streams that a query does not read, but their rows may close what it reads.

    Without a given horizon their rows past the last instant exist: they close nothing, but others may be late by them.
    """
    rows = {name.lower(): tuple(map(tuple, given)) for name, given in data.items()}
    others = {}
    for stream in (stream for stream in catalog.streams if stream.name.lower() in rows):
        on_time = _on_time(stream, _whole(stream, rows[stream.name.lower()]), horizon)
        elements = tuple(element for element in on_time if element.ts <= end)
        others[stream.name.lower()] = Input(_stored(stream.attributes), elements)
    return others


def snapshots(query: Query, catalog: Catalog, data: Data, horizon: int | None = None) -> dict[int, Bag]:
    """R(t) for every t from 0 to the horizon."""
    inputs, end = admit(query, catalog, data, horizon)
    return {t: relation_at(query.relation, inputs, t) for t in range(end + 1)}


def admit(query: Query, catalog: Catalog, data: Data, horizon: int | None) -> tuple[Inputs, int]:
    """The inputs of a query without what is late or beyond the horizon, and the horizon."""
    rows = {name.lower(): tuple(map(tuple, given)) for name, given in data.items()}
    streams, tables = _read(query, catalog)
    rows |= {stream.name.lower(): _whole(stream, rows[stream.name.lower()]) for stream in streams}
    if horizon is None:
        horizon = max((_ts(stream, row) for stream in streams for row in rows[stream.name.lower()]), default=0)
    inputs = {
        stream.name.lower(): Input(_stored(stream.attributes), _on_time(stream, rows[stream.name.lower()], horizon))
        for stream in streams
    }
    for table in tables:
        elements = tuple(Element(0, i, row) for i, row in enumerate(rows[table.name.lower()]))
        inputs[table.name.lower()] = Input(_stored(table.attributes), elements)
    return inputs, horizon


def _whole(stream: StreamDef, rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows that have a value in each column that is NOT NULL."""
    names = [attribute.name.lower() for attribute in _stored(stream.attributes)]
    declared = [constraint.columns for constraint in stream.constraints if isinstance(constraint, NotNull)]
    places = [names.index(name.lower()) for columns in declared for name in columns]
    return tuple(row for row in rows if all(row[place] is not None for place in places))


def late_rows(stream: StreamDef, rows: Sequence[Row], horizon: int | None = None) -> int:
    """How many rows are left out because they come later than the stream's delay allows."""
    existing = [row for row in rows if horizon is None or _ts(stream, row) <= horizon]
    return len(existing) - len(_on_time(stream, existing, horizon))


def _on_time(stream: StreamDef, rows: Sequence[Row], horizon: int | None) -> tuple[Element, ...]:
    """The rows that exist and are not late: none before a row is larger than its timestamp and the delay."""
    kept: list[Element] = []
    largest = 0
    for arrival, row in enumerate(rows):
        ts = _ts(stream, row)
        if horizon is not None and ts > horizon:
            continue
        if ts + stream.delay >= largest:
            kept.append(Element(ts, arrival, row))
        largest = max(largest, ts)
    return tuple(sorted(kept, key=lambda element: (element.ts, element.arrival)))


def _ts(stream: StreamDef, row: Row) -> int:
    names = [attribute.name for attribute in _stored(stream.attributes)]
    if len(row) != len(names):
        raise ValueError(f"a row of {stream.name} has {len(names)} values, not {len(row)}: {row!r}")
    ts = row[names.index(stream.timestamp)]
    if not isinstance(ts, int) or ts < 0:
        raise ValueError(f"time of a row of {stream.name} is {ts!r}: it has to be 0 or later: {row!r}")
    return microsecond(ts, stream.unit.name)


def _stored(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(attribute for attribute in attributes if not attribute.virtual)


def _read(query: Query, catalog: Catalog) -> tuple[list[StreamDef], list[TableDef]]:
    """The streams and tables that a query reads, each once."""
    streams: dict[str, StreamDef] = {}
    tables: dict[str, TableDef] = {}
    for node in walk_relations(query.relation):
        if isinstance(node, Window):
            stream = catalog.get(node.stream.name)
            assert isinstance(stream, StreamDef)
            streams[stream.name] = stream
        elif isinstance(node, Table):
            table = catalog.get(node.name)
            assert isinstance(table, TableDef)
            tables[table.name] = table
    return list(streams.values()), list(tables.values())


def _emitted(query: Query, t: int, before: Bag, now: Bag, arrived: bool) -> Iterator[Change]:
    inserted, deleted = minus(now, before), minus(before, now)
    kind = query.root.kind if isinstance(query.root, ToStream) else None
    match kind:
        case None:
            yield from _changes(t, "-", deleted)
            yield from _changes(t, "+", inserted)
        case StreamKind.ISTREAM:
            yield from _changes(t, "+", inserted)
        case StreamKind.DSTREAM:
            yield from _changes(t, "+", deleted)
        case StreamKind.RSTREAM:
            if arrived or inserted or deleted:
                yield from _changes(t, "+", now)


def _changes(t: int, op: str, rows: Bag) -> Iterator[Change]:
    for row in sorted(rows, key=sort_key):
        yield Change(t, op, tuple(map(canonical, row)))

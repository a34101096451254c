"""Small random data for declared streams and tables: few values, so that rows meet, and NULLs among them."""

from __future__ import annotations

from random import Random

from penstock.catalog import Attribute, Catalog, StreamDef, TableDef
from penstock.types import DAY, SECOND, Kind
from tests.reference.values import Row, Value

_VALUES: dict[Kind, tuple[Value, ...]] = {
    Kind.BIGINT: (0, 1, 2, 3),
    Kind.INT: (0, 1, 2, 3),
    Kind.DOUBLE: (-0.0, 0.0, 1.5, float("nan")),
    Kind.STRING: ("a", "ab", ""),
    Kind.BOOLEAN: (True, False),
    Kind.TIMESTAMP: (0, SECOND, 7 * SECOND, DAY),
}


def random_data(catalog: Catalog, random: Random, rows: int = 5) -> dict[str, list[Row]]:
    data = {table.name: [_row(table, random) for _ in range(rows)] for table in catalog.tables}
    for stream in catalog.streams:
        times = sorted(random.choices(range(0, 10 * SECOND, SECOND), k=rows))
        data[stream.name] = [_row(stream, random, ts) for ts in times]
    return data


def _row(definition: StreamDef | TableDef, random: Random, ts: int | None = None) -> Row:
    time = definition.timestamp if isinstance(definition, StreamDef) else None
    own = [attribute for attribute in definition.attributes if not attribute.virtual]
    return tuple(ts if attribute.name == time else _value(attribute, random) for attribute in own)


def _value(attribute: Attribute, random: Random) -> Value:
    return None if random.random() < 0.15 else random.choice(_VALUES[attribute.type.kind])

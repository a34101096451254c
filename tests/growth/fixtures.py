"""The queries of golden files, rewrite fixtures, examples and docs, and data that keeps what their streams declare.

Every stream has a row or two per epoch, and all constrained columns of epoch e hold e: then clusters and orders are
strict, what is referred to comes before what refers to it, and a value is closed at the end of its epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from penstock.algebra.expressions import And, Column, Comparator, Compare, Expr, Literal, walk
from penstock.algebra.relations import PartitionRows, Rows, Window, walk_relations
from penstock.catalog import (
    Attribute,
    Catalog,
    Clustered,
    Inferred,
    NotNull,
    Ordered,
    Punctuated,
    Rated,
    Reference,
    StreamDef,
    TableDef,
    Unique,
    WithinRows,
)
from penstock.sql import Script, bind_text
from penstock.types import Kind
from tests.algebra.cases import read_cases
from tests.docs.test_documents import DOCUMENTS, blocks, split
from tests.profiling.definitions import holds
from tests.register.golden import cases

ROOT = Path(__file__).parents[2]
UNITS = {"MICROSECOND": 1, "MILLISECOND": 10**3, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}
UNITS["DAY"] = 24 * UNITS["HOUR"]
#: The epochs of a query that has no window and no range of time.
LONG = UNITS["HOUR"] // 6
#: A window of more rows is not full before N.
MOST_ROWS = 100

Row = tuple[Any, ...]
Data = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Fixture:
    """A query of a file, by its name or number there."""

    name: str
    text: str
    query: str

    @property
    def script(self) -> Script:
        """All declarations, and this query alone."""
        script = bind_text(self.text)
        (query,) = (each for each in script.queries if each.name == self.query)
        return replace(script, queries=(query,))


def fixtures() -> Iterator[Fixture]:
    for case in cases():
        yield Fixture(case.id, f"{case.declarations}\nCREATE QUERY q AS {case.sql};", "q")
    for path in sorted((ROOT / "tests/fixtures/rewrites").glob("*.sql")):
        file = read_cases(path)
        for one in file.cases:
            sql = one.sql.strip().rstrip(";")
            yield Fixture(f"{path.stem}: {one.title}", f"{file.declarations}\nCREATE QUERY q AS {sql};", "q")
    for path in sorted((ROOT / "examples").glob("*.sql")):
        yield from _of_file(path.stem, path.read_text())
    for path in DOCUMENTS:
        yield from _of_document(path)


def _of_file(name: str, text: str) -> Iterator[Fixture]:
    script = bind_text(text)
    if not script.errors:
        for query in script.queries:
            yield Fixture(f"{name}: {query.name}", text, query.name)


def _of_document(path: Path) -> Iterator[Fixture]:
    """The queries of a document, each with what it declared so far."""
    declared: dict[str, str] = {}
    for block in blocks(path.read_text()):
        if block.language == "sql" and not block.refused:
            new, queries = split(block.text)
            declared |= new
            for number, query in enumerate(queries):
                text = "\n;\n".join([*declared.values(), query])
                yield from _of_file(f"{path.stem}:{block.line}.{number}", text)


class NoData(Exception):
    """No data can be made that keeps what is declared, or too little would come of it."""


def fixture_data(script: Script, epochs: int) -> tuple[int, Data]:
    """The length of an epoch, and the rows of all streams, in the order of their arrival."""
    epoch = _epoch(script)
    maker = _Maker(script.source.text, script.catalog, epoch)
    data = {stream.name: maker.rows(stream, epochs) for stream in script.catalog.streams}
    _check(script.catalog, {name: rows[:40] for name, rows in data.items()})
    return epoch, data


def table_data(definition: TableDef) -> list[Row]:
    random = Random(definition.name)
    return [tuple(_plain(random, a, number) for a in definition.attributes) for number in range(4)]


def _epoch(script: Script) -> int:
    """An eighth of the longest time that is written anywhere."""
    windows = [node.spec for node in walk_relations(script.queries[0].relation) if isinstance(node, Window)]
    if any(isinstance(spec, Rows | PartitionRows) and spec.count > MOST_ROWS for spec in windows):
        raise NoData("a window of so many rows is not full before N")
    within = [getattr(each, "within", None) for stream in script.catalog.streams for each in stream.constraints]
    if any(isinstance(each, WithinRows) and each.k > MOST_ROWS // 2 for each in within):
        raise NoData("so many rows do not come before N")
    written = re.findall(rf"\b(\d*)[ '(]+({'|'.join(UNITS)})S?\b", script.source.text.upper())
    times = [int(count or 1) * UNITS[unit] for count, unit in written]
    return max(1000, max(times) // 8) if times else LONG


@dataclass(frozen=True, slots=True)
class _Maker:
    text: str
    catalog: Catalog
    epoch: int

    def rows(self, stream: StreamDef, epochs: int) -> list[Row]:
        random = Random(stream.name)
        keys = _constrained(self.catalog, stream)
        closes = _closing(stream)
        one = any(isinstance(each, Unique) for each in stream.constraints)
        found = []
        for number in range(epochs):
            start = number * self.epoch + self._offset(stream)
            if not (one and closes):
                for place in range(1 if one else 2):
                    found.append(self._row(random, stream, keys, closes, number, start + place, False))
            if closes:
                found.append(self._row(random, stream, keys, closes, number, start + self.epoch // 3, True))
        return found

    def _offset(self, stream: StreamDef) -> int:
        """What is referred to comes first, and whose rows are punctuations of others last."""
        constraints = [each for other in self.catalog.streams for each in other.constraints]
        if any(isinstance(each, Punctuated) and each.source == stream.name for each in constraints):
            return self.epoch * 3 // 4
        if any(isinstance(each, Reference) and each.parent == stream.name for each in constraints):
            return 0
        return self.epoch // 4

    def _row(
        self,
        random: Random,
        stream: StreamDef,
        keys: set[str],
        closes: Mapping[str, Any],
        number: int,
        ts: int,
        closing: bool,
    ) -> Row:
        values = []
        for attribute in stream.attributes:
            if attribute.virtual:
                continue
            if attribute.name == stream.timestamp:
                values.append(ts)
            elif attribute.name in closes:
                values.append(closes[attribute.name] if closing else _other(attribute))
            elif attribute.name in keys:
                values.append(_key(attribute, number, ts))
            else:
                values.append(self._free(random, attribute, number))
        return tuple(values)

    def _free(self, random: Random, attribute: Attribute, number: int) -> Any:
        """A value of a column of which nothing is declared: one that the query names, one that is new, or NULL."""
        if random.random() < 0.1:
            return None
        if attribute.type.kind is Kind.STRING:
            return random.choice([*re.findall(r"'([^'%]*)'", self.text), f"v{number}"])
        if attribute.type.kind in (Kind.BIGINT, Kind.INT):
            named = [int(each) for each in re.findall(r"\b\d{1,6}\b", self.text)]
            return random.choice([number, number, *named, *(each + 1 for each in named)])
        return _plain(random, attribute, number)


def _constrained(catalog: Catalog, stream: StreamDef) -> set[str]:
    """The columns that declarations speak of."""
    found: set[str] = set()
    for other in catalog.streams:
        for each in other.constraints:
            if isinstance(each, Reference) and each.parent == stream.name:
                found |= set(each.parent_columns)
            if isinstance(each, Punctuated) and each.source == stream.name:
                found |= set(each.source_columns)
            if other is stream:
                found |= {each.column} if isinstance(each, Ordered) else set(getattr(each, "columns", ()))
    return found


def _closing(stream: StreamDef) -> dict[str, Any]:
    """The values that make a row a punctuation."""
    found: dict[str, Any] = {}
    for each in stream.constraints:
        if isinstance(each, Punctuated) and each.when is not None:
            for test in each.when.args if isinstance(each.when, And) else (each.when,):
                column, value = _equality(test)
                found[column] = value
    return found


def _equality(test: Expr) -> tuple[str, Any]:
    if isinstance(test, Compare) and test.op is Comparator.EQ:
        columns = [part.name for part in walk(test) if isinstance(part, Column)]
        literals = [part.value for part in walk(test) if isinstance(part, Literal)]
        if len(columns) == len(literals) == 1:
            return columns[0], literals[0]
    raise NoData(f"which rows are punctuations: {test}")


def _other(attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.STRING:
            return "other"
        case Kind.BOOLEAN:
            return False
    return 0


def _key(attribute: Attribute, number: int, ts: int) -> Any:
    match attribute.type.kind:
        case Kind.STRING:
            return f"key{number:06d}"
        case Kind.BIGINT | Kind.INT:
            return number
        case Kind.TIMESTAMP:
            return ts
        case Kind.DOUBLE:
            return float(number)
    raise NoData(f"a key of type {attribute.type}")


def _plain(random: Random, attribute: Attribute, number: int) -> Any:
    match attribute.type.kind:
        case Kind.STRING:
            return f"v{number}"
        case Kind.BINARY:
            return b"v%d" % number
        case Kind.BOOLEAN:
            return random.random() < 0.5
        case Kind.DOUBLE:
            return random.randrange(100) / 4
        case Kind.DECIMAL:
            return Decimal(random.randrange(100)).scaleb(-(attribute.type.scale or 0))
    return number


def _check(catalog: Catalog, data: Data) -> None:
    streams = {stream.name: [_named(stream, row) for row in data[stream.name]] for stream in catalog.streams}
    for stream in catalog.streams:
        for each in stream.constraints:
            if isinstance(each, Punctuated | Rated | NotNull) or isinstance(getattr(each, "within", None), Inferred):
                continue
            if isinstance(each, Reference) and (each.parent not in streams or len(each.columns) > 1):
                continue
            assert isinstance(each, Unique | Clustered | Ordered | Reference)
            if not holds(each, stream.name, streams):
                raise NoData(f"{stream.name}: {each} does not hold")


def _named(stream: StreamDef, row: Row) -> tuple[int, dict[str, Any]]:
    values = dict(zip((a.name for a in stream.attributes if not a.virtual), row, strict=True))
    return values[stream.timestamp], values

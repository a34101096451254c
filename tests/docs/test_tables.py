"""The tables of the documentation are true: values of expressions, and the worked examples of semantics.md."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from tests.reference.files import from_text, to_text
from tests.reference.interpreter import late_rows, run, snapshots
from tests.reference.values import Row, Value

from penstock.algebra.expressions import can_cast
from penstock.algebra.functions import FUNCTIONS
from penstock.algebra.relations import Query
from penstock.catalog import Catalog, StreamDef
from penstock.sql import bind_text
from penstock.sql.calls import _FUNCTION_ALIASES, _SPECIAL_FUNCTIONS, AGGREGATES
from penstock.types import Kind, Type, decimal

DOCS = Path(__file__).parents[2] / "docs"
SEMANTICS = DOCS / "semantics.md"


@dataclass(frozen=True, slots=True)
class Table:
    path: Path
    line: int
    header: tuple[str, ...]
    rows: tuple[dict[str, str], ...]


def tables(path: Path) -> Iterator[Table]:
    text = path.read_text()
    for match in re.finditer(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        lines = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in match.group().splitlines()]
        header, body = tuple(lines[0]), lines[2:]
        rows = tuple(dict(zip(header, cells, strict=True)) for cells in body)
        yield Table(path, text.count("\n", 0, match.start()) + 1, header, rows)


def examples() -> Iterator[tuple[str, str]]:
    for path in sorted(DOCS.rglob("*.md")):
        for table in tables(path):
            if "example" in table.header and "gives" in table.header:
                yield from ((row["example"].strip("`").replace("\\|", "|"), row["gives"]) for row in table.rows)


@pytest.mark.parametrize(("expression", "expected"), list(examples()))
def test_an_example_gives_what_its_table_says(expression: str, expected: str) -> None:
    script = bind_text(f"CREATE TABLE one (only INT); SELECT {expression} AS value FROM one").checked()
    (change,) = run(script.queries[0], script.catalog, {"one": [(1,)]})
    assert shown(change.row[0], script.queries[0].schema[0].type) == expected.strip("`")


def shown(value: Value, type_: Type) -> str:
    if value is None:
        return "NULL"
    match type_.kind:
        case Kind.STRING:
            return f"'{value}'"
        case Kind.BINARY:
            assert isinstance(value, bytes)
            return f"X'{value.hex().upper()}'"
    return to_text(value, type_)


def test_every_function_has_a_row_with_its_usage() -> None:
    page = DOCS / "types-and-functions.md"
    named = {row[name] for table in tables(page) for name in table.header[:1] for row in table.rows}
    usages = {f"`{function.usage}`" for function in FUNCTIONS.values()}
    assert usages - named == set()


def test_every_other_name_of_a_function_is_there() -> None:
    text = (DOCS / "types-and-functions.md").read_text()
    names = [*_FUNCTION_ALIASES, *_SPECIAL_FUNCTIONS, *AGGREGATES]
    assert [name for name in names if not re.search(rf"`{name}\b", text)] == []


def test_the_casts_are_those_of_the_table() -> None:
    (table,) = (table for table in tables(DOCS / "types-and-functions.md") if table.header[0] == "from \\ to")
    for row in table.rows:
        for source, target in product(row[table.header[0]].split(", "), table.header[1:]):
            casts = {can_cast(a, b) for a in types_named(source) for b in types_named(target)}
            assert casts == {row[target] == "yes"}, f"{source} to {target}"


def types_named(names: str) -> list[Type]:
    return [decimal(4, 2) if name == "DECIMAL" else Type(Kind[name]) for name in names.split(", ")]


def test_every_function_is_called_in_an_example() -> None:
    called = {name for expression, _ in examples() for name in re.findall(r"(\w+)\(", expression)}
    assert set(FUNCTIONS) - called == set()


@pytest.fixture(scope="module")
def page() -> list[Table]:
    return list(tables(SEMANTICS))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    (declaration,) = re.findall(r"CREATE STREAM .*;", SEMANTICS.read_text())
    return bind_text(declaration).checked().catalog


@pytest.fixture(scope="module")
def rows(catalog: Catalog) -> list[Row]:
    (block,) = re.findall(r'```csv title="s.csv"\n(.*?)```', SEMANTICS.read_text(), flags=re.DOTALL)
    stream = catalog.streams[0]
    return [
        tuple(from_text(fields[attribute.name], attribute.type) for attribute in stream.attributes)
        for fields in csv.DictReader(block.splitlines())
    ]


def test_windows_hold_what_the_table_says(page: list[Table], catalog: Catalog, rows: list[Row]) -> None:
    (table,) = (table for table in page if "`[NOW]`" in table.header)
    for window in table.header[1:]:
        query = bind_text(f"SELECT v FROM s {window.strip('`')}", catalog=catalog).checked().queries[0]
        held = snapshots(query, catalog, {"s": rows}, horizon=len(table.rows) - 1)
        expected = {int(row["t"]): row[window].split() for row in table.rows}
        assert {t: sorted(str(v) for (v,) in bag) for t, bag in held.items()} == expected, window


def test_outputs_are_what_the_table_says(page: list[Table], catalog: Catalog, rows: list[Row]) -> None:
    (table,) = (table for table in page if "ISTREAM" in table.header)
    (text,) = re.findall(r"SELECT k, COUNT.*;", SEMANTICS.read_text())
    horizon = max(int(row["t"]) for row in table.rows)

    def query(operator: str) -> Query:
        return bind_text(text.replace("SELECT", f"SELECT {operator}"), catalog=catalog).checked().queries[0]

    held = snapshots(query(""), catalog, {"s": rows}, horizon)
    for row in table.rows:
        assert sorted(map(spaced, held[int(row["t"])])) == parts(row["R(t)"])
    for column, operator in {
        "change log": "",
        "ISTREAM": "ISTREAM",
        "DSTREAM": "DSTREAM",
        "RSTREAM": "RSTREAM",
    }.items():
        emitted: dict[int, list[str]] = {}
        for change in run(query(operator), catalog, {"s": rows}, horizon):
            sign = "" if operator else f"{change.op} "
            emitted.setdefault(change.ts, []).append(f"{sign}{spaced(change.row)}")
        assert emitted == {int(row["t"]): parts(row[column]) for row in table.rows if row[column]}, column


def test_late_rows_are_those_of_the_table(page: list[Table]) -> None:
    (table,) = (table for table in page if "arrival" in table.header)
    declaration = "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts DELAY 2 MICROSECONDS"
    stream = bind_text(declaration).checked().catalog.get("s")
    assert isinstance(stream, StreamDef)
    arrived: list[Row] = []
    for row in table.rows:
        before = late_rows(stream, arrived)
        arrived.append((int(row["timestamp"]),))
        assert (late_rows(stream, arrived) > before) == (row["late"] == "yes")
        assert max(ts for (ts,) in arrived if isinstance(ts, int)) == int(row["largest so far"])


def spaced(row: Row) -> str:
    return " ".join(map(str, row))


def parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";")] if cell else []

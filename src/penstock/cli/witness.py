"""`penstock check --witness N`: the streams that defeat every plan of an unsafe query, as csv files in this folder."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from penstock.algebra.expressions import Literal, Value
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import streams
from penstock.catalog import StreamDef
from penstock.cli.printing import say
from penstock.errors import PenstockError
from penstock.register import Verdict
from penstock.types import TIMESTAMP, Type


def write_witness(verdict: Verdict, size: int) -> list[Path]:
    """Writes a file for each stream of an unsafe query: `size` items, and then what makes each of them matter."""
    if verdict.witness is None:
        return []
    rows = verdict.witness.rows(size)
    written = []
    for name in dict.fromkeys(stream.name for stream in streams(verdict.query.relation)) if rows else ():
        definition = verdict.catalog.get(name)
        assert isinstance(definition, StreamDef)
        path = Path(f"{verdict.name}_{name}.csv")
        attributes = [attribute for attribute in definition.attributes if not attribute.virtual]
        own = [row.values for row in rows if row.stream == name]
        texts = [[_text(v, a.type) for v, a in zip(row, attributes, strict=True)] for row in own]
        _write(path, [attribute.name for attribute in attributes], texts)
        written.append(path)
    return written


def print_written(paths: list[Path]) -> None:
    if paths:
        say(f"wrote {', '.join(map(str, paths))}", sys.stderr)


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([header, *rows])
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}", "run it where files can be written") from error


def _text(value: Value, type_: Type) -> str:
    """Returns a value as csv has it; times as they are written in SQL."""
    if type_ == TIMESTAMP and isinstance(value, int):
        return expression_text(Literal(value, type_)).partition("'")[2].rstrip("'")
    if isinstance(value, bool):
        return str(value).lower()
    return "\\N" if value is None else str(value)

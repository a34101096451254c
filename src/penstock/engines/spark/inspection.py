"""Inspection of files: those that Spark would silently misread are refused.

Spark reads a column that a parquet file does not have as NULL, and takes a csv file that was cut off inside quotes for
one that ends there. Files on other file systems than this machine's cannot be inspected from Python.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.catalog import StreamDef, TableDef
from penstock.engines.blocks import Quoting, blocks
from penstock.engines.columns import spelled
from penstock.engines.spark.paths import local_path
from penstock.errors import PenstockError


def inspect(file: str, definition: StreamDef | TableDef) -> None:
    """Inspects a file of a declared source; `name` is Spark's URI."""
    path = local_path(file)
    if path is None or definition.connector is None:
        return
    options = {name.lower(): value for name, value in definition.connector.options}
    match definition.connector.format.lower():
        case "parquet":
            _inspect_parquet(path, definition)
        case "csv" if options.get("multiline", "true").lower() == "true" and options.get("quote", '"'):
            quoting = Quoting(
                options.get("sep", options.get("delimiter", ",")).encode()[:1], options.get("quote", '"').encode()[:1]
            )
            for _ in blocks(path, quoting):
                pass


def _inspect_parquet(path: Path, definition: StreamDef | TableDef) -> None:
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        hint = "it is not a parquet file, or it is cut off or damaged"
        raise PenstockError(f"{path}: it cannot be read as parquet: {error}", hint) from error
    spelled(names, [attribute for attribute in definition.attributes if not attribute.virtual], str(path))

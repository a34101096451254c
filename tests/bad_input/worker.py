"""A process that reads files, one per line of its input, and says of each what came of it.

The answer is a line of JSON with one of `rows`, `error` (a PenstockError) and `trace` (any other exception), and the
process's largest resident memory so far.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from typing import Any

import pyarrow as pa

from penstock.catalog import StreamDef
from penstock.engines.files import FileSource
from penstock.errors import PenstockError
from penstock.sql import bind_text

#: What a file may take beside what the process has when it starts.
ADDRESS_SPACE = 3 << 30


def declared(using: str, columns: str) -> StreamDef:
    definition = bind_text(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts USING {using}").checked().catalog.get("s")
    assert isinstance(definition, StreamDef)
    return definition


def read(using: str, columns: str) -> pa.Table:
    """All rows of a source, as Arrow columns whose times are integers."""
    definition = declared(using, columns)
    names = [attribute.name for attribute in definition.attributes if not attribute.virtual]
    table = pa.Table.from_batches(FileSource(definition).batches(names), _schema(definition))
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
        if pa.types.is_date(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int32()))
    return table


def _schema(definition: StreamDef) -> pa.Schema:
    from penstock.synopsis.codes import arrow_type

    return pa.schema([(a.name, arrow_type(a.type)) for a in definition.attributes if not a.virtual])


def answer(using: str, columns: str) -> dict[str, Any]:
    try:
        table = read(using, columns)
        rows = [str(tuple(row.values())) for row in table.to_pylist()]
        return {"rows": rows if len(rows) <= 10_000 else rows[:10_000], "count": len(rows)}
    except PenstockError as error:
        return {"error": error.message, "hint": error.hint}
    except Exception:
        return {"trace": traceback.format_exc()}


def main() -> None:
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, resource.RLIM_INFINITY))
    for line in sys.stdin:
        found = answer(*json.loads(line))
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

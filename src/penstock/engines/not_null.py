"""NOT NULL of tables: they are read as a whole before a query starts, so a NULL stops it with the row's number.

A row of a stream is judged when it arrives (`ingest`): there it is bad, left out and counted.
"""

from __future__ import annotations

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.catalog import TableDef
from penstock.errors import PenstockError


def without_nulls(definition: TableDef, contents: pa.Table) -> pa.Table:
    """The rows of a table, none of which has NULL in a column that is NOT NULL."""
    for name in contents.column_names:
        column = contents.column(name)
        if name.lower() in definition.not_null and column.null_count:
            row = pc.index(pc.is_null(column), True).as_py()
            message = f"the table {definition.name} has NULL in {name}, which is NOT NULL: row {row + 1}"
            raise PenstockError(message, "leave NOT NULL out of the declaration, or the row out of the data")
    return contents

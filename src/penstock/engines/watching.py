"""Queries over rows that this process makes itself as time passes, such as those of `sysstream`.

Rows are given as tuples with the instant of the wall clock at which they were made. All instants before the present are
closed, so that a query says at any time all that there is to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from penstock.algebra.relations import Query, streams
from penstock.catalog import Catalog, StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.files import FileSource
from penstock.engines.handed import Handed
from penstock.engines.planning import plan_of, read_by
from penstock.errors import PenstockError
from penstock.synopsis.codes import arrow_type


class Watch:
    """One query over a stream whose rows are given by the process."""

    def __init__(
        self, query: Query, catalog: Catalog, stream: StreamDef, handed: Mapping[str, Handed] | None = None
    ) -> None:
        refuse_other_streams(query, stream.name)
        self.query = query
        plan = plan_of(query, catalog)
        tables = read_by([plan], catalog)[1]
        contents = {
            t.name: handed[t.name].table(t, query.zone)
            if handed and t.name in handed
            else FileSource(t, query.zone).table()
            for t in tables
        }
        self._engine = EmbeddedEngine(query, catalog, contents, planned=plan)
        self._stream = stream.name
        #: The columns that it reads.
        names = self._engine.streams[stream.name].names if stream.name in self._engine.streams else []
        attributes = [attribute for attribute in stream.attributes if attribute.name in names]
        self._places = [stream.attributes.index(attribute) for attribute in attributes]
        self._schema = pa.schema([(attribute.name, arrow_type(attribute.type)) for attribute in attributes])

    def push(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Takes rows, which have all columns of the stream."""
        if not rows or not self._places:
            return
        arrays = [
            pa.array([row[place] for row in rows], field.type)
            for place, field in zip(self._places, self._schema, strict=True)
        ]
        self._engine.push(self._stream, pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def changes(self, now: int) -> Iterator[pa.Table]:
        """Yields the changes of the instants before the present."""
        return (block for block in self._engine.close_before(now) if block.num_rows)

    @property
    def pushed_rows(self) -> int:
        """Returns the rows that wait for the next step."""
        return self._engine.pushed_rows

    @property
    def state_bytes(self) -> int:
        """Returns the bytes of what it keeps."""
        return self._engine.state()[1]

    def close(self) -> None:
        self._engine.close()


def refuse_other_streams(query: Query, name: str) -> None:
    """Refuses a query that reads such a stream beside others: their times have nothing to do with each other."""
    others = sorted({stream.name for stream in streams(query.relation)} - {name})
    if others:
        message = f"{query.name} reads {name}, whose times are those of the wall clock, beside {', '.join(others)}"
        raise PenstockError(message, f"a query reads {name} alone, or with tables")

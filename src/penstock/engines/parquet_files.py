"""parquet files, as batches of Arrow columns of the declared types: a part of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.catalog import Attribute
from penstock.engines.columns import spelled, typed
from penstock.errors import PenstockError

OPTIONS = ()
BATCH_ROWS = 1 << 16


def read_parquet(
    file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    try:
        # Times of 96 bits would wrap in nanoseconds, and a page that has a checksum can be found to be damaged.
        with pq.ParquetFile(file, coerce_int96_timestamp_unit="us", page_checksum_verification=True) as content:
            names = spelled(content.schema_arrow.names, declared, str(file))
            columns = [names[attribute.name] for attribute in wanted]
            missing = content.metadata.num_rows
            for batch in content.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                missing -= batch.num_rows
                arrays = [typed(batch.column(names[a.name]), a, str(file)) for a in wanted]
                yield pa.RecordBatch.from_arrays(arrays, names=[a.name for a in wanted])
            if missing:
                said = content.metadata.num_rows
                raise pa.ArrowInvalid(f"its footer says {said} rows, and it has {said - missing}")
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        hint = "it is not a parquet file, or it is cut off or damaged"
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PenstockError(f"{file}: it cannot be read as parquet: {reason}", hint) from error

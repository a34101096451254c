"""parquet files, as batches of Arrow columns of the declared types: a part of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from penstock.catalog import Attribute
from penstock.engines.columns import spelled, typed
from penstock.engines.parquet_statistics import row_group_bounds
from penstock.engines.pruning import Pruning, marked
from penstock.errors import PenstockError

OPTIONS = ()
BATCH_ROWS = 1 << 16


#: Row groups of fewer rows are read whole: it costs more to cut batches there.
LEAST_PRUNED = 1 << 12


def read_parquet(
    file: Path, declared: list[Attribute], wanted: list[Attribute], options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    yield from read_pruned(file, declared, wanted, None)


def read_pruned(
    file: Path, declared: list[Attribute], wanted: list[Attribute], pruning: Pruning | None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows; batches of row groups that statistics rule out are marked, and have few columns."""
    try:
        # Times of 96 bits would wrap in nanoseconds, and a page that has a checksum can be found to be damaged.
        with pq.ParquetFile(file, coerce_int96_timestamp_unit="us", page_checksum_verification=True) as content:
            names = spelled(content.schema_arrow.names, declared, str(file))
            missing = content.metadata.num_rows
            for is_read, groups in _runs(content, names, wanted, pruning):
                some = wanted if is_read or pruning is None else [a for a in wanted if a.name in pruning.always]
                columns = [names[attribute.name] for attribute in some]
                for batch in content.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False):
                    missing -= batch.num_rows
                    arrays = [typed(batch.column(names[a.name]), a, str(file)) for a in some]
                    made = pa.RecordBatch.from_arrays(arrays, names=[a.name for a in some])
                    yield made if is_read else marked(made)
            if missing:
                said = content.metadata.num_rows
                raise pa.ArrowInvalid(f"its footer says {said} rows, and it has {said - missing}")
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        hint = "it is not a parquet file, or it is cut off or damaged"
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PenstockError(f"{file}: it cannot be read as parquet: {reason}", hint) from error


def _runs(
    content: Any, names: Mapping[str, str], wanted: list[Attribute], pruning: Pruning | None
) -> Iterator[tuple[bool, list[int]]]:
    """Yields runs of row groups that are read alike, in the order of the file, and whether they are read whole."""
    groups = range(content.metadata.num_row_groups)
    if pruning is None:
        yield True, list(groups)
        return
    tested = {names[attribute.name]: attribute for attribute in wanted if attribute.name in pruning.tested}

    def is_read(number: int) -> bool:
        group = content.metadata.row_group(number)
        if group.num_rows < LEAST_PRUNED:
            return True
        return pruning.may_read(row_group_bounds(group, content, tested))

    for verdict, run in groupby(groups, is_read):
        yield verdict, list(run)

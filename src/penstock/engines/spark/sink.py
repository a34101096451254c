"""Results: the packets that leave the last operator, as typed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from penstock.algebra.relations import Schema
from penstock.engines.results import result_table
from penstock.engines.spark.packing import opened
from penstock.engines.spark.types import result_type
from penstock.synopsis.dictionary import Dictionary


def unpacked(packets: DataFrame, schema: Schema) -> DataFrame:
    rows = packets.where("data IS NOT NULL").select("data")
    return rows.mapInArrow(_Unpack(schema), result_type(schema))


@dataclass(frozen=True)
class _Unpack:
    schema: Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                dictionary = Dictionary()
                deltas = opened(data.as_py(), [self.schema], dictionary).deltas
                assert deltas is not None
                yield from result_table(deltas, self.schema, dictionary).to_batches()

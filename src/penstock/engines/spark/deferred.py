"""The processor that Spark gets for an operator: a cell processor that is not unpickled before rows arrive.

When a query starts, Spark runs a Python process of its own for each operator, just to ask which state it will have. A
cell processor loads compiled kernels, so it stays pickled until it is needed, and this module imports nothing but
PySpark.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

#: As values: Spark parses the text of a schema anew for every task.
_HEAD = StructType([StructField("head", StringType())])
_NAME, _PAGE = StructType([StructField("name", StringType())]), StructType([StructField("page", BinaryType())])


def state_of(handle: StatefulProcessorHandle) -> tuple[Any, Any]:
    """Returns a cell's variables in Spark's state: its head, and the pages of its machine's memory."""
    return handle.getValueState("head", _HEAD), handle.getMapState("pages", _NAME, _PAGE)


class Deferred(StatefulProcessor):
    def __init__(self, processor: Any) -> None:
        self._pickled: bytes = cloudpickle.dumps(processor)  # type: ignore[no-untyped-call]

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = state_of(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        processor = _made(self._pickled)
        processor.attach(*self._state)
        yield from processor.handleInputRows(key, rows, timerValues)

    def close(self) -> None:
        pass


@lru_cache(maxsize=16)
def _made(pickled: bytes) -> Any:
    """Returns the processor, made once per worker. It keeps nothing between two calls but what it was made with."""
    return cloudpickle.loads(pickled)

"""Workers that die at a given moment of a given micro-batch, each once.

Spark's workers do not find this module, so what it defines travels whole.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from penstock.engines.spark import query, sink, source
from penstock.engines.spark.cell import CellProcessor

#: The moments in the life of a micro-batch at which a worker can die, in their order.
MOMENTS = (
    "a source has sent its rows",
    "a cell is about to step",
    "results are written",
    "a page of state is written",
    "all pages of state are written",
    "the new state is whole",
)

#: Those at which it can die where Spark writes the results, not the cells.
UNPACKING = ("some results are unpacked", "all results are unpacked")


@dataclass(frozen=True)
class Reaper:
    """Kills a worker at a moment of each micro-batch, as planned."""

    folder: str
    #: By micro-batch.
    plan: Mapping[int, str]

    def passing(self, moment: str) -> None:
        commits = f"{self.folder}/checkpoint/commits"
        batch = len([name for name in os.listdir(commits) if name.isdigit()]) if os.path.exists(commits) else 0
        if self.plan.get(batch) == moment:
            try:
                os.close(os.open(f"{self.folder}/killed-{batch}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    def killed(self) -> set[int]:
        """The micro-batches in which a worker was killed."""
        return {int(path.name.removeprefix("killed-")) for path in Path(self.folder).glob("killed-*")}


def set_out(reaper: Reaper, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on queries are started with workers that the reaper visits."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])

    class MortalCell(CellProcessor):
        def _try_step(self, mine: dict[int, list[bytes]]) -> Any:
            reaper.passing("a cell is about to step")
            _before(self._pages, "updateValue", lambda: reaper.passing("results are written"))
            _after(self._pages, "updateValue", lambda: reaper.passing("a page of state is written"))
            _before(self._head, "update", lambda: reaper.passing("all pages of state are written"))
            rows = super()._try_step(mine)
            reaper.passing("the new state is whole")
            return rows

    class MortalSource(source._PackStream):
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from super().__call__(batches)
            reaper.passing("a source has sent its rows")

    class MortalReader(source._PackFiles):
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from super().__call__(batches)
            reaper.passing("a source has sent its rows")

    class MortalUnpack(sink._Unpack):
        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in super().__call__(batches):
                yield rows.slice(0, 1)
                reaper.passing(UNPACKING[0])
                yield rows.slice(1)
                reaper.passing(UNPACKING[1])

    monkeypatch.setattr(sink, "_Unpack", MortalUnpack)
    monkeypatch.setattr(query, "CellProcessor", MortalCell)
    monkeypatch.setattr(source, "_PackStream", MortalSource)
    monkeypatch.setattr(source, "_PackFiles", MortalReader)


def _after(state: Any, method: str, then: Any) -> None:
    call = getattr(state, method)

    def called(*arguments: Any) -> None:
        call(*arguments)
        then()

    setattr(state, method, called)


def _before(state: Any, method: str, first: Any) -> None:
    call = getattr(state, method)

    def called(*arguments: Any) -> None:
        first()
        call(*arguments)

    setattr(state, method, called)

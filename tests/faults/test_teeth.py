"""The simulation finds what it is there to find: faults that the engine once had are put back, and it notices them."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark import cell, state_recovery
from penstock.engines.spark.cell import CellProcessor, CellRow, CellStep, page_name
from penstock.engines.spark.state_directory import StateDirectory
from tests.faults.examples import simulated
from tests.faults.failing import Kind
from tests.faults.simulating import Simulation
from tests.faults.test_every_operation import NEVER

NOTICED = "the results are not those of an undisturbed run"


def stepped_page_by_page(processor: CellProcessor, mine: dict[int, list[bytes]]) -> list[CellRow]:
    """A step that writes pages as it finds them, and steps again in the same task when there is no space."""
    ((address, packets),) = mine.items()
    try:
        return _stepped(processor, address, packets)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    StateDirectory(processor._work.run).mark_full()
    return _stepped(processor, address, packets)


def _stepped(processor: CellProcessor, address: int, mine: list[bytes]) -> list[CellRow]:
    work, head = processor._work, processor._saved_heads().get(str(address))
    live = state_recovery.take(work, address, head["token"] if head else None, processor._saved_pages(address))
    step = CellStep(work, address, live, head)
    rows = list(step.run(mine))
    for name, page in live.changes():
        processor._pages.updateValue((page_name(address, name),), (page,))
    token = state_recovery.keep(work, address, live)
    heads = {str(address): {"token": token, **step.saved()}}
    processor._head.update((json.dumps({"fingerprint": work.fingerprint, "cells": heads}),))
    return rows


def test_a_step_that_is_tried_again_after_it_wrote_pages_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(CellProcessor, "_try_step", stepped_page_by_page)
    simulation, example = Simulation(monkeypatch, tmp_path), simulated("last rows", 1)
    names = simulation.run(example, [Kind.NO_SPACE], NEVER).names
    # When all pages are written, and the machine is to be given back.
    moments = [n for n, name in enumerate(names) if (names[n - 1], name) == ("updateValue", "rename")]
    assert moments
    for first in moments:
        with pytest.raises(AssertionError, match=NOTICED):
            simulation.run(example, [Kind.NO_SPACE], first)


def results_that_stay(results: Iterable[pa.Table], schema: pa.Schema, folder: str, name: str) -> bytes:
    """Results under their final name, unless a file of that name is there."""
    drafts = Path(folder) / ".drafts"
    os.makedirs(drafts, exist_ok=True)
    path = Path(folder) / f"part-{name}.snappy.parquet"
    if not path.exists():
        pq.write_table(pa.concat_tables([schema.empty_table(), *results]), path)
    described: dict[str, Any] = {"name": name, "draft": f"../{path.name}", "size": path.stat().st_size, "modified": 0}
    return json.dumps(described).encode()


def test_results_of_a_failed_attempt_that_stay_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cell, "write_results", results_that_stay)
    with pytest.raises(AssertionError, match=NOTICED):
        Simulation(monkeypatch, tmp_path).run(simulated("strict", 2), [Kind.EXCEPTION], NEVER)

"""Every operation of a run fails once: whatever fails, the results are right, each is there once, and nothing is left.

A run is disturbed twice or more, so far apart that what was disturbed can recover. By default each operation of a run
in one cell fails, one after the other in another way (of the longest runs each third), and some of those in several
cells. With the slow tests each fails in each way in one cell, and each in some way in two and three.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engines.spark.state_directory import _place
from tests.faults.examples import simulated
from tests.faults.failing import Kind
from tests.faults.simulating import Simulation

KINDS = list(Kind)
NEVER = 1 << 60

ALL = ("join", "last rows", "panes", "nothing matches", "spill", "strict", "counted")

#: The examples, in how many cells, and every how manyth of their operations fails.
QUICK = [
    *((name, 1, 3 if name in ("nothing matches", "counted") else 1) for name in ALL),
    ("join", 3, 31),
    ("strict", 2, 13),
    ("spill", 3, 41),
]


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulation]:
    """In shared memory, if there is any: a run makes hundreds of files."""
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=_place()) as folder:
        yield Simulation(monkeypatch, Path(folder))
        monkeypatch.undo()


def kinds_from(first: int) -> list[Kind]:
    """The kinds, in an order that begins with another one for each operation."""
    return KINDS[first % len(KINDS) :] + KINDS[: first % len(KINDS)]


@pytest.mark.parametrize(("name", "cells", "every"), QUICK)
def test_whatever_operation_fails_the_results_are_right(
    simulation: Simulation, name: str, cells: int, every: int
) -> None:
    example = simulated(name, cells)
    operations = len(simulation.run(example, KINDS, NEVER).names)
    stride = operations // 2
    for first in range(0, stride, every):
        simulation.run(example, kinds_from(first // every), first, stride, seed=first)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("name", ALL)
def test_whatever_operation_fails_in_any_way_the_results_are_right(
    simulation: Simulation, name: str, cells: int
) -> None:
    example = simulated(name, cells)
    stride = len(simulation.run(example, KINDS, NEVER).names) // 2
    for first in range(stride):
        for turn in range(len(KINDS)) if cells == 1 else (first,):
            simulation.run(example, kinds_from(turn), first, stride, seed=first)


@pytest.mark.parametrize("name", ALL)
def test_rows_may_come_in_any_order_and_tasks_on_any_worker(simulation: Simulation, name: str) -> None:
    for seed in range(5):
        simulation.run(simulated(name, 1 + seed % 3), KINDS, NEVER, seed=seed)


def test_the_driver_may_die_again_and_again(simulation: Simulation) -> None:
    """Each time when it has committed the state or the results of a micro-batch, or is about to."""
    example = simulated("strict", 2)
    names = simulation.run(example, KINDS, NEVER).names
    for moment in ("the state is committed", "replace", "add to the log", "the results are committed"):
        times = [number for number, name in enumerate(names) if name == moment]
        assert times, moment
        for first in times:
            assert simulation.run(example, [Kind.DEATH], first).failed == [f"{first}, {moment}: death"]

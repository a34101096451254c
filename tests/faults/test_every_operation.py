"""Every operation of a run fails once: whatever fails, the results are right, each is there once, and nothing is left.

A run is disturbed several times, so far apart that what was disturbed can recover. With the slow tests each operation
of a run fails in each way in which it can, in one, two and three cells. By default some of them fail, one after the
other in another way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engines.spark.residence import _place
from tests.faults.examples import simulated
from tests.faults.failing import Kind
from tests.faults.simulating import Simulation

KINDS = list(Kind)
NEVER = 1 << 60

#: The examples, in how many cells, and every how manyth of their operations is tried.
QUICK = [
    ("join", 1, 3),
    ("last rows", 1, 2),
    ("panes", 1, 2),
    ("strict", 1, 3),
    ("spill", 1, 5),
    ("nothing matches", 1, 23),
    ("join", 3, 67),
    ("strict", 2, 29),
]
ALL = ("join", "last rows", "panes", "nothing matches", "spill", "strict")


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
        for turn in range(len(KINDS)):
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

"""The parts of the Spark engine, each by itself."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.expressions import Column
from penstock.engines import owners
from penstock.engines.lateness import NEVER, Progress
from penstock.engines.spark import state_directory, state_recovery
from penstock.engines.spark.addresses import OUT, Addresses, spark_hash
from penstock.engines.spark.clock import Clock
from penstock.engines.spark.lock import Lock
from penstock.engines.spark.packing import Segment, instants_packet, opened, rows_packets
from penstock.engines.spark.query import RunningQuery
from penstock.engines.spark.state_directory import StateDirectory, new_run
from penstock.engines.spark.work import make_work
from penstock.errors import PenstockError
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Memory
from penstock.types import BIGINT
from tests.engines.comparing import bound, expected
from tests.engines.spark.examples import example
from tests.engines.spark.pretending import pretended


def test_cells_of_a_level_fall_into_different_partitions() -> None:
    query, catalog = bound(example("join"))
    work = make_work(query, catalog, 4, None)
    addresses = work.addresses
    assert addresses.levels > 1
    for level in range(addresses.levels):
        keys = [addresses.key(a, level) for a, at in enumerate(addresses.level_of) if at == level]
        assert len({spark_hash(key) % 4 for key in keys}) == min(4, len(keys))


def test_a_packet_for_a_higher_level_is_carried_by_a_cell_below() -> None:
    query, catalog = bound(example("join"))
    addresses: Addresses = make_work(query, catalog, 2, None).addresses
    for address in (OUT, *range(len(addresses.cells))):
        for level in range(addresses.levels):
            (carrier,) = addresses.at(level, addresses.key(address, level))
            assert addresses.level_of[carrier] == level


def test_cells_of_a_plan_with_one_each_are_one_group_in_the_order_in_which_they_send() -> None:
    query, catalog = bound(example("join"))
    addresses: Addresses = make_work(query, catalog, 1, None).addresses
    assert (addresses.levels, addresses.partitions) == (1, 1)
    assert addresses.at(0, addresses.key(0, 0)) == tuple(range(len(addresses.cells)))


def test_what_came_before_a_segment_decides_who_is_late() -> None:
    clock = Clock({"s": Progress()})
    first, second = Segment("s", "a", 0), Segment("s", "b", 0)
    clock.read([(second, Progress(5, 1)), (first, Progress(20, 1))], {"s": 3})
    assert clock.earliest == {first: NEVER, second: 17}
    assert clock.until == 17
    clock.read([(first, Progress(30, 1))], {"s": 3})
    assert clock.earliest == {first: 17}


def test_partitions_that_are_read_side_by_side_make_nothing_late_in_each_other() -> None:
    clock = Clock({"s": Progress()})
    first, second = Segment("s", "", 0), Segment("s", "", 1)
    clock.read([(first, Progress(20, 1)), (second, Progress(5, 1))], {"s": 3})
    assert clock.earliest == {first: NEVER, second: NEVER}
    assert clock.until == 17
    clock.read([(first, Progress(30, 1)), (second, Progress(18, 1))], {"s": 3})
    assert clock.earliest == {first: 17, second: 17}
    assert clock.until == 27


def test_time_waits_for_the_slowest_stream_and_closes_once() -> None:
    clock = Clock({"r": Progress(), "s": Progress()})
    clock.read([(Segment("s", "a", 0), Progress(20, 1))], {"r": 0, "s": 0})
    assert clock.until == 0
    clock.close(None, {"r", "s"})
    assert clock.until == 21
    clock.read([(Segment("r", "a", 0), Progress(90, 1))], {"r": 0, "s": 0})
    clock.close(None, {"r", "s"})
    assert clock.until == 21
    assert Clock.restored(clock.saved()).closed


def test_only_one_worker_can_claim_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_directory, "_place", lambda: tmp_path)
    directory = StateDirectory("run")
    folder = directory.new(7)
    assert folder is not None
    assert os.stat(folder).st_mode & 0o077 == 0
    directory.release(folder, 7, "token")
    assert directory.claim(7, "another") is None
    claimed = directory.claim(7, "token")
    assert claimed is not None
    assert directory.claim(7, "token") is None
    directory.remove()
    assert not list(tmp_path.iterdir())


def test_what_dead_drivers_left_is_cleared_and_what_may_be_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_directory, "_place", lambda: tmp_path)
    home, number, started = owners.owner().split(".")
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = {
        "dead": (None, f"{home}.{ended.pid}.1"),
        "the number was given to another process": (None, f"{home}.{number}.{int(started) - 1}"),
        "alive": ("/checkpoint", owners.owner()),
        "in a container": ("/other", "elsewhere.1.1"),
        "in a container, of the same checkpoint": ("/checkpoint", "elsewhere.1.1"),
        "nobody knows": (None, f"unknown.{ended.pid}.0"),
    }
    folders = {}
    for name, (checkpoint, owner) in names.items():
        monkeypatch.setattr(state_directory, "owner", lambda owner=owner: owner)
        folders[name] = StateDirectory(new_run(checkpoint))._folder
        folders[name].mkdir()
    monkeypatch.undo()
    monkeypatch.setattr(state_directory, "_place", lambda: tmp_path)
    old = tmp_path / f"penstock-{os.getuid()}-run"
    old.mkdir()
    os.utime(old, (0, 0))
    assert StateDirectory(new_run("/checkpoint")).new(0) is not None
    left = {name for name, folder in folders.items() if folder.exists()}
    assert left == {"alive", "in a container", "nobody knows"}
    assert not old.exists()


def test_a_checkpoint_is_locked_until_its_run_ends(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    with pytest.raises(PenstockError, match="another run goes on from this checkpoint"):
        Lock(tmp_path)
    first.release()
    Lock(tmp_path).release()
    held = subprocess.Popen(
        [sys.executable, "-c", LOCKED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with held:
        assert held.stdout is not None
        assert held.stdout.readline() == "locked\n"
        with pytest.raises(PenstockError, match="another run goes on from this checkpoint"):
            Lock(tmp_path)
        held.kill()
    Lock(tmp_path).release()


LOCKED = """
import sys
from pathlib import Path
from penstock.engines.spark.lock import Lock
lock = Lock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_another_worker_maps_what_the_last_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a look at the pages in Spark's state."""
    monkeypatch.setattr(state_directory, "_place", lambda: tmp_path)
    query, catalog = bound(example("join"))
    work = make_work(query, catalog, 1, None)
    live = state_recovery.take(work, 0, None, [])
    live.dictionary.encode(["a", b"b", 10**30])
    pages = dict(live.changes())
    token = state_recovery.keep(work, 0, live)
    state_recovery._kept.clear()
    again = state_recovery.take(work, 0, token, iter(lambda: pytest.fail("read the pages"), None))
    assert again.dictionary.values(np.arange(3)) == ["a", b"b", 10**30]
    assert not dict(again.changes())
    rebuilt = state_recovery.take(work, 0, token, pages.items())
    assert rebuilt.dictionary.values(np.arange(3)) == ["a", b"b", 10**30]


def test_without_space_machines_live_in_their_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_directory, "_place", lambda: tmp_path)
    resize = Memory._resize

    def no_space(memory: Memory, name: str, data: Ints, rows: int) -> Ints:
        if memory._folder is not None and "waiting" in name:
            raise OSError(errno.ENOSPC, "no space")
        return resize(memory, name, data, rows)

    monkeypatch.setattr(Memory, "_resize", no_space)
    case = example("join")
    query, catalog = bound(case)
    assert pretended(case, query, catalog, 2, Random(1)) == expected(case, query, catalog)


@given(st.lists(st.tuples(*[st.one_of(st.integers(-3, 300), st.integers(-(2**63), 2**63 - 1))] * 4), max_size=9))
def test_numbers_of_any_size_come_out_of_a_packet_as_they_were(lines: list[tuple[int, int, int, int]]) -> None:
    numbers = np.array(lines, np.int64).reshape(-1, 4)
    schema = (Column("s", "a", BIGINT),)
    deltas = Deltas(numbers[:, 0], numbers[:, 1], numbers[:, 2:])
    found = [opened(data, [schema], Dictionary()).deltas for data in rows_packets(deltas, schema, Dictionary(), 0, 1)]
    assert len(found) == (1 if lines else 0)
    for out in found:
        assert out is not None
        assert np.array_equal(np.column_stack((out.ts, out.weight, out.rows)), numbers)


@given(st.lists(st.integers(0, 9), min_size=1) | st.lists(st.integers(0, 2**62), min_size=1))
def test_instants_are_told_with_how_many_rows_they_have(instants: list[int]) -> None:
    told = opened(instants_packet(np.array(instants), Segment("s", "f", 0)), [], Dictionary()).deltas
    assert told is not None
    assert dict(zip(told.ts.tolist(), told.weight.tolist(), strict=True)) == {i: instants.count(i) for i in instants}
    assert told.ts.tolist() == sorted(set(instants))


def test_a_query_that_is_left_while_it_reads_is_stopped_first() -> None:
    """Or Ctrl-C would wait until all files have been read."""

    class Reading:
        def __init__(self) -> None:
            self.stopped = threading.Event()

        def processAllAvailable(self) -> None:
            assert self.stopped.wait(60)

        def stop(self) -> None:
            self.stopped.set()

    def leave() -> None:
        raise KeyboardInterrupt

    query, catalog = bound(example("join"))
    running: Any = RunningQuery.__new__(RunningQuery)
    running._work, running._query, running._collect = make_work(query, catalog, 1, None), Reading(), lambda: None
    with pytest.raises(KeyboardInterrupt):
        running._drain(leave)
    assert running._query.stopped.is_set()

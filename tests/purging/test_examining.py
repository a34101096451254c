"""A row that can be dropped becomes a candidate: after each purge none is left that examining all would drop.

All are examined once more as the purge would, and once by following bindings, whatever the join graph.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.kernels.pointers import address
from penstock.retention.purge import Purge
from penstock.retention.rows import SlotsByInput
from tests.engines.comparing import embedded
from tests.purging.cases import COUNTED, PARTITIONED, SLIDING, purging_case
from tests.seeds import seeds

SUDDEN = (*COUNTED, *SLIDING, *PARTITIONED)


def _followed(purge: Purge, rows: SlotsByInput) -> SlotsByInput:
    """Those of the rows that can be dropped, by following bindings. What they wait for is noted elsewhere."""
    stores = [source.store for source in purge._join.inputs.inputs]
    waits = [np.zeros((store.capacity, purge._tables.clock_count), np.int64) for store in stores]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(purge._pending, "wait_addresses", lambda: np.array(list(map(address, waits)), np.int64))
        return purge._pending.followed(rows, purge._tables.tables(), purge._tables.rules())


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Examines all rows after each purge. Gives how many these were."""
    purge, counts = Purge._purge, []

    def checked(self: Purge) -> None:
        purge(self)
        visibility = {number: self._join.inputs.visibility(number).copy() for number in self._windows}
        self._pending.queue.examine_all()
        purge(self)
        alive = {number: np.flatnonzero(own) for number, own in visibility.items()}
        followed = _followed(self, alive)
        assert not any(map(len, followed.values())), (followed, self.node.rules)
        for number, before in visibility.items():
            gone = np.flatnonzero(before != self._join.inputs.visibility(number))
            assert not len(gone), (number, self._join.inputs.inputs[number].store.rows[gone].tolist(), self.node.rules)
            counts.append(int(np.count_nonzero(before)))

    monkeypatch.setattr(Purge, "_purge", checked)
    return counts


@pytest.mark.parametrize("block", range(4))
def test_no_row_is_overlooked(block: int, examined: list[int]) -> None:
    for seed in seeds(30, start=9000 + block * 400):
        found = purging_case(seed)
        if len(found.catalog.streams) > 3 and any(window in found.case.script for window in SUDDEN):
            continue  # only those that join a row directly are told when it leaves such a window
        for cells, cuts in ((1, Random(seed)), (2, Random(seed + 1))):
            embedded(found.case, found.query, found.catalog, cells, cuts)
    assert sum(examined) > 100


@pytest.mark.parametrize(("seed", "windows"), [(10240, None), (12156, SUDDEN)])
def test_the_row_of_a_key_that_is_too_far_in_time_is_no_partner(
    seed: int, windows: tuple[str, ...] | None, examined: list[int]
) -> None:
    """Rows under windows wait for their partners to leave; what has its key and is too late is none."""
    found = purging_case(seed) if windows is None else purging_case(seed, windows=windows)
    embedded(found.case, found.query, found.catalog, 1, Random(seed))
    assert sum(examined) > 10


def test_no_row_is_overlooked_where_it_is_not_known_when_rows_leave(examined: list[int]) -> None:
    tried = 0
    for seed in seeds(60, start=12000):
        found = purging_case(seed, windows=SUDDEN)
        if len(found.catalog.streams) <= 3:
            embedded(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed))
            tried += 1
    assert tried > 10
    assert sum(examined) > 100

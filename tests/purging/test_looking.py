"""A row that can go is looked at by itself: after each purge none is left that looking at all of them would let go."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.operators.purge import Purge
from tests.engines.comparing import embedded
from tests.purging.cases import purging_case
from tests.seeds import seeds


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Looks at all rows after each purge. Gives how many these were."""
    purge, counts = Purge._purge, []

    def checked(self: Purge) -> None:
        purge(self)
        lives = {number: self._core.lives(number).copy() for number in self._windows}
        self._todo.look_at_all()
        purge(self)
        for number, before in lives.items():
            gone = np.flatnonzero(before != self._core.lives(number))
            assert not len(gone), (number, self._core.inputs[number].store.rows[gone].tolist(), self.node.rules)
            counts.append(int(np.count_nonzero(before)))

    monkeypatch.setattr(Purge, "_purge", checked)
    return counts


@pytest.mark.parametrize("block", range(4))
def test_no_row_is_overlooked(block: int, looks: list[int]) -> None:
    for seed in seeds(30, start=9000 + block * 400):
        found = purging_case(seed)
        if "SLIDE" in found.case.script or "[ROWS" in found.case.script:
            continue  # when rows leave such a window is not known before
        for cells, cuts in ((1, Random(seed)), (2, Random(seed + 1))):
            embedded(found.case, found.query, found.catalog, cells, cuts)
    assert sum(looks) > 100

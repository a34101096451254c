"""First rows that are thinned: exact for few rows, and an estimate in bounded memory for many."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.synopsis import firsts
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.firsts import Firsts, Keys
from penstock.synopsis.memory import Memory

MOST = 64


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firsts, "WHOLE", 1000)


def seen_again(rows: int, step: int, distance: int) -> tuple[float, int]:
    """Values come one by one, are referred to, and come again so many rows later.

    Gives for how many those stand that were seen to come again, and how many values were remembered at most.
    """
    values, counted, most = Firsts(Memory(), "values", 1, None, MOST), 0.0, 0
    for start in range(0, rows, step):
        names = np.arange(start, start + step)
        values.see(step)
        sources, targets = (_below(each, values.seen) for each in (names, names - distance))
        found = values.refer(sources, sources.values[:, 0].copy(), targets, is_key=True, oldest=start - distance)
        again = found.words != MISSING
        counted += values.weights(targets.values[found.places[again]], found.words[again]).sum()
        values.meet(sources.values[found.kept], sources.values[found.kept, 0].copy())
        if values.is_large:
            values.forget_before(start - distance, at_once=False)
        most = max(most, len(values))
    return counted, most


def _below(names: np.ndarray, limit: int) -> Keys:
    keys = Keys.of(np.ascontiguousarray(names.reshape(-1, 1)))
    some = keys.hashes < limit
    return Keys(keys.values[some], keys.hashes[some])


def test_few_rows_are_all_seen(small: None) -> None:
    assert seen_again(900, 10, 30) == (870, 30)


@pytest.mark.parametrize(("step", "distance"), [(10, 30), (10, 300), (500, 300), (500, 1000)])
def test_of_many_rows_the_number_is_an_estimate(step: int, distance: int, small: None) -> None:
    counted, most = seen_again(400_000, step, distance)
    assert abs(counted - 400_000) < 40_000
    assert most <= MOST

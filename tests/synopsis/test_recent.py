"""Recent values: exact for few rows, and an estimate in bounded memory for many."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.recent import Stored
from penstock.synopsis import recent
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.firsts import Keys
from penstock.synopsis.index import Index
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.recent import Recent
from penstock.synopsis.store import RowStore

ROOM = 64
#: No row is stored.
NOBODY = Stored(np.zeros((0, 1), np.int64), np.zeros(1, np.int64), 0, -1, 0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "WHOLE", 1000)


def referred_to(rows: int, step: int, distance: int) -> tuple[float, int]:
    """Values come one by one, refer to what comes so many rows later, and it comes.

    Gives for how many those stand that were seen to be referred to, and how many values were remembered at most.
    """
    values, counted, most = Recent(Memory(), "values", 1, ROOM), 0.0, 0
    for start in range(0, rows, step):
        names = np.arange(start, start + step)
        values.see(step)
        sources, targets = (_below(each, values.seen) for each in (names, names - distance))
        words = sources.values[:, 0].copy()
        found = values.refer(sources, words, targets, NOBODY, is_key=True, oldest=start - distance)
        assert (found.words == targets.values[found.places, 0]).all()
        assert (found.partners == 1).all()
        counted += len(found.places) * values.weight
        most = max(most, len(values))
    return counted, most


def _below(names: Ints, limit: int) -> Keys:
    keys = Keys.of(np.ascontiguousarray(names.reshape(-1, 1)))
    some = keys.hashes < limit
    return Keys(keys.values[some], keys.hashes[some])


def test_few_rows_are_all_seen(small: None) -> None:
    assert referred_to(900, 10, 30) == (870, 30)


@pytest.mark.parametrize(("step", "distance"), [(10, 30), (10, 300), (500, 300), (500, 1000)])
def test_of_many_rows_the_number_is_an_estimate(step: int, distance: int, small: None) -> None:
    counted, most = referred_to(400_000, step, distance)
    assert abs(counted - 400_000) < 40_000
    assert most <= ROOM


@pytest.mark.parametrize("seed", range(20))
def test_the_last_values_are_remembered(seed: int) -> None:
    """As a dictionary would that forgets what was put in first."""
    random = np.random.default_rng(seed)
    values, known = Recent(Memory(), "values", 2, ROOM), dict[tuple[int, ...], list[int]]()
    for clock in range(0, 2000, 20):
        names = random.integers(0, random.integers(2, 12), (20, 2))
        words = np.arange(clock, clock + 20)
        expected = []
        for name, word in zip(map(tuple, names.tolist()), words.tolist(), strict=True):
            expected.append(known[name][0] if name in known else MISSING)
            if name in known:
                known[name][0] += 1
                continue
            known[name] = [word]
            if len(known) > ROOM:
                del known[next(iter(known))]
        assert values.meet(Keys.of(names), words, oldest=clock).tolist() == expected
        assert len(values) == len(known)
        assert sorted(values.held_column(1).tolist()) == sorted(name[1] for name in known)


def test_who_refers_to_what_is_there_is_not_remembered() -> None:
    values, names = Recent(Memory(), "values", 1, ROOM), Keys.of(np.arange(4).reshape(-1, 1))
    nothing = Keys.of(np.zeros((0, 1), np.int64))
    values.refer(names, np.arange(4), nothing, NOBODY, is_key=True, oldest=0)
    values.refer(names, np.arange(4), nothing, NOBODY, is_key=True, oldest=0)
    found = values.refer(nothing, np.zeros(0, np.int64), names, NOBODY, is_key=True, oldest=0)
    assert (found.words.tolist(), found.partners.tolist()) == ([0, 1, 2, 3], [2, 2, 2, 2])
    assert len(values) == 0
    # Where it comes with them, too.
    found = values.refer(names, np.arange(10, 14), names, NOBODY, is_key=True, oldest=0)
    assert (found.words.tolist(), len(values)) == ([10, 11, 12, 13], 0)
    # What is no key may come again.
    found = values.refer(names, np.arange(10, 14), names, NOBODY, is_key=False, oldest=0)
    assert (found.words.tolist(), len(values)) == ([10, 11, 12, 13], 4)


def test_many_rows_with_few_values_crowd_nothing() -> None:
    """What a value is there since is its first row, however many come in a step."""
    values, names = Recent(Memory(), "values", 1, ROOM), Keys.of((np.arange(20 * ROOM) % 40).reshape(-1, 1))
    nothing = Keys.of(np.zeros((0, 1), np.int64))
    values.refer(names, np.arange(20 * ROOM), nothing, NOBODY, is_key=True, oldest=0)
    values.see(1)
    assert values.weight == 1
    targets = Keys.of(np.arange(40).reshape(-1, 1))
    found = values.refer(nothing, np.zeros(0, np.int64), targets, NOBODY, is_key=True, oldest=0)
    assert found.words.tolist() == list(range(40))
    assert set(found.partners.tolist()) == {ROOM // 2}


def test_what_is_stored_crowds_nothing() -> None:
    rows = np.arange(20 * ROOM).reshape(-1, 1)
    store = RowStore(memory := Memory(), "rows", 1)
    slots, index = store.put(rows, np.zeros(len(rows), np.int64)), Index(memory, "index", (0,))
    index.fit(len(rows), store.capacity, store.rows)
    index.put(store.rows, slots)
    there = Stored(store.rows, index.columns, index.heads, index.mask, index.links)
    values, nothing = Recent(memory, "values", 1, ROOM), Keys.of(np.zeros((0, 1), np.int64))
    values.refer(Keys.of(rows), np.arange(len(rows)), nothing, there, is_key=True, oldest=0)
    values.see(1)
    assert (values.weight, len(values)) == (1, 0)

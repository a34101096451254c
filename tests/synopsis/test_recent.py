"""Recent values: exact for few rows, and an estimate in bounded memory for many."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.recent import Came, Seen, Stored, Ticks, seen
from penstock.synopsis import recent
from penstock.synopsis.firsts import ALL
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


def came(names: Ints, times: Ints, below: int = ALL) -> Seen:
    rows = np.ascontiguousarray(names if names.ndim == 2 else names.reshape(-1, 1))
    nothing = np.zeros(0, np.int64)
    return seen(Came(rows, times, np.arange(len(rows)), np.arange(rows.shape[1]), nothing, nothing), below)


#: The clock is time.
TIME = Ticks(np.zeros(0, np.int64), 0, True)
NOTHING = came(np.zeros((0, 1), np.int64), np.zeros(0, np.int64))


def referred_to(rows: int, step: int, distance: int) -> tuple[float, int]:
    """Values come one by one, refer to what comes so many rows later, and it comes.

    Gives for how many those stand that were seen to be referred to, and how many values were remembered at most.
    """
    values, counted, most = Recent(Memory().scope("values"), 1, ROOM), 0.0, 0
    for start in range(0, rows, step):
        names = np.arange(start, start + step)
        values.see(step)
        source, target = (came(each, names, values.seen) for each in (names, names - distance))
        found = values.refer(source, target, TIME, NOBODY, is_key=True, oldest=start - distance)
        assert (found.since == found.values[:, 0]).all()
        assert (found.clocks == found.since + distance).all()
        assert (found.partners == 1).all()
        counted += len(found.since) * values.weight
        most = max(most, len(values))
    return counted, most


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
    values, known = Recent(Memory().scope("values"), 2, ROOM), dict[tuple[int, ...], list[int]]()
    for clock in range(0, 2000, 20):
        names = random.integers(0, random.integers(2, 12), (20, 2))
        words = np.arange(clock, clock + 20)
        expected = []
        for name, word in zip(map(tuple, names.tolist()), words.tolist(), strict=True):
            if name in known:
                expected.append((list(name), word, known[name][0]))
                known[name][0] += 1
                continue
            known[name] = [word]
            if len(known) > ROOM:
                del known[next(iter(known))]
        found = values.meet(came(names, words), TIME, oldest=clock)
        assert (found.clocks == found.times).all()
        told = zip(found.values.tolist(), found.times.tolist(), found.since.tolist(), strict=True)
        assert list(told) == expected
        assert len(values) == len(known)
        assert sorted(values.held_column(1).tolist()) == sorted(name[1] for name in known)


def test_who_refers_to_what_is_there_is_not_remembered() -> None:
    values, names = Recent(Memory().scope("values"), 1, ROOM), np.arange(4)
    for _ in range(2):
        values.refer(came(names, names), NOTHING, TIME, NOBODY, is_key=True, oldest=0)
    found = values.refer(NOTHING, came(names, names), TIME, NOBODY, is_key=True, oldest=0)
    assert (found.since.tolist(), found.partners.tolist()) == ([0, 1, 2, 3], [2, 2, 2, 2])
    assert len(values) == 0
    # Where it comes with them, too.
    later = came(names, names + 10)
    found = values.refer(later, later, TIME, NOBODY, is_key=True, oldest=0)
    assert (found.since.tolist(), len(values)) == ([10, 11, 12, 13], 0)
    # What is no key may come again.
    found = values.refer(later, later, TIME, NOBODY, is_key=False, oldest=0)
    assert (found.since.tolist(), len(values)) == ([10, 11, 12, 13], 4)


def test_clocks_count_rows() -> None:
    """A row has the clock when its instant was over, and what is referred to is asked when it began."""
    values, ticks = Recent(Memory().scope("values"), 1, ROOM), Ticks(np.array([3, 5, 5, 8]), 100, False)
    sources, targets = came(np.array([7, 8, 9]), np.array([2, 5, 9])), came(np.array([7, 8]), np.array([5, 8]))
    found = values.refer(sources, targets, ticks, NOBODY, is_key=True, oldest=0)
    assert found.values[:, 0].tolist() == [7, 8]
    assert (found.since.tolist(), found.clocks.tolist()) == ([100, 103], [101, 103])
    assert len(values) == 1


def test_a_row_with_a_null_has_no_value() -> None:
    rows = np.array([[1, 0], [2, 1], [1, 0]])
    own = seen(Came(rows, np.arange(3), np.arange(3), np.array([0]), np.array([1]), np.array([1])), ALL)
    values = Recent(Memory().scope("values"), 1, ROOM)
    found = values.meet(own, TIME, oldest=0)
    assert (found.values.tolist(), found.times.tolist(), len(values)) == ([[1]], [2], 1)
    assert len(values.refer(NOTHING, own, TIME, NOBODY, is_key=False, oldest=0).since) == 2


def test_many_rows_with_few_values_crowd_nothing() -> None:
    """What a value is there since is its first row, however many come in a step."""
    values, names = Recent(Memory().scope("values"), 1, ROOM), np.arange(20 * ROOM) % 40
    values.refer(came(names, np.arange(20 * ROOM)), NOTHING, TIME, NOBODY, is_key=True, oldest=0)
    values.see(1)
    assert values.weight == 1
    found = values.refer(NOTHING, came(np.arange(40), np.arange(40)), TIME, NOBODY, is_key=True, oldest=0)
    assert found.since.tolist() == list(range(40))
    assert set(found.partners.tolist()) == {ROOM // 2}


def test_what_is_stored_crowds_nothing() -> None:
    rows = np.arange(20 * ROOM).reshape(-1, 1)
    memory = Memory()
    store = RowStore(memory.scope("rows"), 1)
    slots, index = store.put(rows, np.zeros(len(rows), np.int64)), Index(memory.scope("index"), (0,))
    index.fit(len(rows), store.capacity, store.rows)
    index.put(store.rows, slots)
    there = Stored(store.rows, index.columns, index.heads, index.mask, index.links)
    values = Recent(memory.scope("values"), 1, ROOM)
    values.refer(came(rows, np.arange(len(rows))), NOTHING, TIME, there, is_key=True, oldest=0)
    values.see(1)
    assert (values.weight, len(values)) == (1, 0)

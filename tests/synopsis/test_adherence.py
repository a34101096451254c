"""What k rows require, against nested loops over the definitions of the thesis (6.2)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.kernels.adherence import BEYOND, NONE
from penstock.synopsis.adherence import (
    Adherence,
    ClusteredAdherence,
    Counter,
    DigestRoom,
    OrderedAdherence,
    ReferenceAdherence,
    RequiredK,
    TooManyValues,
)

Row = tuple[int | None, int]
Ks = list[tuple[int, int] | None]

VALUES = st.none() | st.integers(-3, 4) | st.sampled_from([0, 2**62, -(2**62)])


def rows_of(values: st.SearchStrategy[int | None], most: int = 30) -> st.SearchStrategy[list[Row]]:
    """Values and times, in the order of time, with some at one instant."""
    return st.lists(st.tuples(values, st.integers(0, 3)), max_size=most).map(
        lambda pairs: list(zip([v for v, _ in pairs], np.cumsum([gap for _, gap in pairs]).tolist(), strict=True))
    )


def arrays(rows: list[Row]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    values = np.array([value or 0 for value, _ in rows], np.int64)
    nulls = np.array([value is None for value, _ in rows], np.bool_)
    return values, nulls, np.array([at for _, at in rows], np.int64)


def in_pieces(rows: list[Row], cut: int) -> list[list[Row]]:
    return [rows[start : start + cut] for start in range(0, len(rows), cut)]


class Spy:
    """Takes what an adherence notes, row by row."""

    def __init__(self, adherence: Adherence) -> None:
        self.noted: list[tuple[int, int]] = []
        adherence.note = lambda rows, spans: self.noted.extend(zip(rows.tolist(), spans.tolist(), strict=True))  # type: ignore[method-assign]


def agrees(noted: list[tuple[int, int]], expected: Ks, most: int) -> None:
    """What is BEYOND requires more than `most` rows, and the rest is exact."""
    assert len(noted) == len(expected)
    for (rows, span), k in zip(noted, expected, strict=True):
        if rows == BEYOND:
            assert k is not None
            assert k[0] > most
            assert span in (BEYOND, k[1])
        else:
            assert (rows, span) == (k or (NONE, NONE))


def scrambled(rows: list[Row]) -> Ks:
    found: Ks = []
    for i, (value, at) in enumerate(rows):
        larger = [(i - j, at - then) for j, (v, then) in enumerate(rows[:i]) if None not in (v, value) and v > value]  # type: ignore[operator]
        found.append(max(larger, default=None))
    return found


def clustered(rows: list[Row]) -> Ks:
    found: Ks = []
    for i, (value, at) in enumerate(rows):
        same = [
            (sum(v != value for v, _ in rows[j + 1 : i]), at - then)
            for j, (v, then) in enumerate(rows[:i])
            if v == value
        ]
        found.append((max(k for k, _ in same), max(k for _, k in same)) if same else None)
    return found


def referred(child: list[Row], parent: list[Row]) -> Ks:
    """Rows that refer come first of their instant."""
    found: Ks = []
    for place, (value, at) in enumerate(parent):
        distances = [
            (sum(t >= then for _, t in parent[: place + 1]), at - then)
            for v, then in child
            if v == value and v is not None and then <= at
        ]
        found.append((max(k for k, _ in distances), max(k for _, k in distances)) if distances else None)
    return found


@given(rows_of(VALUES), st.integers(0, 6), st.integers(1, 9))
def test_scrambling_distances(rows: list[Row], most: int, cut: int) -> None:
    adherence = OrderedAdherence(most)
    spy = Spy(adherence)
    for piece in in_pieces(rows, cut):
        adherence.observe(*arrays(piece))
    agrees(spy.noted, scrambled(rows), most)


@given(rows_of(VALUES | st.integers(0, 40), 60), st.integers(0, 6), st.integers(1, 9))
def test_clustering_distances(rows: list[Row], most: int, cut: int) -> None:
    adherence = ClusteredAdherence(most, 1, DigestRoom(1 << 10))
    spy = Spy(adherence)
    for piece in in_pieces(rows, cut):
        values, nulls, times = arrays(piece)
        adherence.observe(values[:, None], nulls, times)
    agrees(spy.noted, clustered(rows), most)
    assert adherence.repeated == len(rows) - len({value for value, _ in rows})
    assert sorted(adherence.values().tolist()) == sorted({value for value, _ in rows} - {None})  # type: ignore[type-var]
    assert adherence.has_null == any(value is None for value, _ in rows)


@given(rows_of(st.none() | st.integers(0, 9), 40), rows_of(st.none() | st.integers(0, 9)), st.integers(0, 6))
def test_join_distances(child: list[Row], parent: list[Row], most: int) -> None:
    """Observed instant by instant: all rows that refer, up to an instant, and then those referred to."""
    values_of_child = ClusteredAdherence(most, 1, DigestRoom(1 << 10))
    adherence, counter = ReferenceAdherence(), Counter(most)
    spy = Spy(adherence)
    for instant in sorted({at for _, at in child + parent}):
        values, nulls, times = arrays([row for row in child if row[1] == instant])
        values_of_child.observe(values[:, None], nulls, times)
        values, nulls, times = arrays([row for row in parent if row[1] == instant])
        places = counter.rows + np.arange(len(times))
        counter.observe(times)
        _, first_times = values_of_child.first_rows(values[:, None], nulls)
        adherence.observe(first_times, times, places, counter)
    for (rows, span), k in zip(spy.noted, referred(child, parent), strict=True):
        if span == BEYOND:
            assert k is not None  # its value fell out of the ring of the rows that refer
        elif rows == BEYOND:
            assert k is not None
            assert k[0] > most
            assert k[1] == span
        else:
            assert (rows, span) == (k or (NONE, NONE))


@given(rows_of(st.none() | st.integers(0, 9), 40), rows_of(st.none() | st.integers(0, 9), 40), st.integers(0, 6))
def test_join_distances_of_a_stream_to_itself(own: list[Row], others: list[Row], most: int) -> None:
    size = min(len(own), len(others))
    both = [(a, b, at) for (a, at), (b, _) in zip(own[:size], others[:size], strict=True)]
    values_of_child, adherence = ClusteredAdherence(most, 1, DigestRoom(1 << 10)), ReferenceAdherence()
    spy = Spy(adherence)
    values, nulls, times = arrays([(a, at) for a, _, at in both])
    values_of_child.observe(values[:, None], nulls, times)
    values, nulls, times = arrays([(b, at) for _, b, at in both])
    adherence.observe_own(*values_of_child.first_rows(values[:, None], nulls), times, np.arange(len(times)))
    for place, (rows, span) in enumerate(spy.noted):
        _, value, at = both[place]
        distances = [(place - j, at - then) for j, (a, _, then) in enumerate(both[:place]) if a == value is not None]
        if rows == BEYOND:
            assert value in [a for a, _, _ in both]
        else:
            assert (rows, span) == max(distances, default=(NONE, NONE))


@given(st.lists(st.integers(-2, 300) | st.integers(0, 2**62)), st.integers(0, 20))
def test_the_k_of_all_rows_but_some(required: list[int], broken: int) -> None:
    found = RequiredK()
    found.observe(np.array(required, np.int64))
    needed = sorted((2**63 if k == BEYOND else max(k, 0) for k in required), reverse=True)
    least = needed[broken] if broken < len(needed) else 0
    most = found.most(broken)
    if least == 2**63:
        assert most is None
    else:
        assert most is not None
        assert least <= most <= least + least // 64
        assert sum(k > most for k in needed) <= broken
    exact = max(needed, default=0)
    assert found.exact == (None if exact == 2**63 else exact)


@given(rows_of(st.integers(0, 3), 40), st.integers(0, 6))
def test_values_of_several_words(rows: list[Row], most: int) -> None:
    adherence = ClusteredAdherence(most, 2, DigestRoom(1 << 10))
    spy = Spy(adherence)
    values, nulls, times = arrays(rows)
    adherence.observe(np.stack([values // 2, values % 2], axis=1), nulls, times)
    agrees(spy.noted, clustered(rows), most)


@given(rows_of(st.integers(0, 9), 60), st.booleans(), st.integers(0, 6), st.integers(1, 9))
def test_without_room_only_values_that_go_up_are_told_from_old_ones(
    rows: list[Row], upward: bool, most: int, cut: int
) -> None:
    if upward:
        rows = [((value or 0) + 3 * place, at) for place, (value, at) in enumerate(rows)]
    adherence = ClusteredAdherence(most, 1, DigestRoom(0))
    spy = Spy(adherence)
    try:
        for piece in in_pieces(rows, cut):
            values, nulls, times = arrays(piece)
            adherence.observe(values[:, None], nulls, times)
    except TooManyValues:
        return
    agrees(spy.noted, clustered(rows), most)
    assert adherence.repeated == len(rows) - len({value for value, _ in rows})
    assert adherence.count_values() == len({value for value, _ in rows})
    assert set(adherence.values().tolist()) <= {value for value, _ in rows}


def test_values_that_go_up_need_no_room() -> None:
    adherence = ClusteredAdherence(5, 1, DigestRoom(0))
    adherence.observe(np.arange(1000)[:, None] // 2, np.zeros(1000, np.bool_), np.arange(1000))
    assert (adherence.repeated, adherence.rows.exact, adherence.count_values()) == (500, 0, 500)
    assert not adherence.knows_all
    places, _ = adherence.first_rows(np.array([[3], [499], [500]]), np.zeros(3, np.bool_))
    assert places.tolist() == [BEYOND, 998, NONE]


def test_without_room_for_digests_nothing_is_said() -> None:
    room = DigestRoom(100)
    adherence = ClusteredAdherence(5, 2, room)
    words = np.stack([np.arange(200), np.arange(200)], axis=1)
    with pytest.raises(TooManyValues):
        adherence.observe(words, np.zeros(200, np.bool_), np.arange(200))
    assert room.words < 100
    adherence.close()
    assert room.words == 100

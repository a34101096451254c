"""A step may be cut into parts of any size: answers agree, and metrics are those of the whole step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.building.nodes import Step
from penstock.operators.parts import parts
from penstock.sql import bind_text
from penstock.synopsis.deltas import Deltas
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.test_path_counting import aggregates
from tests.engines.test_sharing_across_queries import test_so_does_the_loop_that_reads_streams_side_by_side as shared
from tests.generators import Case, cases

SIZES = (1, 7, 1000)


@contextmanager
def parts_of(size: int) -> Iterator[None]:
    """All machines cut their steps into parts of so many rows, whatever they run."""
    with patch("penstock.operators.machine.Machine._part_rows", lambda machine: size):
        yield


@given(cases(), st.sampled_from(SIZES), st.integers(1, 3), st.integers(0, 2**32))
def test_parts_of_any_size_give_the_same_answers(case: Case, size: int, cells: int, seed: int) -> None:
    check(case, size, cells, seed)


@given(aggregates(), st.sampled_from(SIZES), st.integers(1, 2), st.integers(0, 2**32))
def test_aggregates_over_joins_that_take_parts_of_any_size_agree(case: Case, size: int, cells: int, seed: int) -> None:
    check(case, size, cells, seed)


def check(case: Case, size: int, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with parts_of(size):
        got = embedded(case, query, catalog, cells, Random(seed) if seed % 2 else 0)
    assert got == expected(case, query, catalog)


@given(cases(), st.sampled_from(SIZES), st.integers(0, 2**32))
def test_a_machine_that_takes_parts_goes_on_from_its_pages(case: Case, size: int, seed: int) -> None:
    query, catalog = bound(case)
    with parts_of(size):
        assert restarted(case, query, catalog, 1, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize("size", SIZES)
def test_queries_that_share_windows_take_parts_of_any_size(size: int) -> None:
    with parts_of(size):
        shared()


def arrived(*times: int) -> Deltas:
    ts = np.array(times, np.int64)
    return Deltas(ts, np.ones(len(ts), np.int64), ts[:, None].copy())


def cut(step: Step, size: Callable[[], int], at_once: tuple[int, ...] = ()) -> list[tuple[int, list[list[int]]]]:
    found = parts(step, size, at_once)
    return [(part.until, [deltas.ts.tolist() for deltas in part.inputs.values()]) for part in found]


def test_parts_end_between_two_instants_and_have_all_rows_of_theirs() -> None:
    step = Step({0: arrived(1, 2, 2, 2, 5, 9), 1: arrived(2, 3, 5)}, 20)
    assert cut(step, lambda: 3) == [
        (3, [[1, 2, 2, 2], [2]]),
        (20, [[5, 9], [3, 5]]),
    ]
    assert cut(step, lambda: 9) == [(20, [[1, 2, 2, 2, 5, 9], [2, 3, 5]])]


def test_each_part_is_as_large_as_is_wanted_then() -> None:
    sizes = iter((1, 3, 9))
    step = Step({0: arrived(*range(10))}, 10)
    assert cut(step, lambda: next(sizes)) == [(1, [[0]]), (4, [[1, 2, 3]]), (10, [[4, 5, 6, 7, 8, 9]])]


def test_leaves_that_take_rows_in_any_order_get_them_in_the_first_part() -> None:
    step = Step({0: arrived(3, 1, 30, 2), 1: arrived(1, 2, 3)}, 10)
    (_, (first, _)), *others = cut(step, lambda: 2, (0,))
    assert first == [3, 1, 30, 2]
    assert [rows[0] for _, rows in others] == [[]] * len(others)
    assert len(others) == 2


def test_probes_and_matches_are_counted_by_input_and_depth() -> None:
    """Of a star that comes in parts: rows of the hub find all, one or none."""
    script = bind_text(
        """
        CREATE STREAM h (x BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
        CREATE STREAM a (x BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
        CREATE STREAM b (y BIGINT, ts BIGINT) TIMESTAMP BY ts MICROSECONDS;
        SELECT ISTREAM(h.ts AS at, a.x AS x, b.y AS y) FROM h [RANGE 1 SECOND], a [RANGE 1 SECOND], b [RANGE 1 SECOND]
        WHERE h.x = a.x AND h.y = b.y;
        """
    ).checked()
    for size in SIZES:
        engine = EmbeddedEngine(script.queries[0], script.catalog)
        engine.push("a", pa.record_batch({"x": [1, 1, 2], "ts": [1, 2, 3]}))
        engine.push("b", pa.record_batch({"y": [5, 6], "ts": [4, 5]}))
        engine.push("h", pa.record_batch({"x": [1, 2, 3], "y": [5, 9, 5], "ts": [6, 7, 8]}))
        with parts_of(size):
            assert engine.finish().num_rows == 2
        (line,) = (line for line in engine.metrics() if line.probes)
        # Rows of a and b find no row of the hub. Three rows of the hub probe a, and the three matches probe b.
        assert line.probes == ((3, 3), (3, 0), (2, 0))
        assert line.matches == ((3, 2), (0, 0), (0, 0))
        (join,) = engine._machines[0][0].joins
        assert join.profile().probes.tolist() == [list(own) for own in line.probes]

"""The joins on which caches are tried have the multiplicities that they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text
from penstock.workloads import join_caches
from penstock.workloads.join_caches import BURST, MULTIPLICITY, one_attribute, selective, three_way, updated
from penstock.workloads.join_orders import JoinWorkload


def results(workload: JoinWorkload, pieces: Iterable[Mapping[str, pa.RecordBatch]]) -> int:
    """How many results there ever were."""
    bound = bind_text(replace(workload, is_stream=True).script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    count = 0
    for piece in pieces:
        for stream, batch in piece.items():
            engine.push(stream, batch)
        count += engine.advance().num_rows
    return count + engine.finish().num_rows


def rates(workload: JoinWorkload) -> int:
    return sum(stream.rate for stream in workload.streams)


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(three_way(1), 1, id="each value once"),
        pytest.param(three_way(5), 5, id="five times in t"),
        pytest.param(selective(3), 3 * 5, id="a row of t finds three"),
        pytest.param(selective(1, 4), 5, id="one row of four finds one"),
        pytest.param(updated(3), 5, id="one value of three"),
        pytest.param(one_attribute(4), 5 * 5, id="four streams"),
    ],
)
def test_results_of_an_instant_are_as_many_as_the_multiplicities_say(workload: JoinWorkload, expected: int) -> None:
    instants = 300
    assert results(workload, workload.pieces(instants * rates(workload), 500)) == instants * expected


def test_a_burst_multiplies_what_is_found() -> None:
    calm, fast = 200, 100
    found = results(three_way(), join_caches.burst(calm, fast, 64))
    assert found == (calm + fast * BURST) * MULTIPLICITY

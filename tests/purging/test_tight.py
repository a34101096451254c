"""Rows that come at the last moment that k allows still find what they join.

Each row is a step of its own, and before it all instants before its own are closed: what may be purged is purged by
then. Tried by hand, one at a time, each of these made a case of two streams fail: a limit that is one less for InTime,
AfterRows or ByCluster (`Purge._rules`), for ByOrder in rows or in time (`Knowledge._oldest`); to take an order's own
value for passed (`kernels.purge.closed_input`); not to count a cluster's own rows (`again`); and to count rows of an
instant before those that refer to them (`Knowledge.count_at`).
"""

from __future__ import annotations

import pytest

from penstock.engines.embedded import EmbeddedEngine
from tests.engines.comparing import Log, batch, expected, logged
from tests.purging.cases import Purging
from tests.purging.tight import KINDS, SHAPES, tight_case


def stepped(found: Purging, cells: int) -> Log:
    """The answer of an engine whose steps are single rows, in the order of time."""
    engine = EmbeddedEngine(found.query, found.catalog, {}, cells)
    definitions = {stream.name: stream for stream in found.catalog.streams}
    rows = [(row[-1], name, row) for name, rows in found.case.data.items() for row in rows]
    log: Log = Log()
    for ts, name, row in sorted(rows, key=lambda one: one[0]):
        log += logged(engine._step(max(ts, engine.watermark)), found.query)
        engine.push(name, batch(definitions[name], [row]))
    return log + logged(engine.finish(), found.query)


def check(found: Purging, cells: int, seed: object) -> None:
    assert stepped(found, cells) == expected(found.case, found.query, found.catalog), (seed, found.case.script)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("in_time", [False, True], ids=["rows", "time"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_kind(kind: str, in_time: bool, shape: str) -> None:
    for seed in range(3):
        check(tight_case(seed, shape, (kind,), in_time), 1 + seed % 2, seed)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_kinds_together(shape: str) -> None:
    for seed in range(6):
        check(tight_case(seed, shape, KINDS, None), 1 + seed % 3, seed)

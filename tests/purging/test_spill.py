"""With spill the answer is exact, whatever the data does to constraints with a k; and no more is kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.forgetting import Forgetting
from penstock.plan.watched import OnDisk
from tests.engines.comparing import Log, batches, expected, logged
from tests.engines.spark.pretending import pretended
from tests.engines.test_embedded import restart
from tests.purging.cases import Purging
from tests.purging.spilling import other_case, spilling_case
from tests.seeds import seeds

SPILL = Forgetting(spill=True)


def log_of(
    found: Purging, forgetting: Forgetting, cuts: Random | int, cells: int = 1, restarts: bool = False
) -> tuple[Log, OnDisk]:
    engine = EmbeddedEngine(found.query, found.catalog, {}, cells, forgetting=forgetting)
    pages: dict[tuple[int, int], dict[str, bytes]] = {}
    log: Log = Log()
    for name, rows in batches(found.case, engine, found.catalog, cuts):
        engine.push(name, rows)
        log += logged(engine.advance(), found.query)
        if restarts:
            restart(engine, pages)
    log += logged(engine.finish(), found.query)
    return log, engine.on_disk()


@pytest.mark.parametrize("make", [spilling_case, other_case])
@pytest.mark.parametrize("block", range(2))
def test_the_answer_is_exact_where_constraints_are_broken(make: Callable[[int, int], Purging], block: int) -> None:
    lost = brought_back = 0
    for seed in seeds(6, start=block * 1000):
        found = make(seed, 36)
        want = expected(found.case, found.query, found.catalog)
        lost += log_of(found, Forgetting(), Random(seed))[0] != want
        ways = [(SPILL, Random(seed), 1, True), (SPILL, seed % 5, 3, False), (Forgetting(7, spill=True), 3, 1, False)]
        for forgetting, cuts, cells, restarts in ways:
            got, on_disk = log_of(found, forgetting, cuts, cells, restarts)
            assert got == want, (seed, forgetting, cells, restarts, found.case.script)
            brought_back += on_disk.brought_back
    # Else the cases would show nothing.
    assert lost
    assert brought_back


@pytest.mark.parametrize("seed", seeds(8))
def test_cells_that_are_tried_again_and_move_bring_back_each_row_once(seed: int, tmp_path: Path) -> None:
    """As on Spark: a step that is tried again starts from the state before it, whose files must be there."""
    found = (spilling_case if seed % 2 else other_case)(300 + seed, 30)
    got = pretended(found.case, found.query, found.catalog, 1 + 2 * (seed % 2), Random(seed), tmp_path)
    assert got == expected(found.case, found.query, found.catalog), found.case.script

"""What is purged is not missed: with data that keeps its declarations, the answer is the reference's."""

from __future__ import annotations

from random import Random

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators import machine
from tests.engines.comparing import Log, batches, embedded, expected, logged
from tests.engines.spark.pretending import pretended
from tests.engines.test_embedded import restart
from tests.purging.cases import purging_case


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        found = purging_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)


@pytest.mark.parametrize("seed", range(30))
def test_a_purge_goes_on_from_its_pages(seed: int) -> None:
    found = purging_case(1000 + seed)
    engine = EmbeddedEngine(found.query, found.catalog, {}, 1 + seed % 2)
    pages: dict[tuple[int, int], dict[str, bytes]] = {}
    log: Log = Log()
    for name, rows in batches(found.case, engine, found.catalog, Random(seed)):
        engine.push(name, rows)
        log += logged(engine.advance(), found.query)
        restart(engine, pages)
    log += logged(engine.finish(), found.query)
    assert log == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", range(20))
def test_spark_s_tasks_and_retries_do_not_matter(seed: int) -> None:
    found = purging_case(2000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog)


@pytest.mark.parametrize("seed", range(30))
def test_slices_of_a_step_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SLICE", 4)
    found = purging_case(3000 + seed)
    got = embedded(found.case, found.query, found.catalog, 1, 0)
    assert got == expected(found.case, found.query, found.catalog)

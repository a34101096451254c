"""Probe paths are values: whatever order rows probe the other inputs in, and whenever it is replaced, answers agree."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.probe_paths import ProbeKind, probe_paths
from tests.engines.comparing import Log, batches, bound, expected, logged, table
from tests.engines.test_path_counting import aggregates
from tests.generators import Case, cases


@given(cases(), st.integers(0, 2**32))
def test_paths_that_are_replaced_between_steps_give_the_same_answers(case: Case, seed: int) -> None:
    check(case, Random(seed))


@given(aggregates(), st.integers(0, 2**32))
def test_joins_that_count_along_other_paths_give_the_same_answers(case: Case, seed: int) -> None:
    check(case, Random(seed))


def check(case: Case, random: Random) -> None:
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, 1, case.horizon)
    log: Log = Log()
    for name, rows in batches(case, engine, catalog, random):
        shuffle_paths(engine, random)
        engine.push(name, rows)
        log += logged(engine.advance(), query)
    assert log + logged(engine.finish(), query) == expected(case, query, catalog)


def shuffle_paths(engine: EmbeddedEngine, random: Random) -> None:
    """Gives each join other paths, in any order of the inputs."""
    for machines in engine._machines:
        for join in (join for machine in machines for join in machine.joins):
            count = len(join.inputs)
            orders = [random.sample([n for n in range(count) if n != start], count - 1) for start in range(count)]
            join.use(join.in_order(orders))


def test_an_input_that_is_probed_by_a_key_comes_first() -> None:
    (first, *_) = probe_paths([(0, 0), (0, None), (None, 0)], keys=[(2, (1,))])
    assert [(stage.target, stage.kind) for stage in first] == [(2, ProbeKind.KEY), (1, ProbeKind.EQUALITY)]


def test_inputs_that_share_nothing_are_a_product() -> None:
    (first, _) = probe_paths([(0, None), (None, 0)])
    assert first[0].kind is ProbeKind.PRODUCT

"""Settings change at the boundaries of steps, are checked when they are set, are recorded, and change no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import PenstockError
from penstock.algebra.expressions import conjuncts
from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.embedded_run import open_run
from penstock.engines.handed import Handed
from penstock.engines.metrics import CONTROLS
from penstock.monitor.control import Controls
from penstock.operators.filters.conjuncts import Conjuncts
from penstock.plan.setting_change import SettingChange
from penstock.sql import bind_text
from tests.engines.comparing import Log, batches, bound, expected, logged, table
from tests.generators import Case, cases
from tests.purging.cases import purging_case
from tests.purging.test_emission import closing_case
from tests.purging.test_other_operators import forgetting_case
from tests.seeds import seeds

SOME = settings(max_examples=settings().max_examples // 3)

#: Values of the settings that no result depends on.
VALUES = {
    "purge_every": ["eager", "1", "3", "50", "0 SECONDS", "3 SECONDS"],
    "monitors": ["on", "off"],
    "k_threshold": ["declared", "100000"],
    "adaptive": ["off", "orders", "full"],
    "adaptive.strategy": ["auto", "a-greedy", "sweep", "independent", "local-swaps"],
    "adaptive.drop_profiling_probability": ["0", "0.01", "1"],
    "adaptive.profile_window": ["64", "1000"],
    "adaptive.thrash_avoidance": ["0.1", "1"],
}


def random_change(controls: Controls, random: Random) -> None:
    """Sets something, an order of filters if there is one to set."""
    orders = [each for each in controls if each.name.startswith("filter_order.")]
    if orders and random.random() < 0.5:
        chosen = random.choice(orders)
        count = 1 + int(chosen.type.partition(" to ")[2].partition(" ")[0])
        order = " ".join(map(str, random.sample(range(count), count)))
        controls.set(chosen.name, random.choice([order, order, "auto"]))
        return
    name = random.choice(list(VALUES))
    controls.set(name, random.choice(VALUES[name]))


@contextmanager
def all_dear() -> Iterator[None]:
    """All conjuncts are ordered, in chunks of three rows."""

    def dear(exprs: object, schema: object) -> Conjuncts:
        return Conjuncts((), (), tuple(part for expr in exprs for part in conjuncts(expr)))  # type: ignore[attr-defined]

    with (
        patch("penstock.operators.filters.filters.Conjuncts.of", dear),
        patch("penstock.operators.filters.filter_chain.CHUNK", 3),
    ):
        yield


def adjusted(case: Case, query: Query, catalog: Catalog, cells: int, random: Random) -> Log:
    """Runs a case, and changes some setting before every step."""
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    controls = Controls([engine])
    log: Log = Counter()
    for name, rows in batches(case, engine, catalog, random):
        random_change(controls, random)
        controls.apply()
        engine.push(name, rows)
        log += logged(engine.advance(), query)
    return log + logged(engine.finish(), query)


@SOME
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_random_settings_at_every_step_give_the_reference(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with all_dear():
        assert adjusted(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize("seed", seeds(12))
def test_random_settings_of_joins_that_purge_give_the_reference(seed: int) -> None:
    made = (purging_case, forgetting_case, closing_case)[seed % 3]
    found = made(7000 + seed)
    want = expected(found.case, found.query, found.catalog)
    assert adjusted(found.case, found.query, found.catalog, 1 + seed % 2, Random(seed)) == want, found.case.script


SQL = """
CREATE STREAM s (a BIGINT, t STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT a FROM s [RANGE 1 SECOND] WHERE UPPER(t) LIKE '%X%' AND LOWER(t) LIKE '%y%';
"""


def engine_of(sql: str = SQL) -> EmbeddedEngine:
    script = bind_text(sql).checked()
    return EmbeddedEngine(script.queries[0], script.catalog)


def rows(count: int) -> pa.RecordBatch:
    texts = ["xy", "x", "y", ""]
    columns = {"a": list(range(count)), "t": [texts[n % 4] for n in range(count)], "ts": list(range(count))}
    table = pa.table(columns).cast(
        pa.schema([("a", pa.int64()), ("t", pa.string()), ("ts", pa.timestamp("us", "UTC"))])
    )
    return table.to_batches()[0]


def test_a_change_waits_for_the_boundary_and_is_recorded() -> None:
    engine = engine_of()
    controls = Controls([engine])
    assert controls.set("purge_every", "10000").value == "10000"
    assert engine.settings.forgetting.rows is None
    controls.apply()
    assert engine.settings.forgetting.rows == 10_000
    engine.push("s", rows(10))
    engine.advance()
    (line,) = [line for line in engine.metrics() if line.operator == CONTROLS]
    assert line.changes == (SettingChange("purge_every", "eager", "10000"),)
    assert not [line for line in engine.metrics() if line.operator == CONTROLS]


def test_a_pinned_order_is_the_order_until_it_is_released() -> None:
    engine = engine_of()
    controls = Controls([engine])
    (name,) = [each.name for each in controls if each.name.startswith("filter_order.")]
    controls.set(name, "1 0")
    controls.apply()
    for _ in range(3):
        engine.push("s", rows(5000))
        engine.advance()
        (source,) = [line for line in engine.metrics() if line.operator == "source"]
        assert [text[:5] for text in source.filter_order] == ["LOWER", "UPPER"]
    assert controls.set(name, "auto").value == "auto"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("purge_evry", "5", "did you mean purge_every"),
        ("purge_every", "soon", "neither a number of rows nor a time"),
        ("purge_every", "0", "neither a number of rows nor a time"),
        ("wait_timeout", "1 FORTNIGHT", "is not a time"),
        ("monitors", "maybe", "choose one of on, off"),
        ("k_threshold", "-1", "whole number"),
        ("adaptive", "some", "choose one of off, orders, full"),
        ("adaptive.profile_window", "many", "whole number"),
        ("adaptive.confidence", "nan", "a number from 0"),
        ("adaptive.strategy", "random", "choose one of"),
        ("step_rows", "0", "at least 1"),
        ("read_limit", "none", "at least 1"),
        ("log_level", "loud", "choose one of"),
        ("filter_order.s/0.s", "0 0", "is not an order of 2 filters"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(name: str, value: str, said: str) -> None:
    engine = engine_of()
    controls = Controls([engine])
    before = list(controls)
    with pytest.raises(PenstockError) as error:
        controls.set(name, value)
    assert said in str(error.value)
    controls.apply()
    assert list(controls) == before


def test_a_read_limit_makes_steps_smaller() -> None:
    script = bind_text(
        "CREATE STREAM s (a BIGINT, t STRING, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM s [NOW]"
    ).checked()
    run = open_run(script.queries, script.catalog, {"s": Handed("s", pa.Table.from_batches([rows(1000)]))})
    controls = Controls(run.engines)
    run.between_steps = controls.apply
    controls.set("read_limit", "100")
    ends = [result for result in run.results() if result is not None and result.ends_step]
    assert len(ends) == 11

"""Stacks of IN, EXISTS and their negations that are filters give the reference's answer, in whatever order they run."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.pipelined_filters import PipelinedFilters
from penstock.algebra.relations import walk_relations
from penstock.algebra.rewrites import normalise
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.filters.profile import Ghosts, OrderedFilters, ProfileRequest
from penstock.plan.adaptivity import Adaptive
from penstock.plan.fragments import Plan
from penstock.plan.planner import plan
from penstock.sql import bind_text
from penstock.workloads import filters as data
from penstock.workloads.filters import CorrelatedFilters
from tests.engines.comparing import Log, batches, bound, embedded, expected, logged, table
from tests.engines.restarting import restart, restarted
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.seeds import IS_THOROUGH

DDL = "\n".join(
    [
        "CREATE STREAM s0 (a BIGINT, b BIGINT, c STRING, ts BIGINT) TIMESTAMP BY ts DELAY 2 MICROSECONDS;",
        "CREATE STREAM s1 (a BIGINT, b BIGINT, c STRING, ts BIGINT) TIMESTAMP BY ts;",
        "CREATE STREAM s2 (a BIGINT, b BIGINT, c STRING, ts BIGINT) TIMESTAMP BY ts DELAY 1 MICROSECONDS;",
        "CREATE TABLE t (a BIGINT, b BIGINT, c STRING);",
    ]
)
SIDES = (
    *(f"s1 {window}" for window in ("[ROWS 3]", "[RANGE 2 MICROSECONDS]", "[PARTITION BY a ROWS 1]", "[UNBOUNDED]")),
    *(f"s2 {window}" for window in ("[ROWS 2]", "[NOW]", "[RANGE 4 MICROSECONDS SLIDE 2 MICROSECONDS]")),
    "t",
    "t",
)
LEFT_WINDOWS = ("[NOW]",) * 6 + ("[RANGE 2 MICROSECONDS]", "[ROWS 3]", "[UNBOUNDED]")
FORMS = (
    "{left} IN (SELECT {right} FROM {side} x WHERE {where})",
    "{left} NOT IN (SELECT {right} FROM {side} x WHERE {where})",
    "EXISTS (SELECT * FROM {side} x WHERE x.{right} = {left} AND {where})",
    "NOT EXISTS (SELECT * FROM {side} x WHERE x.{right} = {left} AND {where})",
    "NOT EXISTS (SELECT * FROM {side} x WHERE x.{right} = {left} AND x.c = s0.c AND {where})",
    "EXISTS (SELECT * FROM {side} x WHERE {where})",
    "EXISTS (SELECT * FROM {side} x WHERE x.{right} < {left} AND {where})",
)
WHERE = ("TRUE", "TRUE", "x.b > 0", "x.c IS NOT NULL", "x.a = s0.a", "s0.b <> 1")
OUTPUTS = ("SELECT ISTREAM(s0.a, s0.b)", "SELECT s0.a, s0.c", "SELECT DSTREAM(s0.a)", "SELECT RSTREAM(s0.b)")


@st.composite
def stacks(draw: st.DrawFn) -> Case:
    conjuncts = []
    for _ in range(draw(st.integers(1, 6))):
        form, side, where = (draw(st.sampled_from(choices)) for choices in (FORMS, SIDES, WHERE))
        left = draw(st.sampled_from(("s0.a", "s0.b", "s0.a + s0.b")))
        right = draw(st.sampled_from(("a", "b")))
        conjuncts.append(form.format(left=left, right=right, side=side, where=where))
    window = draw(st.sampled_from(LEFT_WINDOWS))
    query = f"{draw(st.sampled_from(OUTPUTS))} FROM s0 {window} WHERE {' AND '.join(conjuncts)} ALLOW UNBOUNDED"
    few = st.one_of(st.integers(0, 2), st.integers(0, 2), st.none())
    row = st.tuples(few, few, st.sampled_from((None, "u", "v")))
    data = {}
    for name, most in (("s0", 10), ("s1", 8), ("s2", 8)):
        rows = draw(st.lists(row, max_size=most))
        times = sorted(draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
        if draw(st.booleans()):
            times = [max(0, ts - draw(st.integers(0, 3))) for ts in times]
        data[name] = [(*values, ts) for values, ts in zip(rows, times, strict=True)]
    data["t"] = draw(st.lists(row, max_size=3))
    return Case(DDL, query, data, draw(st.sampled_from([None, 12])), "")


def filters_of(planned: Plan) -> list[PipelinedFilters]:
    nodes = [node for fragment in planned.fragments for node in walk_relations(fragment.root)]
    return [node for node in nodes if isinstance(node, PipelinedFilters)]


@given(stacks(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_filters_give_the_reference_s_answer(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, Random(seed)):
        assert embedded(case, query, catalog, cells, cuts) == want


@given(stacks(), st.sampled_from([1, 2]), st.integers(0, 2**32))
def test_orders_that_are_replaced_between_steps_and_restarts_give_the_same_answer(
    case: Case, cells: int, seed: int
) -> None:
    query, catalog = bound(case)
    random = Random(seed)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    pages: dict[tuple[int, int], dict[str, bytes]] = {}
    log: Log = Log()
    for name, rows in batches(case, engine, catalog, random):
        shuffle_orders(engine, random)
        engine.push(name, rows)
        log += logged(engine.advance(), query)
        if random.random() < 0.2:
            restart(engine, pages)
    assert log + logged(engine.finish(), query) == expected(case, query, catalog)


def shuffle_orders(engine: EmbeddedEngine, random: Random) -> None:
    """Gives all filters another order now and between two chunks, and samples some or all rows."""
    for operator in (
        each for machines in engine._machines for machine in machines for each in machine.pipelined_filters
    ):
        operator.tune(RandomOrders(random), random.choice((0.0, 0.3, 1.0)), budget=1.0)


class RandomOrders:
    """A tuner that knows nothing."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def adopt(self, chain: OrderedFilters) -> None:
        assert sorted(chain.order) == list(range(len(chain.order)))
        self.between(chain)

    def between(self, chain: OrderedFilters) -> None:
        order = self._random.sample(found := chain.profile().order, len(found))
        wanted = ProfileRequest(self._random.randint(0, 3), 1.0, self._random.choice([*Ghosts]), 0)
        chain.use(tuple(order), wanted)


@settings(max_examples=300 if IS_THOROUGH else 40)
@given(stacks(), st.integers(0, 2**32))
def test_filters_go_on_from_their_pages(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    assert restarted(case, query, catalog, 2, Random(seed)) == expected(case, query, catalog)


@settings(max_examples=100 if IS_THOROUGH else 12)
@given(stacks(), st.integers(0, 2**32))
def test_filters_run_on_spark_s_way_of_working(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    assert pretended(case, query, catalog, 2, Random(seed)) == expected(case, query, catalog)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_long_streams_in_few_steps_give_the_same_answer_whatever_the_order(seed: int) -> None:
    random = Random(seed)

    def value() -> int | None:
        return None if random.random() < 0.02 else random.randint(0, 5)

    conjuncts = [f"s0.{random.choice('ab')} IN (SELECT {random.choice('ab')} FROM s1 [ROWS {n}])" for n in (7, 9)]
    conjuncts += ["s0.b NOT IN (SELECT a FROM s2 [RANGE 2 MICROSECONDS] WHERE a IS NOT NULL)"]
    data = {
        name: [(value(), value(), random.choice("uv"), ts // 3) for ts in range(300)] for name in ("s0", "s1", "s2")
    }
    case = Case(DDL, f"SELECT s0.a, s0.b FROM s0 [NOW] WHERE {' AND '.join(conjuncts)}", {**data, "t": []}, None, "")
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cells, cuts in ((1, 0), (1, 64), (3, Random(seed))):
        assert embedded(case, query, catalog, cells, cuts) == want


def planned_of(query: str, cells: int = 1) -> Plan:
    bound_query, catalog = bound(Case(DDL, query, {}, None, ""))
    return plan(normalise(bound_query), cells, catalog)


IN_S1 = "s0.a IN (SELECT a FROM s1 [ROWS 10])"
IN_T = "s0.b IN (SELECT b FROM t)"
LESS = "EXISTS (SELECT * FROM s2 [ROWS 3] WHERE s2.a < s0.a)"


@pytest.mark.parametrize(
    ("window", "where", "filters", "joins"),
    [
        ("[NOW]", (IN_S1, IN_T), [2], 0),
        ("[NOW]", (IN_S1, LESS, IN_T), [2], 1),
        ("[RANGE 1 HOUR]", (IN_T, "s0.a IN (SELECT a FROM t)"), [2], 0),
        ("[RANGE 1 HOUR]", (IN_T, IN_S1), [1], 1),
        ("[RANGE 1 HOUR]", (IN_S1,), [], 1),
        ("[NOW]", ("s0.a NOT IN (SELECT a FROM s1 [ROWS 10])",), [3], 0),
    ],
)
def test_a_row_is_judged_once_where_its_outcome_cannot_change(
    window: str, where: tuple[str, ...], filters: list[int], joins: int
) -> None:
    planned = planned_of(f"SELECT s0.a FROM s0 {window} WHERE {' AND '.join(where)}")
    assert [len(node.filters) for node in filters_of(planned)] == filters
    nodes = [node for node in walk_relations(planned.last.root) if isinstance(node, PhysicalJoin)]
    assert len([node for node in nodes if node.kind is not JoinKind.JOIN]) == joins


def test_filters_of_one_column_share_a_fragment() -> None:
    conjuncts = [IN_S1, "s0.a NOT IN (SELECT a FROM s2 [ROWS 3] WHERE a IS NOT NULL)", IN_T]
    planned = planned_of(f"SELECT s0.a FROM s0 [NOW] WHERE {' AND '.join(conjuncts)} AND s0.a IS NOT NULL", 4)
    assert [len(node.filters) for node in filters_of(planned)] == [2, 1]


@pytest.mark.parametrize("rows", [400, 4000])
def test_what_is_kept_is_bounded_by_the_windows(rows: int) -> None:
    query = (
        f"SELECT s0.a, s0.b FROM s0 [NOW] WHERE {IN_S1} AND NOT EXISTS (SELECT * FROM s2 [ROWS 7] WHERE s2.a = s0.b)"
    )
    random = Random(1)
    data = {
        name: [(random.randint(0, 10**6), random.randint(0, 3), "u", ts) for ts in range(rows)]
        for name in ("s0", "s1", "s2")
    }
    case = Case(DDL, query, {**data, "t": []}, None, "")
    bound_query, catalog = bound(case)
    engine = EmbeddedEngine(bound_query, catalog)
    for name, part in batches(case, engine, catalog, 50):
        engine.push(name, part)
        engine.advance()
    # Each window's rows and at most as many keys; one instant of s0.
    assert engine.state()[0] <= 2 * (10 + 7) + 2


def test_a_run_orders_its_filters_and_its_metrics_say_so() -> None:
    model = CorrelatedFilters((0.9, 0.9, 0.1, 0.1))
    words = model.words(8_000, np.random.default_rng(0))
    script = bind_text(data.script(model.count)).checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, adaptive=Adaptive(strategy="a-greedy"))
    for name, rows in data.tables(words, model.count, np.random.default_rng(0)).items():
        engine.push(name, rows.combine_chunks().to_batches()[0])
    engine.advance()
    (operator,) = engine._machines[0][0].pipelined_filters
    assert set(operator.order[:2]) & {2, 3}
    (reported,) = [each for each in engine.metrics() if each.operator.startswith("filters")]
    assert reported.filter_order == tuple(operator.texts[number] for number in operator.order)
    assert sum(reported.evaluations) < 2 * len(words)


def test_filters_over_one_window_store_its_rows_once() -> None:
    query = (
        "SELECT s0.a FROM s0 [NOW] WHERE s0.a IN (SELECT a FROM s1 [ROWS 10]) AND s0.b IN (SELECT a FROM s1 [ROWS 10])"
    )
    rows = {name: [(ts, ts, "u", ts) for ts in range(100)] for name in ("s0", "s1")}
    case = Case(DDL, query, {**rows, "s2": [], "t": []}, None, "")
    bound_query, catalog = bound(case)
    engine = EmbeddedEngine(bound_query, catalog)
    for name, part in batches(case, engine, catalog, 0):
        engine.push(name, part)
    engine.finish()
    (operator,) = engine._machines[0][0].pipelined_filters
    keys = sum(map(len, operator._sides))
    assert keys == 20
    assert engine.state()[0] <= 10 + keys + 1

"""Joins that order themselves: the cheapest paths, samples that are right, decisions that are seen and pinned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock.adaptive.joins.cheapest_path import (
    Order,
    Sizes,
    cheapest_order,
    greedy_order,
    moved_forward,
    path_cost,
    sets_along,
)
from penstock.adaptive.joins.join_tuner import AdaptiveJoinTuner
from penstock.adaptive.joins.remembered import restored_join, saved_join
from penstock.engines.embedded import EmbeddedEngine
from penstock.kernels.join_samples import FOLLOWED
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan import probe_paths
from penstock.plan.adaptivity import FULL, OFF, Adaptive
from penstock.plan.decisions import JoinDecision, decision_of_json, decisions_text
from penstock.plan.join_choice import JoinChoice
from penstock.plan.join_sets import may_follow, set_tree
from penstock.plan.probe_paths import Probe
from penstock.sql import bind_text
from penstock.workloads.join_orders import JoinWorkload, cycle, star
from tests.engines.restarting import Pages, restart

#: Figure 5.3: (a) an acyclic, (b) a cyclic and (c) a star join, as the variables that R1, R2, ... have.
ACYCLIC = tuple(map(frozenset, ({12, 13}, {12}, {13, 34, 35}, {34}, {35, 56}, {56})))
CYCLIC = tuple(map(frozenset, ({12, 14}, {12, 23}, {23, 34}, {34, 14})))
STAR = tuple(map(frozenset, ({12, 13, 14, 15}, {12}, {13}, {14}, {15})))
PARTS = tuple(map(frozenset, ({1}, {1}, {2}, {2})))


def bits(*inputs: int) -> int:
    """A set of R1, R2, ... as bits."""
    return sum(1 << n - 1 for n in inputs)


def orders(start: int, own: Sequence[frozenset[int]]) -> Iterator[Order]:
    """All orders that have a product only where there must be one."""
    for order in permutations(n for n in range(len(own)) if n != start):
        along = sets_along(order)
        if all(t in may_follow(members | 1 << start, own) for members, t in zip(along, order, strict=False)):
            yield order


def random_sizes(random: Random, start: int, own: Sequence[frozenset[int]]) -> Sizes:
    sets = {members: random.choice((0.0, 0.1, 1.0, 3.0)) * random.random() for order in orders(start, own)
            for members in sets_along(order)[1:]}  # fmt: skip
    return Sizes(sets, tuple(random.random() * 5 for _ in own))


@pytest.mark.parametrize("own", [ACYCLIC, CYCLIC, STAR, PARTS], ids=["acyclic", "cyclic", "star", "two components"])
def test_the_cheapest_path_is_that_of_exhaustive_search(own: tuple[frozenset[int], ...]) -> None:
    random = Random(5)
    for _ in range(40):
        start = random.randrange(len(own))
        sizes = random_sizes(random, start, own)
        found = cheapest_order(start, own, sizes)
        best = min(path_cost(order, sizes) for order in orders(start, own))
        assert path_cost(found, sizes) == pytest.approx(best)
        assert found in orders(start, own)


def test_the_greedy_path_leaves_the_fewest_combinations_at_each_probe() -> None:
    random = Random(6)
    for _ in range(20):
        sizes = random_sizes(random, 0, STAR)
        order = greedy_order(0, STAR, sizes)
        for members, target in zip(sets_along(order), order, strict=False):
            following = may_follow(members | 1, STAR)
            assert sizes.combinations[members | 1 << target] == min(
                sizes.combinations[members | 1 << t] for t in following
            )
        assert moved_forward(0, STAR, sizes, order) == order, "it has no violation"


def test_a_join_of_r4_follows_that_of_r3_as_5_2_3_says() -> None:
    """R4 joins R1 only along R3, so a row of R1 probes R3 before R4, and R3 and R5 before R6."""
    assert [n + 1 for n in may_follow(bits(1), ACYCLIC)] == [2, 3]
    assert [n + 1 for n in may_follow(bits(1, 3), ACYCLIC)] == [2, 4, 5]
    sets = {node.members for node in set_tree(0, ACYCLIC, (1, 2, 3, 4, 5))}
    assert bits(3, 4) in sets
    assert bits(4) not in sets


def test_the_logical_filter_that_drops_most_comes_first_as_5_2_3_says() -> None:
    """If R3 joined with R4 (F3) drops most, then R2, then R3 with R5, the path of R1 is R3, R4, R2, R5, R6."""
    kept = {2: 0.9, 3: 0.9, 4: 0.1, 5: 0.95, 6: 0.95}
    sets = {node.members for node in set_tree(0, ACYCLIC, (1, 2, 3, 4, 5))}
    sizes = {members: float(np.prod([kept[n] for n in kept if members >> n - 1 & 1])) for members in sets}
    assert [n + 1 for n in cheapest_order(0, ACYCLIC, Sizes(sizes, (0.0,) * 6))] == [3, 4, 2, 5, 6]


def test_a_path_counts_what_a_probe_expands() -> None:
    """S drops half of the rows and T none, but S has ten matches for each other row. Thesis 5.2 would probe S first."""
    own = (frozenset({1, 2}), frozenset({1}), frozenset({2}))
    assert cheapest_order(0, own, Sizes({0b010: 5.0, 0b100: 1.0, 0b110: 5.0}, (0.0,) * 3)) == (2, 1)


def test_an_input_that_probes_walk_over_is_probed_last() -> None:
    """Both have one match, but in the first a probe passes fifty rows that it does not see."""
    own = (frozenset({1, 2}), frozenset({1}), frozenset({2}))
    sizes = Sizes({0b010: 0.5, 0b100: 0.5, 0b110: 0.25}, (0.0, 50.0, 1.0))
    assert cheapest_order(0, own, sizes) == (2, 1)


def test_of_a_join_of_many_inputs_only_sets_beside_the_order_are_counted() -> None:
    own = [frozenset(range(9)), *(frozenset({n}) for n in range(9))]
    tree = set_tree(0, own, tuple(range(1, 10)))
    assert len(tree) == 9 * 10 // 2
    prefixes = {sum(1 << n for n in range(1, end)) for end in range(2, 11)}
    assert prefixes <= {node.members for node in tree}


def engine_of(workload: JoinWorkload, adaptive: Adaptive = FULL) -> tuple[EmbeddedEngine, JoinCore]:
    bound = bind_text(workload.script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=adaptive)
    (join,) = engine._machines[0][0].joins
    return engine, join


def test_samples_count_the_combinations_of_every_set() -> None:
    """Rows come one stream after the other, so that those that are sampled see all rows of the other streams."""
    script = """
        CREATE STREAM a (w BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM b (x BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM c (y BIGINT, ts BIGINT) TIMESTAMP BY ts;
        CREATE STREAM d (w BIGINT, ts BIGINT) TIMESTAMP BY ts;
        SELECT ISTREAM(a.w, b.y) FROM a [ROWS 90], b [ROWS 90], c [ROWS 90], d [ROWS 90]
        WHERE a.x = b.x AND b.y = c.y AND d.w = a.w;
    """
    random = np.random.default_rng(2)
    bound = bind_text(script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, adaptive=OFF)
    (join,) = engine._machines[0][0].joins
    columns = {"b": "xy", "c": "y", "d": "w", "a": "wx"}
    rows = {name: [random.integers(0, 60, 80).tolist() for _ in own] for name, own in columns.items()}
    for number, (name, own) in enumerate(columns.items()):
        if name == "a":
            engine.advance()
            join.wanted_samples = 10_000
        times = list(range(100 * number, 100 * number + 80))
        engine.push(name, pa.record_batch([*rows[name], times], names=[*own, "ts"]))
    engine.finish()
    samples = join.profile().samples[0]
    assert len(samples.estimates) == 80
    (wanted_w, wanted_x), (b_x, b_y), (c_y,), (d_w,) = (rows[name] for name in "abcd")
    checked = 0
    for row, (w, x) in enumerate(zip(wanted_w, wanted_x, strict=True)):
        in_b = [y for own, y in zip(b_x, b_y, strict=True) if own == x]
        in_c = [c_y.count(y) for y in in_b]
        in_d = d_w.count(w)
        want = {0b0010: len(in_b), 0b1000: in_d, 0b0110: sum(in_c), 0b1010: len(in_b) * in_d, 0b1110: sum(in_c) * in_d}
        if max(want.values()) > FOLLOWED:  # then it is estimated
            continue
        assert dict(zip(samples.sets, samples.estimates[row].tolist(), strict=True)) == pytest.approx(want)
        checked += 1
    assert checked > 40


def run(workload: JoinWorkload, rows: int, adaptive: Adaptive = FULL) -> tuple[EmbeddedEngine, JoinCore, int]:
    engine, join = engine_of(workload, adaptive)
    results = 0
    for piece in workload.pieces(rows, 1 << 14):
        for stream, batch in piece.items():
            engine.push(stream, batch)
        results += engine.advance().num_rows
    return engine, join, results + engine.finish().num_rows


def test_a_star_learns_to_probe_what_drops_most_first() -> None:
    engine, join, results = run(star(), 120_000)
    assert [order[0] for order in join.choice.orders] == [4, 0, 0, 0, 0]
    assert [order[1] for order in join.choice.orders[1:]] == [4, 4, 4, 3]
    _, pinned, as_written = run(star(), 120_000, OFF)
    assert pinned.choice.orders == pinned.first_orders
    assert results == as_written
    spent, written = (sum(map(sum, each.probe_counts().matches)) for each in (join, pinned))
    assert spent < 0.8 * written
    (line,) = (line for line in engine.metrics() if line.probes)
    decided = line.decisions[-1]
    assert isinstance(decided, JoinDecision)
    assert decided.paths[0][:2] == ("hub", "s4")
    assert decided.cost < 0.8 * decided.as_written
    assert decided.earned > 0
    assert decision_of_json(decided.as_json()) == decided
    assert "hub: s4" in decisions_text([decided])


def test_a_cycle_gets_the_indexes_that_its_paths_need() -> None:
    _, join, results = run(cycle(), 60_000)
    assert join.choice.orders[0] == (3, 2, 1), "as d has the fewest matches"
    assert {(probe.target, probe.columns) for path in join.probes for probe in path} <= join._indexes.keys()
    assert results == run(cycle(), 60_000, OFF)[2]


def test_the_choice_is_part_of_the_state_and_the_profile_is_not() -> None:
    engine, join = engine_of(cycle())
    pages: Pages = {}
    for piece in cycle().pieces(60_000, 1 << 14):
        for stream, batch in piece.items():
            engine.push(stream, batch)
        engine.advance()
    assert join.choice.orders != join.first_orders
    restart(engine, pages)
    (again,) = engine._machines[0][0].joins
    assert again is not join
    assert again.choice == join.choice
    assert set(again._indexes) == set(join._indexes)
    assert not again.profile().probes.any()


def test_what_a_tuner_decided_is_remembered() -> None:
    engine, join, _ = run(star(), 60_000)
    assert isinstance(join.tuner, AdaptiveJoinTuner)
    known = saved_join(join.tuner)
    again = restored_join(FULL, known)
    assert saved_join(again) == known
    assert engine.tuners is not None
    assert known in engine.tuners.saved().values()


DRIFTING = """
    CREATE STREAM hub (x BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM a (x BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (y BIGINT, ts BIGINT) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT ISTREAM(hub.x) FROM hub [ROWS 1000], a [ROWS 1000], b [ROWS 1000]
    WHERE hub.x = a.x AND hub.y = b.y;
"""


def test_paths_follow_a_drift_and_return_with_it() -> None:
    """In turn rows of the hub match two of a and hardly any of b, and the other way round."""
    random = np.random.default_rng(4)
    bound = bind_text(DRIFTING).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    (join,) = engine._machines[0][0].joins
    firsts, clock = [], 0
    for period in range(4):
        domains = (500, 20_000) if period % 2 == 0 else (20_000, 500)
        for _ in range(8):
            count = 8192
            x, y = (random.integers(0, domain, count) for domain in domains)
            ts = np.arange(clock, clock + 3 * count, 3)
            clock += 3 * count
            engine.push("hub", pa.record_batch({"x": x, "y": y, "ts": ts}))
            engine.push("a", pa.record_batch({"x": random.permutation(x), "ts": ts + 1}))
            engine.push("b", pa.record_batch({"y": random.permutation(y), "ts": ts + 2}))
            engine.advance()
        firsts.append(join.choice.orders[0][0])
    assert firsts == [2, 1, 2, 1]
    reasons = [each.reason.value for each in join.tuner.log] if isinstance(join.tuner, AdaptiveJoinTuner) else []
    assert "drift" in reasons
    assert "recalled" in reasons


def test_a_query_shows_and_pins_its_paths() -> None:
    workload = star()
    pieces = list(workload.pieces(90_000, 90_000))
    session = penstock.Session()
    for stream in workload.streams:
        session.stream(
            stream.name, pa.Table.from_batches([pieces[0][stream.name]]), timestamp="ts", unit="MICROSECONDS"
        )
    select = workload.script.splitlines()[-1].rstrip(";")
    query = session.query(f"CREATE QUERY q AS {select}")
    rows = sum(table.num_rows for table in query.run())
    (decided, *_) = query.decisions()
    assert isinstance(decided, JoinDecision)
    assert decided.place.startswith("fragment 0 cell 0 join")
    pinned = session.query(f"CREATE QUERY p WITH (adaptive = 'off') AS {select}")
    assert sum(table.num_rows for table in pinned.run()) == rows
    assert pinned.decisions() == []


@pytest.mark.parametrize("strategy", ["auto", "a-greedy"])
def test_each_cell_orders_its_joins_by_itself(strategy: str) -> None:
    bound = bind_text(star().script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog, cells=2, adaptive=Adaptive(strategy=strategy))
    tuners = {id(join.tuner) for machines in engine._machines for machine in machines for join in machine.joins}
    assert len(tuners) == sum(len(machine.joins) for machines in engine._machines for machine in machines)


def test_a_path_that_leaves_an_equality_out_is_refused() -> None:
    _, join = engine_of(cycle())
    (first, second, last), *others = join.choice.paths
    skipping = probe_paths.Stage(last.target, last.variables[:1], last.kind)
    with pytest.raises(AssertionError, match="leaves an equality out"):
        join.use(JoinChoice(((first, second, skipping), *others)))


def test_a_mutant_that_skips_a_predicate_is_caught() -> None:
    located = probe_paths.located

    def skipping(*given: object) -> tuple[tuple[Probe, ...], ...]:
        """Leaves the second of two columns out."""
        return tuple(
            tuple(Probe(each.target, each.columns[:1], each.sources[:1]) for each in path) for path in located(*given)
        )  # type: ignore[arg-type]

    want = run(cycle(), 30_000, OFF)[2]
    with patch("penstock.operators.joins.mjoin.located", skipping):
        assert run(cycle(), 30_000, OFF)[2] != want

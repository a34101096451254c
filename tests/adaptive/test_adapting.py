"""Simulated filters: how good an order is, how soon, and what finding it costs. Costs are given: nothing is timed."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.adaptive.decisions import decisions
from penstock.plan.adaptivity import Adaptive
from penstock.plan.decisions import decisions_text
from penstock.synopsis.memory import Ints
from tests.adaptive.simulating import Simulation, correlated, cost_of, optimum

#: What a filter takes for a row: a user function, say.
MICROSECOND = 1000
EIGHT = 8
PERIOD = 100_000
WEIGHTS = [1, 3, 10, 30, 1, 3, 10, 30]


def rates_of(rng: np.random.Generator) -> list[float]:
    return [float(rate) for rate in rng.uniform(0.2, 0.8, EIGHT)]


def test_a_greedy_comes_to_97_percent_of_the_optimum_and_within_10_000_rows_of_a_permutation() -> None:
    """Thesis 4.7.2, n = 8, correlation factor 2.

    These are means. An order is settled on 400 profile tuples, and a filter that drops α = 0.9 of what the best one
    does may stay before it: of 100 other seeds two came to less than 0.97, the least to 0.95.
    """
    settled, changed = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        costs, rates = [MICROSECOND] * EIGHT, rates_of(rng)
        simulation = Simulation(costs, Adaptive())
        simulation.run(correlated(rng, 60_000, rates, 2))
        settled.append(fraction(simulation, correlated(rng, 20_000, rates, 2), costs))
        simulation.run(correlated(rng, 10_000, rates[::-1], 2))
        changed.append(fraction(simulation, correlated(rng, 20_000, rates[::-1], 2), costs))
    assert sum(settled) / len(settled) >= 0.98, settled
    assert sum(changed) / len(changed) >= 0.97, changed
    assert min(settled) >= 0.93, settled
    assert min(changed) >= 0.92, changed


def test_a_change_that_a_window_is_too_small_to_show_is_seen_within_two_chunks() -> None:
    """The first filter lets a tenth more rows pass, which is less than 5 standard errors of 400 profile tuples."""
    rng = np.random.default_rng(4)
    before, after = [0.76, 0.7, 0.3, 0.2], [0.66, 0.75, 0.3, 0.2]
    simulation = Simulation([MICROSECOND] * 4, Adaptive())
    simulation.run(correlated(rng, 100_000, before, 1))
    assert simulation.tuner is not None
    simulation.run(correlated(rng, 8 * 1024, after, 1))
    latest = simulation.tuner.log.latest
    assert latest is not None
    assert latest.at > 100_000
    assert simulation.chain.order[:2] == (1, 0)


def fraction(simulation: Simulation, words: Ints, costs: list[int]) -> float:
    """Returns which part of the optimum the current order reaches on these rows."""
    return optimum(words, costs)[0] / cost_of(words, simulation.chain.order, costs)


def over_clairvoyant(seed: int, weights: list[int]) -> float:
    """Returns what all evaluations cost, over what the best order of each period does."""
    rng = np.random.default_rng(seed)
    costs = [MICROSECOND * weight for weight in weights]
    rates, spent, best = rates_of(rng), 0, 0
    simulation = Simulation(costs, Adaptive())
    for _ in range(4):
        words = correlated(rng, PERIOD, rates, 2)
        best += optimum(words, costs)[0]
        spent += simulation.run(words)
        rates = [rates[place] for place in rng.permutation(EIGHT)]
    return spent / best


def test_when_rates_permute_every_100_000_rows_all_costs_at_most_6_percent_more_than_the_clairvoyant() -> None:
    found = [over_clairvoyant(seed, [1] * EIGHT) for seed in range(4)]
    assert max(found) <= 1.10, found
    assert sum(found) / len(found) <= 1.06, found


def test_with_costs_from_1_to_30_it_costs_at_most_25_percent_more() -> None:
    found = [over_clairvoyant(seed, WEIGHTS) for seed in range(4)]
    assert max(found) <= 1.25, found


def test_a_regime_that_returns_is_recognised_without_a_profile() -> None:
    rng = np.random.default_rng(1)
    one, other = [0.9, 0.5, 0.1, 0.3], [0.1, 0.3, 0.9, 0.5]
    simulation = Simulation([100] * 4, Adaptive())
    for rates in (one, other, one, other):
        simulation.run(correlated(rng, 40_000, rates, 1))
    assert simulation.tuner is not None
    reasons = [decision.reason.value for decision in simulation.tuner.log]
    assert "recalled" in reasons


def test_the_log_says_what_adaptivity_earned() -> None:
    rng = np.random.default_rng(1)
    simulation = Simulation([100] * 4, Adaptive())
    for rates in ([0.1, 0.3, 0.5, 0.9], [0.9, 0.5, 0.3, 0.1], [0.5, 0.9, 0.1, 0.3]):
        simulation.run(correlated(rng, 40_000, rates, 1))
    assert simulation.tuner is not None
    found = list(decisions("s", simulation.tuner))
    rows = sum(each.rows for each in found)
    assert 100_000 < rows <= 120_000
    spent, single, written = (
        sum(each.rows * cost for each, cost in zip(found, costs, strict=True))
        for costs in zip(*((each.cost, each.best_single, each.as_written) for each in found), strict=True)
    )
    assert spent < single <= written
    assert spent == pytest.approx(written - sum(each.earned for each in found))
    assert "in the best single order" in decisions_text(found)


@pytest.mark.parametrize("strategy", ["a-greedy", "sweep", "independent", "local-swaps", "auto", "random"])
def test_every_strategy_lets_the_same_rows_pass_and_is_better_than_the_worst_order(strategy: str) -> None:
    rng = np.random.default_rng(5)
    costs = [300, 100, 100, 100]
    rates = [0.05, 0.2, 0.5, 0.9]
    settings = Adaptive(strategy=strategy)
    simulation = Simulation(costs, settings)
    words = correlated(rng, 150_000, rates, 1)
    spent = simulation.run(words)
    if strategy != "random":
        assert spent < 0.6 * cost_of(words, (0, 1, 2, 3), costs)

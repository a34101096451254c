"""The streams of thesis 4.7 have the selectivities and correlations that they say."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from penstock.workloads.filters import CorrelatedFilters, best_order, evaluations, tables


@pytest.mark.parametrize("selectivity", [0.2, 0.5, 0.8])
def test_filters_of_a_group_agree_on_four_rows_of_five_and_others_by_chance(selectivity: float) -> None:
    words = CorrelatedFilters((selectivity,) * 4, 2).words(100_000, np.random.default_rng(0))
    passes = [words >> number & 1 == 1 for number in range(4)]
    assert all(abs(own.mean() - selectivity) < 0.01 for own in passes)
    assert abs((passes[0] == passes[1]).mean() - 0.8) < 0.01
    assert abs((passes[1] & passes[2]).mean() - selectivity**2) < 0.01


def test_a_window_holds_just_the_values_whose_words_say_so() -> None:
    words = np.arange(8).repeat(20)
    found = tables(words, 3, np.random.default_rng(0))
    for number in range(3):
        held = set(found[f"s{number + 1}"]["v"].to_pylist()[:10_000])
        values = found["s0"]["v"].to_numpy()
        assert [value in held for value in values] == (words >> number & 1 == 1).tolist()


def test_no_order_is_better_than_the_best() -> None:
    words = CorrelatedFilters((0.3, 0.3, 0.6, 0.6)).words(2_000, np.random.default_rng(1))
    costs = [evaluations(words, order) for order in permutations(range(4))]
    assert evaluations(words, best_order(words, (1.0,) * 4)) == min(costs)

"""After every re-optimization the invariant of a strategy holds for the rows of its window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.adaptive.filters.a_greedy import AGreedy
from penstock.adaptive.filters.greedy_invariant import greedy_order, violation
from penstock.adaptive.filters.independent import Independent
from penstock.adaptive.filters.local_swaps import LocalSwaps
from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import FilterStatistics
from penstock.adaptive.filters.sweep import Sweep
from tests.adaptive.simulating import cost_of, exhaustive

CHEAP = settings(max_examples=60)


@st.composite
def statistics(draw: st.DrawFn, most: int = 6, least_rows: int = 40) -> FilterStatistics:
    count = draw(st.integers(2, most))
    # A few kinds of rows, each often: filters that correlate.
    kinds = draw(st.lists(st.integers(0, 2**count - 1), min_size=1, max_size=8))
    rows = draw(st.lists(st.sampled_from(kinds), min_size=least_rows, max_size=120))
    window = ProfileWindow(count, 1000)
    window.add(np.array(rows, np.int64))
    costs = draw(st.lists(st.integers(1, 30).map(float), min_size=count, max_size=count))
    order = tuple(draw(st.permutations(range(count))))
    return FilterStatistics(order, window, tuple(costs))


@CHEAP
@given(statistics(), st.sampled_from([0.9, 1.0]))
def test_a_greedy_keeps_the_greedy_invariant(given_: FilterStatistics, alpha: float) -> None:
    choice = AGreedy(alpha).choose(given_)
    order = given_.order if choice is None else choice.order
    assert sorted(order) == sorted(given_.order)
    assert violation(given_.window, given_.costs, order, alpha) is None


@CHEAP
@given(statistics())
def test_independent_keeps_its_invariant(given_: FilterStatistics) -> None:
    choice = Independent(1.0).choose(given_)
    order = given_.order if choice is None else choice.order
    first = given_.window.everything
    rates = [given_.window.drops(number, first) / given_.costs[number] for number in order]
    assert rates == sorted(rates, reverse=True)


@CHEAP
@given(statistics())
def test_local_swaps_end_where_no_neighbours_are_in_the_wrong_order(given_: FilterStatistics) -> None:
    """Each swap makes the order cheaper, so there is an end."""
    current = given_
    while (choice := LocalSwaps(1.0).choose(current)) is not None:
        cheaper = current.window.cost(choice.order, current.costs)
        assert cheaper < current.window.cost(current.order, current.costs)
        current = FilterStatistics(choice.order, current.window, current.costs)
    alive = current.window.everything
    for own, other in zip(current.order, current.order[1:], strict=False):
        drops = current.window.drops(other, alive) * current.costs[own]
        assert current.window.drops(own, alive) * current.costs[other] >= drops
        alive = current.window.left(own, alive)


@CHEAP
@given(statistics(most=5))
def test_sweep_ends_at_an_order_with_the_greedy_invariant(given_: FilterStatistics) -> None:
    sweep, current, unchanged = Sweep(1.0, stage=1), given_, 0
    for _ in range(500):
        choice = sweep.choose(current)
        assert choice is not None
        assert choice.forgets
        unchanged = unchanged + 1 if choice.order == current.order else 0
        current = FilterStatistics(choice.order, current.window, current.costs)
        if unchanged == len(current.order) - 1:
            break
    assert violation(current.window, current.costs, current.order) is None


@CHEAP
@given(statistics(most=6, least_rows=1))
def test_greedy_costs_at_most_four_times_the_best_order(given_: FilterStatistics) -> None:
    """Theorem 4.3.1."""
    window = given_.window
    words = np.zeros(window.rows, np.int64)
    for number, plane in enumerate(window.planes):
        words |= np.array([plane >> row & 1 for row in range(window.rows)], np.int64) << number
    costs = [int(cost) for cost in given_.costs]
    greedy = greedy_order(window, given_.costs)
    spent = cost_of(words, greedy, costs)
    assert window.cost(greedy, given_.costs) * window.rows == pytest.approx(spent)
    assert spent <= 4 * exhaustive(words, costs)

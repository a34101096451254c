"""The thesis's examples of chapter 4."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

from penstock.adaptive.filters.a_greedy import AGreedy
from penstock.adaptive.filters.greedy_invariant import corrected, greedy_order, violation
from penstock.adaptive.filters.independent import Independent
from penstock.adaptive.filters.local_swaps import LocalSwaps
from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import FilterStatistics
from penstock.operators.filters.profile import FilterOrder
from penstock.synopsis.memory import Ints
from tests.adaptive.simulating import cost_of, optimum

#: Figure 4.2, as far as the text and figure 4.3 say it: which of F1 to F4 drop a tuple.
DROPS = {1: (), 2: (3,), 4: (2, 3, 4), 7: (1,), 5: (1, 2, 4), 3: (4,), 6: (2, 3, 4)}
INPUT = (1, 2, 1, 4, 7, 2, 5, 4)
ONES = (1.0, 1.0, 1.0, 1.0)


def words(tuples: tuple[int, ...]) -> Ints:
    return np.array([sum(1 << number - 1 for number in DROPS[each]) for each in tuples], np.int64)


def order(*numbers: int) -> FilterOrder:
    return tuple(number - 1 for number in numbers)


def window(tuples: tuple[int, ...], capacity: int = 6) -> ProfileWindow:
    found = ProfileWindow(4, capacity)
    found.add(words(tuple(each for each in tuples if DROPS[each])))
    return found


def test_4_2_1_orders_take_20_18_and_16_probes_and_the_last_is_best() -> None:
    costs = [1, 1, 1, 1]
    given = words(INPUT)
    assert cost_of(given, order(1, 2, 3, 4), costs) == 20
    assert cost_of(given, order(3, 2, 4, 1), costs) == 18
    assert cost_of(given, order(3, 1, 2, 4), costs) == 16
    assert optimum(given, costs)[0] == 16


def matrix_view(profiled: ProfileWindow, order: FilterOrder) -> list[list[int]]:
    """The matrix view V, of which row i has the columns from i on."""
    alive, view = profiled.everything, []
    for position, number in enumerate(order):
        view.append([profiled.drops(other, alive) for other in order[position:]])
        alive = profiled.left(number, alive)
    return view


def test_4_3_2_the_matrix_view_is_that_of_figure_4_4_and_the_invariant_holds() -> None:
    profiled = window(INPUT)
    assert matrix_view(profiled, order(3, 1, 2, 4)) == [[4, 2, 3, 3], [2, 1, 1], [0, 0], [0]]
    assert violation(profiled, ONES, order(3, 1, 2, 4)) is None
    assert violation(profiled, ONES, order(1, 2, 3, 4)) == 0


def test_4_3_3_two_more_tuples_violate_the_invariant_at_the_first_position_and_f4_moves_there() -> None:
    """The text gives the new order as F4, F3, F1, F2: F4 drops more than F3 now."""
    profiled = window((*INPUT, 3, 6))
    current = order(3, 1, 2, 4)
    assert profiled.rows == 6
    assert violation(profiled, ONES, current) == 0
    mended = corrected(profiled, ONES, current, 0)
    assert mended[0] == 3
    assert violation(profiled, ONES, mended) is None
    assert profiled.cost(mended, ONES) == min(profiled.cost(each, ONES) for each in permutations(range(4)))


def test_4_5_1_independent_costs_half_of_n_where_a_greedy_costs_one_and_a_half() -> None:
    """F1 to Fn-1 let 1..49 through, and Fn 50..100, so that nothing passes."""
    n = 8
    numbers = np.arange(1, 101)
    low = (numbers > 49).astype(np.int64) * ((1 << n - 1) - 1)
    given = low | ((numbers < 50).astype(np.int64) << n - 1)
    costs = [1] * n
    known = ProfileWindow(n, 100)
    known.add(given)
    everything = FilterStatistics(tuple(range(n)), known, (1.0,) * n)
    greedy = AGreedy().choose(everything)
    assert greedy is not None
    assert Fraction(cost_of(given, greedy.order, costs), 100) == Fraction(149, 100)
    assert optimum(given, costs)[0] == 149
    assert Independent().choose(everything) is None, "the written order satisfies its invariant"
    assert cost_of(given, everything.order, costs) == 49 * n + 51


def test_4_6_1_local_swaps_stay_where_no_neighbours_are_to_be_swapped() -> None:
    """Each of F1 to Fn drops a part of its own; then Fn drops all but the part of Fn-1.

    The thesis counts 50(n+1) filters a tuple before and 1 + 200/n after; it is (n+1)/2 and, of the best order, 1 + 1/n.
    """
    n = 10
    parts = np.arange(100) // (100 // n)
    before = np.int64(1) << parts
    costs = [1] * n
    assert Fraction(cost_of(before, tuple(range(n)), costs), 100) == Fraction(n + 1, 2)
    others = before & ~(np.int64(1) << n - 1)
    after = others | ((parts != n - 2).astype(np.int64) << n - 1)
    known = ProfileWindow(n, 100)
    known.add(after)
    everything = FilterStatistics(tuple(range(n)), known, (1.0,) * n)
    assert LocalSwaps(1.0).choose(FilterStatistics(tuple(range(n)), window_of(before, n), (1.0,) * n)) is None
    choice = AGreedy(1.0).choose(everything)
    assert choice is not None
    assert choice.order[:2] == (n - 1, n - 2)
    assert Fraction(cost_of(after, choice.order, costs), 100) == 1 + Fraction(1, n)
    assert greedy_order(known, everything.costs)[:2] == (n - 1, n - 2)


def window_of(given: Ints, filters: int) -> ProfileWindow:
    known = ProfileWindow(filters, len(given))
    known.add(given)
    return known

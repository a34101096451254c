"""The greedy invariant (definition 4.3.1): of the rows that come to a filter, none behind it drops more per time.

`violation` finds where an order breaks it (figure 4.6), and `corrected` mends the order from there on (figure 4.7). Two
slips of figure 4.7 are mended: line 3 must run up to `maxr` (`r < maxr` never runs when both begin at i), and lines 22
to 25 must permute f, with k from 1. An order that satisfies the invariant costs at most 4 times the best one, and at
most 4/α times where violations by less than α are let be (theorem 4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.adaptive.filters.statistics import wilson
from penstock.operators.filters.profile import FilterOrder


def violation(
    window: ProfileWindow, costs: Sequence[float], order: FilterOrder, alpha: float = 1.0, z: float = 0.0
) -> int | None:
    """Returns the first position at which another filter is better than the one that stands there; None if none is.

    It has to be better by α (equation 4.4), and over the intervals of both rates (7.2), which are z standard errors
    wide.
    """
    alive = window.everything
    for position, number in enumerate(order):
        own = window.drops(number, alive)
        rows = alive.bit_count()
        for other in order[position + 1 :]:
            if is_better(window.drops(other, alive), costs[other], own, costs[number], rows, alpha, z):
                return position
        alive = window.left(number, alive)
    return None


def is_better(drops: int, cost: float, than_drops: int, than_cost: float, rows: int, alpha: float, z: float) -> bool:
    """Returns whether a filter drops more of some rows per time than another."""
    if not alpha * drops * than_cost > than_drops * cost:
        return False
    if z == 0:
        return True
    return wilson(drops, rows, z)[0] * than_cost > wilson(than_drops, rows, z)[1] * cost


def corrected(window: ProfileWindow, costs: Sequence[float], order: FilterOrder, start: int = 0) -> FilterOrder:
    """Returns an order with the greedy invariant from a position on, if it holds before and where nothing is moved."""
    mended = list(order)
    alive = window.everything
    for number in order[:start]:
        alive = window.left(number, alive)
    position = moved_up_to = start
    while position <= moved_up_to and position < len(mended):
        best = max(
            range(position, len(mended)), key=lambda place: window.drops(mended[place], alive) / costs[mended[place]]
        )
        mended[position], mended[best] = mended[best], mended[position]
        moved_up_to = max(moved_up_to, best)
        alive = window.left(mended[position], alive)
        position += 1
    return tuple(mended)


def greedy_order(window: ProfileWindow, costs: Sequence[float]) -> FilterOrder:
    """Returns the order of Static Greedy (4.3) for the rows of a window."""
    order = tuple(range(len(costs)))
    alive, left, found = window.everything, list(order), []
    while left:
        best = max(left, key=lambda number: window.drops(number, alive) / costs[number])
        left.remove(best)
        found.append(best)
        alive = window.left(best, alive)
    return tuple(found)

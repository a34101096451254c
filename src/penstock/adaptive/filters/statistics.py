"""Statistics of filters, on which an order is chosen, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Protocol

from penstock.adaptive.filters.profile_window import ProfileWindow
from penstock.operators.filters.profile import PROFILE_ALL, FilterOrder, ProfileRequest


@dataclass(frozen=True, slots=True)
class FilterStatistics:
    """What is known of filters, and the order in which they are evaluated."""

    order: FilterOrder
    window: ProfileWindow
    #: By filter, the time for a row, above 0.
    costs: tuple[float, ...]
    #: Whether the order was chosen on this window. Then another has to be better over the intervals of what was
    #: measured
    #: (7.2); one that was only inherited has no such claim.
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """An order for what comes, and the profile that is wanted of it."""

    order: FilterOrder
    wanted: ProfileRequest = field(default=PROFILE_ALL)
    #: Whether the profile window begins anew, for what it holds says nothing of the next question.
    forgets: bool = False


class OrderingStrategy(Protocol):
    """Chooses an order by statistics."""

    def wanted(self, order: FilterOrder) -> ProfileRequest:
        """Returns which profile it needs while this order is used."""

    def drifted(self) -> None:
        """Is called when rows begin to pass at other rates, with an empty window."""

    def choose(self, statistics: FilterStatistics) -> FilterChoice | None:
        """Returns another order, or another wish for the profile; None leaves both as they are."""


#: Profile tuples below which nothing is concluded.
FEW = 32
#: Profile tuples on which an order is settled: on 400 it costs about 1% more than the best, and on 1,000 half of that.
SETTLED = 400
#: Orders whose costs differ by less are close.
CLOSE = 0.02


def wilson(count: int, of: int, z: float) -> tuple[float, float]:
    """Returns the Wilson interval of a rate, `count` times in `of`, of z standard errors.

    >>> [round(end, 3) for end in wilson(5, 10, 1.0)]
    [0.349, 0.651]
    """
    if of == 0:
        return 0.0, 1.0
    rate, square = count / of, z * z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)

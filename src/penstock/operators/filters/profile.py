"""What filters measured, and what they can be given: all that a tuner sees of them.

The filters of one input are numbered as they are written. `FilterProfile` has what was measured since it was last asked
for; a `FilterOrder` is the choice that answers it. With the order a tuner says which profile it wants next (thesis 3.1:
"the Re-optimizer informs the Profiler which statistics are required").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import sqrt
from operator import add
from typing import Protocol

from penstock.synopsis.memory import Ints

#: The numbers of filters, in the order in which they are evaluated.
FilterOrder = tuple[int, ...]
#: A profile tuple (thesis 4.3.1) is a word: bit i is set if filter i drops the row. So there are at most 63 filters.
MOST_FILTERS = 63


class PassCounts:
    """By position of an order, how many rows came to a filter, and how many it let through."""

    __slots__ = ("entered", "passed")

    def __init__(self, filters: int) -> None:
        self.entered, self.passed = [0] * filters, [0] * filters

    def add(self, entered: Iterable[int], passed: Iterable[int]) -> None:
        self.entered = list(map(add, self.entered, entered))
        self.passed = list(map(add, self.passed, passed))


@dataclass(frozen=True, slots=True)
class FilterProfile:
    """What filters measured since the last profile."""

    #: The order in which they were evaluated.
    order: FilterOrder
    #: By position in the order, how many rows of the latest chunk came to a filter, and how many it let through: exact,
    #: and free.
    entered: Sequence[int]
    passed: Sequence[int]
    #: Profile tuples: of each sampled row which filters drop it, whatever the order.
    samples: Ints
    #: By filter, the nanoseconds that it takes for a row; NaN where that is not known.
    costs: Sequence[float]
    #: The same counts of the chunks before, in which rows passed as the last profile says.
    quiet: PassCounts


class Ghosts(Enum):
    """Which filters are evaluated on a sampled row that is already dropped."""

    #: All of them (A-Greedy, Independent).
    ALL = "all"
    #: The one after the filter that dropped it (LocalSwaps).
    NEXT = "next"
    #: The one at a position of the order (Sweep).
    ONE = "one"


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """Which profile tuples a tuner wants from now on."""

    #: So many rows are sampled at once, before others are in proportion to what comes.
    at_once: int = 0
    #: The part of the drop-profiling probability that is enough.
    share: float = 1.0
    ghosts: Ghosts = Ghosts.ALL
    position: int = 0


PROFILE_ALL = ProfileRequest()

#: Rows below which a rate says little, and by how much and by how many standard errors, at most, rates differ that are
#: no news.
FEW = 48
ALIKE = 0.025
ERRORS = 3.0


def rates_of(profile: FilterProfile) -> list[float]:
    """Returns at which rate rows passed each position."""
    return [passed / max(entered, 1) for entered, passed in zip(profile.entered, profile.passed, strict=True)]


def are_news(rates: Sequence[float], entered: Iterable[int], passed: Iterable[int]) -> bool:
    """Returns whether rows passed a position at another rate. The drift test is stricter, and costs more."""
    for rate, rows, through in zip(rates, entered, passed, strict=True):
        if rows < FEW:
            return False
        if abs(through - rate * rows) > max(ALIKE * rows, ERRORS / 2 * sqrt(rows)):
            return True
    return False


class OrderedFilters(Protocol):
    """Filters in an order: what a tuner is given."""

    @property
    def order(self) -> FilterOrder:
        """Returns the order in which they are evaluated."""

    def has_news(self) -> bool:
        """Returns whether rows were sampled since the last profile, or passed otherwise than it says."""

    def profile(self) -> FilterProfile:
        """Returns what was measured since the last call."""

    def use(self, order: FilterOrder, wanted: ProfileRequest | None = None) -> None:
        """Evaluates filters in this order from now on."""

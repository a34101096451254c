"""The plan log (thesis 7.1): what was chosen when, on which statistics, and what the choice earned.

It serves four ends. Where statistics recur, the choice that was best for them is used again, without a search; what
never changes a decision is measured less often; a choice that was left and comes back is damped; and the log says what
one choice for all of its statistics would have cost, and so what adapting earned. It is a ring: old decisions go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic, TypeVar

StatisticsT = TypeVar("StatisticsT")
ChoiceT = TypeVar("ChoiceT")

#: Decisions among which a choice that returns is taken for thrashing.
LATE = 6


class Reason(Enum):
    """Why something was decided."""

    START = "start"
    #: The order violated the invariant of its strategy.
    VIOLATION = "violation"
    #: Rows passed at other rates than before.
    DRIFT = "drift"
    #: The log had a choice for statistics like these.
    RECALLED = "recalled"


@dataclass(frozen=True, slots=True)
class Decision(Generic[StatisticsT, ChoiceT]):
    """A choice, and the statistics on which it rests."""

    #: Rows that had come before.
    at: int
    reason: Reason
    choice: ChoiceT
    statistics: StatisticsT
    #: Rows that it was used for.
    rows: int = 0


class PlanLog(Generic[StatisticsT, ChoiceT]):
    """The latest decisions, at most `capacity`."""

    def __init__(self, capacity: int) -> None:
        self._decisions: deque[Decision[StatisticsT, ChoiceT]] = deque(maxlen=capacity)
        #: Decisions since the start, of which the ring has the latest.
        self.added = 0
        #: The best single choice, and how many decisions there were when it was found.
        self._single: tuple[int, ChoiceT | None] | None = None

    def __len__(self) -> int:
        return len(self._decisions)

    def __iter__(self) -> Iterator[Decision[StatisticsT, ChoiceT]]:
        return iter(self._decisions)

    @property
    def latest(self) -> Decision[StatisticsT, ChoiceT] | None:
        return self._decisions[-1] if self._decisions else None

    def add(self, decision: Decision[StatisticsT, ChoiceT]) -> None:
        """Adds a decision, with which the use of the latest one ends."""
        self.used_until(decision.at)
        self._decisions.append(decision)
        self.added += 1

    def used_until(self, at: int) -> None:
        """Counts the rows for which the latest decision is used."""
        if self._decisions:
            latest = self._decisions[-1]
            self._decisions[-1] = replace(latest, rows=at - latest.at)

    def recalled(self, is_like: Callable[[StatisticsT], bool]) -> Decision[StatisticsT, ChoiceT] | None:
        """Returns the decision on statistics like those at hand that was used for the most rows.

        At a drift no choice is made for the new statistics yet.
        """
        made = (decision for decision in self._decisions if decision.reason is not Reason.DRIFT)
        return max((each for each in made if is_like(each.statistics)), key=lambda each: each.rows, default=None)

    def returns(self, choice: ChoiceT) -> int:
        """Returns how often a choice was taken among the late decisions without a drift: it would be thrashing."""
        late = list(self._decisions)[-LATE:]
        return sum(decision.choice == choice and decision.reason is Reason.VIOLATION for decision in late)

    def best_single(self, cost: Callable[[ChoiceT, StatisticsT], float]) -> ChoiceT | None:
        """Returns the choice that would have cost least, had it been used for all rows of the log ("what if", 7.1).

        `cost` is that of a row by a choice on some statistics. It is asked when there is a new decision.
        """

        def total(choice: ChoiceT) -> float:
            return sum(each.rows * cost(choice, each.statistics) for each in self._decisions)

        if self._single is None or self._single[0] != self.added:
            choices = dict.fromkeys(each.choice for each in self._decisions)
            self._single = self.added, min(choices, key=total, default=None)
        return self._single[1]

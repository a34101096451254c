"""How long a row must be kept: a wait is a chain of steps, counted from the row's arrival.

A step ends after so many rows of a stream, after so much time, or when a stream that is ordered has passed a value. The
first two end by themselves when streams go on. The third ends only if the stream gets there: such a wait is *open*, as
is one for a punctuation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.kconstraints.streams import ArrivalConstraint, Extent, RowCount, TimeSpan


@dataclass(frozen=True, slots=True)
class After:
    """The step ends when that many more rows of a stream have arrived."""

    stream: str
    rows: int

    def __str__(self) -> str:
        return f"{self.rows} row{'' if self.rows == 1 else 's'} of {self.stream}"


@dataclass(frozen=True, slots=True)
class Lapse:
    """The step ends when that much time has passed; it lasts while now <= arrival + microseconds."""

    microseconds: int

    def __str__(self) -> str:
        return _time(self.microseconds)


@dataclass(frozen=True, slots=True)
class Passed:
    """The step ends when the ordered column has passed the row's value, so that by OA(k) no smaller one can follow."""

    column: JoinAttribute
    within: Extent

    def __str__(self) -> str:
        return f"the passing of {self.column} (by {extent_words(self.within)})"


WaitStep: TypeAlias = After | Lapse | Passed


@dataclass(frozen=True, slots=True)
class WindowOn:
    """A window is a declaration, too: a row leaves it after that many rows of the stream, or that time."""

    stream: str
    extent: Extent


@dataclass(frozen=True, slots=True)
class SameClock:
    """Two time columns are equal: `later` comes within `delay` of the time that both tell, and so after `earlier`."""

    earlier: JoinAttribute
    later: JoinAttribute
    delay: int


#: A proof leans on such declarations.
Fact: TypeAlias = ArrivalConstraint | WindowOn | SameClock


@dataclass(frozen=True, slots=True)
class Wait:
    """The steps follow one after the other. Steps of no rows are left out, the facts behind them are not.

    A step of no time counts: until it is over, other rows of the same instant may arrive.
    """

    steps: tuple[WaitStep, ...] = ()
    leans_on: tuple[Fact, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not self.steps

    @property
    def is_open(self) -> bool:
        return any(isinstance(step, Passed) for step in self.steps)

    @property
    def is_window(self) -> bool:
        """Say whether the wait is the stay in one window and nothing else."""
        return len(self.leans_on) == 1 and isinstance(self.leans_on[0], WindowOn)

    def then(self, step: WaitStep, fact: Fact) -> Wait:
        is_nothing = isinstance(step, After) and step.rows == 0
        return Wait(self.steps if is_nothing else (*self.steps, step), (*self.leans_on, fact))

    def __str__(self) -> str:
        return ", then ".join(map(str, self.steps)) or "no time"


def step_within(stream: str, extent: Extent) -> WaitStep:
    """An extent is a step, where rows are counted on a stream."""
    match extent:
        case RowCount(n):
            return After(stream, n)
        case TimeSpan(microseconds):
            return Lapse(microseconds)


def extent_words(extent: Extent) -> str:
    match extent:
        case RowCount(n):
            return f"{n} row{'' if n == 1 else 's'}"
        case TimeSpan(microseconds):
            return _time(microseconds)


_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"))


def _time(microseconds: int) -> str:
    size, unit = next((pair for pair in _UNITS if microseconds % pair[0] == 0), _UNITS[-1])
    return f"{microseconds // size} {unit}" if microseconds else "the same instant"

"""Undecided rows: rows on which a filter failed, which count if no other filter drops them.

A filter may raise an error on a row, or be NULL there because a call failed that gives NULL then. Either way the row
stays until all other filters have been evaluated. If they pass it, the error is raised, or the failed call is counted.
So neither errors nor counts depend on the order of filters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.operators.filters.columns import Columns
from penstock.operators.functions.failures import Tally
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

Error = Callable[[], Exception]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a filter says of rows."""

    true: Bools
    #: What makes the error of each row on which it failed, by the row's place among those that were given. What `true`
    #: says of these rows does not count.
    errors: Mapping[int, Error] = field(default_factory=dict)
    #: By place, how many calls failed and gave NULL; None if none did.
    nulled: Ints | None = None

    @property
    def has_failed(self) -> bool:
        return bool(self.errors) or self.nulled is not None


#: A filter: what it says of some rows of a batch, by number; None means all.
Filter = Callable[[Columns, Ints | None, Dictionary], Outcome]


class Undecided:
    """The undecided rows of a chunk, by number."""

    __slots__ = ("_dropped", "_errors", "_nulled")

    def __init__(self) -> None:
        #: The error of the filter that is written first, with the filter's number.
        self._errors: dict[int, tuple[int, Error]] = {}
        #: Rows with calls that failed and gave NULL, and how many.
        self._nulled: list[tuple[Ints, Ints]] = []
        #: Rows on which a filter is not true after that.
        self._dropped: list[Ints] = []

    def noted(self, outcome: Outcome, number: int, rows: Ints | None) -> Bools:
        """Returns what a filter says of rows, with those on which it failed as if they passed; they are noted."""
        true = outcome.true.copy()
        rows = np.arange(len(true)) if rows is None else rows
        if outcome.nulled is not None:
            places = np.flatnonzero(outcome.nulled)
            self._nulled.append((rows[places], outcome.nulled[places]))
            self._dropped.append(rows[places[~true[places]]])
            true[places] = True
        for place, error in outcome.errors.items():
            true[place] = True
            row = int(rows[place])
            self._errors[row] = min(self._errors.get(row, (number, error)), (number, error), key=lambda each: each[0])
        return true

    def decided(self, rows: Ints, tally: Tally) -> Ints:
        """Returns which rows pass, of those that no filter drops but by what failed. An error on one is raised."""
        if self._errors:
            counting = sorted(self._errors.keys() & set(rows.tolist()))
            if counting:
                raise self._errors[counting[0]][1]()
        for failed, calls in self._nulled:
            tally.add(calls[np.isin(failed, rows)])
        return rows[~np.isin(rows, np.concatenate(self._dropped))] if self._dropped else rows

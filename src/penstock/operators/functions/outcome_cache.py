"""The outcome cache: what a conjunct that calls user functions said of values it saw before.

A join tests the same values again and again: with each row of the other side, when a combination comes and when it
goes. A function's result is a function of its arguments, so a conjunct is evaluated once for the values that it reads,
as long as they stay in a table of this process. Rows on which it fails are not kept: they fail anew.

It measures what it costs and what it saves, and rests while it does not pay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns

import numpy as np

from penstock.kernels.hashing import row_hashes
from penstock.kernels.outcome_lines import NOT_TRUE, TRUE, UNKNOWN, WAYS, keep_outcomes, known_outcomes
from penstock.operators.filters.columns import Columns
from penstock.operators.filters.filter_chain import Error, Filter, Outcome
from penstock.operators.functions.failures import Tally
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: Rows and calls after which it is reckoned what was saved; the calls for which it rests at first if it was too little,
#: and at most.
RECKONED, CALLS = 1 << 14, 6
REST, LONGEST_REST = 32, 1 << 12
#: Null bits of a key's last word; a conjunct that reads more columns has no cache.
MOST_COLUMNS = 62


class OutcomeCache:
    """A filter that calls functions, over columns at some positions, with the outcomes that it gave before."""

    def __init__(
        self,
        evaluate: Filter,
        positions: Sequence[int],
        memory: int,
        tally: Tally | None,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        """`memory` are the bytes of its table. `tally` counts failures that are NULL, which have to be counted anew."""
        self._evaluate, self._positions, self._clock = evaluate, tuple(positions), clock
        self._tally = tally or Tally()
        width = len(self._positions) + 2
        lines = 1 << max(0, (memory // (8 * width)).bit_length() - 1)
        self._lines = np.zeros((max(WAYS, lines), width), np.int64)
        self._columns = np.arange(width - 1)
        #: The dictionary whose codes the keys are, and how often it has been swept.
        self._codes: tuple[int, int] | None = None
        self._rest, self._resting = REST, 0
        #: What a row took that was not known, in nanoseconds.
        self._took = 0.0
        self._begin()
        self.hits = 0

    def _begin(self) -> None:
        self._rows = self._calls = 0
        self._spent = self._saved = 0.0

    def __call__(self, columns: Columns, rows: Ints | None, dictionary: Dictionary) -> Outcome:
        if self._resting:
            self._resting -= 1
            return self._evaluate(columns, rows, dictionary)
        begin = self._clock()
        self._renew(dictionary)
        keys = self._keys(columns, rows)
        hashes = row_hashes(keys, np.arange(len(keys)), self._columns)
        found = np.empty(len(keys), np.int64)
        known_outcomes(keys, hashes, self._lines, found)
        unknown = np.flatnonzero(found == UNKNOWN)
        spent, took = self._clock() - begin, 0
        errors: dict[int, Error] = {}
        true = found == TRUE
        if len(unknown):
            begin = self._clock()
            counted = self._tally.count
            outcome = self._evaluate(columns, unknown if rows is None else rows[unknown], dictionary)
            took = self._clock() - begin
            true[unknown] = outcome.true
            errors = {int(unknown[place]): error for place, error in outcome.errors.items()}
            if not errors and self._tally.count == counted:
                keep_outcomes(keys, hashes, self._lines, unknown, np.where(outcome.true, TRUE, NOT_TRUE))
        self._reckon(len(keys), len(unknown), spent, took)
        return Outcome(true, errors)

    def _renew(self, dictionary: Dictionary) -> None:
        """Empties the table if codes may stand for other values by now."""
        codes = (id(dictionary), dictionary.sweeps)
        if self._codes != codes:
            self._codes = codes
            self._lines[:] = 0

    def _keys(self, columns: Columns, rows: Ints | None) -> Ints:
        """The codes that the conjunct reads, and a word that says which of them are NULL."""
        count = len(columns) if rows is None else len(rows)
        keys = np.zeros((count, len(self._columns)), np.int64)
        for place, position in enumerate(self._positions):
            codes, nulls = columns.column(position, rows)
            keys[:, place] = codes if nulls is None else np.where(nulls, 0, codes)
            if nulls is not None:
                keys[:, -1] |= nulls.astype(np.int64) << place
        return keys

    def _reckon(self, rows: int, unknown: int, spent: int, took: int) -> None:
        """A known row saves what an unknown one took."""
        self.hits += rows - unknown
        self._rows, self._calls = self._rows + rows, self._calls + 1
        self._spent += spent
        if unknown:
            self._took = took / unknown
        self._saved += (rows - unknown) * self._took
        if self._rows < RECKONED or self._calls < CALLS:
            return
        if self._saved < self._spent:
            self._resting, self._rest = self._rest, min(LONGEST_REST, 2 * self._rest)
        else:
            self._rest = REST
        self._begin()

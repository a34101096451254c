"""The outcome cache: what a conjunct said once it need not say again, and nothing else changes."""

from __future__ import annotations

from random import Random

import numpy as np

from penstock.errors import PenstockError
from penstock.operators.filters.columns import Columns, RowColumns
from penstock.operators.filters.filter_chain import Outcome
from penstock.operators.functions import outcome_cache
from penstock.operators.functions.failures import Tally
from penstock.operators.functions.outcome_cache import OutcomeCache
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints

#: A table for some keys of two columns, and one for very few.
ROOMY, TINY = 1 << 16, 1


class Sum:
    """Whether two columns add up to an even number. It fails on 99, and is counted as NULL on 98."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []
        self.tally = Tally()

    def __call__(self, columns: Columns, rows: Ints | None, dictionary: Dictionary) -> Outcome:
        (left, nulls), (right, _) = (columns.column(place, rows) for place in range(2))
        self.asked += list(zip(left.tolist(), right.tolist(), strict=True))
        self.tally.count += int(np.count_nonzero(left == 98))
        is_null = np.zeros(len(left), np.bool_) if nulls is None else nulls
        true = ((left + right) % 2 == 0) & ~is_null & (left != 98)
        failed = np.flatnonzero(left == 99)
        return Outcome(true, {int(row): lambda: PenstockError("fails") for row in failed})


def asked(
    cache: OutcomeCache, pairs: list[tuple[int | None, int]], dictionary: Dictionary, some: bool = False
) -> Outcome:
    values = [(0 if left is None else left, right, int(left is None)) for left, right in pairs]
    rows = np.array(values, np.int64).reshape(-1, 3)
    return cache(RowColumns(rows, 2), np.arange(len(rows)) if some else None, dictionary)


def test_what_is_known_is_not_asked_again() -> None:
    given, words = Sum(), Dictionary()
    cache = OutcomeCache(given, (0, 1), ROOMY, given.tally)
    assert asked(cache, [(1, 1), (1, 2), (1, 1)], words).true.tolist() == [True, False, True]
    assert asked(cache, [(1, 2), (1, 1), (3, 4)], words, some=True).true.tolist() == [False, True, False]
    assert given.asked == [(1, 1), (1, 2), (1, 1), (3, 4)]
    assert cache.hits == 2


def test_null_is_no_value() -> None:
    given, words = Sum(), Dictionary()
    cache = OutcomeCache(given, (0, 1), ROOMY, given.tally)
    for _ in range(2):
        assert asked(cache, [(0, 0), (None, 0)], words).true.tolist() == [True, False]


def test_failures_are_not_kept_and_belong_to_their_rows() -> None:
    given, words = Sum(), Dictionary()
    cache = OutcomeCache(given, (0, 1), ROOMY, given.tally)
    asked(cache, [(2, 2)], words)
    for _ in range(2):
        assert set(asked(cache, [(2, 2), (99, 1), (2, 4)], words).errors) == {1}
    asked(cache, [(98, 1)], words)
    asked(cache, [(98, 1)], words)
    assert given.tally.count == 2


def test_codes_that_may_stand_for_other_values_are_forgotten() -> None:
    given, words = Sum(), Dictionary()
    cache = OutcomeCache(given, (0, 1), ROOMY, given.tally)
    asked(cache, [(1, 1)], words)
    words.sweep(words.marks())
    asked(cache, [(1, 1)], words)
    asked(cache, [(1, 1)], Dictionary())
    assert len(given.asked) == 3


def test_a_table_that_is_too_small_changes_no_outcome() -> None:
    random = Random(0)
    given, words = Sum(), Dictionary()
    cache = OutcomeCache(given, (0, 1), TINY, given.tally)
    for _ in range(50):
        pairs: list[tuple[int | None, int]] = [(random.randrange(9), random.randrange(9)) for _ in range(20)]
        expected = [(left or 0) % 2 == right % 2 for left, right in pairs]
        assert asked(cache, pairs, words).true.tolist() == expected


def test_it_rests_while_it_does_not_pay() -> None:
    given, words = Sum(), Dictionary()
    ticks = iter(range(10**6))
    cache = OutcomeCache(given, (0, 1), ROOMY, given.tally, clock=lambda: next(ticks))
    pairs: list[tuple[int | None, int]] = []
    for call in range(outcome_cache.CALLS):
        pairs = [(call, number) for number in range(outcome_cache.RECKONED // outcome_cache.CALLS + 1)]
        asked(cache, pairs, words)
    before = len(given.asked)
    asked(cache, pairs, words)
    assert len(given.asked) == before + len(pairs)

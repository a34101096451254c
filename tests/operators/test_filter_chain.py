"""The filter chain: each filter once a chunk, no row twice, errors that do not depend on the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.filters.columns import Columns
from penstock.operators.filters.filter_chain import AT_ONCE, FilterChain
from penstock.operators.filters.profile import Ghosts, ProfileRequest
from penstock.operators.filters.sampler import CLUMP, Sampler
from penstock.operators.filters.undecided import Filter, Outcome
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from tests.adaptive.simulating import Tuples

#: A bit above those of the filters: a row on which filter i fails has bit i + FAILS.
FAILS = 8


def counting(number: int, seen: Counter[tuple[int, int]], calls: list[int]) -> Filter:
    """A filter that counts how often it is evaluated on each row, given as words with the row's number above bit 16."""

    def evaluate(columns: Columns, rows: Ints | None, dictionary: Dictionary) -> Outcome:
        words, _ = columns.column(0, rows)
        calls.append(number)
        seen.update((number, row) for row in (words >> 16).tolist())
        failed = np.flatnonzero(words >> number + FAILS & 1)
        return Outcome(words >> number & 1 == 0, {int(place): error_of(number) for place in failed})

    return evaluate


def error_of(number: int) -> Callable[[], Exception]:
    return lambda: ValueError(f"filter {number}")


def numbered(words: list[int]) -> Tuples:
    return Tuples(np.array(words, np.int64) | np.arange(len(words)) << 16)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 15), min_size=1, max_size=60), st.permutations(range(4)), st.integers(0, 60))
def test_no_filter_evaluates_a_row_twice_and_all_filters_evaluate_sampled_rows(
    words: list[int], order: list[int], sampled: int
) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    calls: list[int] = []
    chain = FilterChain([counting(number, seen, calls) for number in range(4)], probability=1e-9)
    chain.use(tuple(order), ProfileRequest(at_once=sampled))
    chain._at_once = sampled
    passes = chain.passing(numbered(words), Dictionary())
    assert passes.tolist() == [word == 0 for word in words]
    assert max(seen.values()) == 1
    assert max(Counter(calls).values()) == 1, "each filter is called once a chunk"
    profile = chain.profile()
    assert len(profile.samples) == min(sampled, len(words))
    expected = Counter(words[place] for place in np.arange(min(sampled, len(words))) * len(words) // max(1, sampled))
    if sampled <= len(words):
        assert Counter(profile.samples.tolist()) == expected
    assert profile.entered[0] == len(words)
    assert profile.entered[1:] == profile.passed[:-1]
    assert profile.passed[-1] == passes.sum()
    assert chain.evaluations.sum() == len(seen)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**12 - 1), min_size=1, max_size=12), st.integers(0, 12))
def test_an_error_counts_only_if_no_other_filter_drops_the_row_whatever_the_order(words: list[int], some: int) -> None:
    def outcome(order: tuple[int, ...]) -> list[bool] | str:
        chain = FilterChain([counting(number, Counter(), []) for number in range(4)], probability=1e-9)
        chain.use(order, ProfileRequest())
        chain._at_once = some
        try:
            return chain.passing(numbered([word & ~0xF0 for word in words]), Dictionary()).tolist()
        except ValueError as error:
            return str(error)

    def dropped(word: int) -> bool:
        return any(word >> number & 1 and not word >> number + FAILS & 1 for number in range(4))

    expected: list[bool] | str = [not dropped(word) for word in words]
    for word in words:
        if not dropped(word) and word >> FAILS:
            expected = f"filter {next(number for number in range(4) if word >> number + FAILS & 1)}"
            break
    assert outcome((0, 1, 2, 3)) == outcome((3, 1, 0, 2)) == expected


@pytest.mark.parametrize("ghosts", list(Ghosts))
def test_a_ghost_is_evaluated_by_those_filters_only_that_a_tuner_wants(ghosts: Ghosts) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    chain = FilterChain([counting(number, seen, []) for number in range(4)], probability=1e-9)
    chain.use((0, 1, 2, 3), ProfileRequest(1, ghosts=ghosts, position=3))
    chain._at_once = 1
    chain.passing(numbered([0b1111]), Dictionary())
    expected = {Ghosts.ALL: [0, 1, 2, 3], Ghosts.NEXT: [0, 1], Ghosts.ONE: [0, 3]}
    assert sorted(number for number, _ in seen) == expected[ghosts]


def test_a_chain_that_is_not_tuned_samples_nothing() -> None:
    seen: Counter[tuple[int, int]] = Counter()
    chain = FilterChain([counting(number, seen, []) for number in range(4)], probability=0.0)
    chain.passing(numbered([1] * 5000), Dictionary())
    assert len(seen) == 5000
    assert len(chain.profile().samples) == 0


def test_the_first_rows_are_profiled_at_once_and_then_one_in_a_hundred_across_batches_of_any_size() -> None:
    chain = FilterChain([counting(number, Counter(), []) for number in range(2)], budget=1.0)
    taken = 0
    for _ in range(AT_ONCE // 4):
        chain.passing(numbered([3] * 4), Dictionary())
    assert len(chain.profile().samples) == AT_ONCE
    for _ in range(1000):
        chain.passing(numbered([3] * 7), Dictionary())
        taken += len(chain.profile().samples)
    assert 64 <= taken <= 96


@given(st.lists(st.integers(1, 40_000), max_size=20), st.sampled_from([0.0, 0.01, 0.003, 0.5, 1.0]), st.integers(0, 99))
@settings(max_examples=40)
def test_rows_are_sampled_in_proportion_however_they_are_cut(counts: list[int], probability: float, most: int) -> None:
    sampler, taken = Sampler(probability), 0
    for count in counts:
        rows = sampler.rows(count, most).tolist()
        assert rows == sorted(set(rows)), "each row once"
        assert len(rows) <= most
        assert all(0 <= row < count for row in rows)
        taken += len(rows)
    assert taken <= probability * sum(counts) + 1e-6
    whole = sum(len(Sampler(probability).rows(count, count)) for count in counts if count * probability >= CLUMP)
    assert whole >= sum(int(count * probability) for count in counts if count * probability >= CLUMP)

"""What pipelined filters measure, whatever their order: exact counts by position, and profile tuples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest

from penstock.adaptive.filters.filter_tuner import FilterTuner
from penstock.operators.filters.pipelined import Lookup, PipelinedFiltersOperator
from penstock.operators.filters.profile import Ghosts, OrderedFilters, ProfileRequest
from penstock.plan.adaptivity import Adaptive
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.key_counts import KeyCounts
from penstock.synopsis.memory import Ints, Memory
from penstock.workloads.filters import CorrelatedFilters, best_order, evaluations, permuted

KEYS = ((1, 2, 4, 7), (1, 2, 7), (1, 5, 7), (1, 2, 7))  # in the manner of figure 4.2
ROWS = (1, 2, 1, 4, 7, 2, 5, 4)


class Untouched:
    """A tuner that leaves the order alone, and wants a profile."""

    def __init__(self, wanted: ProfileRequest) -> None:
        self._wanted = wanted

    def adopt(self, chain: OrderedFilters) -> None:
        chain.use(chain.order, self._wanted)

    def between(self, chain: OrderedFilters) -> None: ...


def deltas(values: Sequence[int] | Ints, ts: int = 0, weight: int = 1) -> Deltas:
    rows = np.zeros((len(values), 2), np.int64)
    rows[:, 0] = values
    return Deltas(np.full(len(values), ts), np.full(len(values), weight), rows)


def operator_over(keys: Sequence[Sequence[int]], memory: Memory | None = None) -> PipelinedFiltersOperator:
    memory = Memory() if memory is None else memory
    sides = [KeyCounts(memory.scope("keys", number), 1) for number in range(len(keys))]
    lookups = [Lookup(f"F{number}", True, number, (0,)) for number in range(len(keys))]
    operator = PipelinedFiltersOperator(memory.scope("filters"), 1, lookups, sides)
    operator.enter([deltas(own) for own in keys])
    return operator


def test_probes_of_an_order_are_those_that_its_rows_need() -> None:
    words = np.array([sum((row in keys) << number for number, keys in enumerate(KEYS)) for row in ROWS])
    for order in permutations(range(4)):
        operator = operator_over(KEYS)
        operator.use(order)
        assert operator.passing(deltas(ROWS, 1)).rows[:, 0].tolist() == [1, 1, 7]
        profile = operator.profile()
        assert profile.order == order
        assert sum(profile.entered) == int(operator.evaluated.sum()) == evaluations(words, order)
        assert profile.passed[:-1] == profile.entered[1:]


@pytest.mark.parametrize(
    ("ghosts", "words"),
    [(Ghosts.ALL, [0b1110, 0b1011]), (Ghosts.NEXT, [0b0110, 0b0011]), (Ghosts.ONE, [0b1010, 0b1001])],
)
def test_a_sampled_row_is_tested_on_as_far_as_a_tuner_wants(ghosts: Ghosts, words: list[int]) -> None:
    operator = operator_over(KEYS)
    operator.tune(Untouched(ProfileRequest(0, 1.0, ghosts, 3)), 1.0, budget=10.0)
    operator.passing(deltas([4, 5], 1))
    assert operator.profile().samples.tolist() == words


def test_a_row_sees_all_changes_of_its_own_instant_and_none_after_it() -> None:
    operator = operator_over([[]])
    operator.leave()
    changes = [deltas([5], 2), deltas([5], 4, -1)]
    operator.enter([Deltas(*(np.concatenate(part) for part in zip(*map(_parts, changes), strict=True)))])
    rows = Deltas(np.arange(1, 6), np.ones(5, np.int64), deltas([5] * 5).rows)
    assert operator.passing(rows).ts.tolist() == [2, 3]


def _parts(changes: Deltas) -> tuple[Ints, Ints, Ints]:
    return changes.ts, changes.weight, changes.rows


def test_keys_without_rows_are_dropped_and_their_slots_given_out_again() -> None:
    counts = KeyCounts(Memory().scope("keys"), 1)
    for step in range(50):
        operator = PipelinedFiltersOperator(Memory().scope("f"), 1, [Lookup("F", True, 0, (0,))], [counts])
        come, gone = deltas(np.arange(step * 10, step * 10 + 10)), deltas(np.arange(step * 10 - 10, step * 10), 0, -1)
        both = (come,) if step == 0 else (come, gone)
        operator.enter([Deltas(*(np.concatenate(part) for part in zip(*map(_parts, both), strict=True)))])
        operator.leave()
        assert len(counts) == 10
    assert counts.store.capacity < 100


def test_the_order_is_part_of_the_state() -> None:
    memory = Memory()
    operator = operator_over(KEYS, memory)
    operator.use((2, 0, 3, 1))
    other = Memory()
    other.restore(dict(memory.changes()))
    sides = [KeyCounts(other.scope("keys", number), 1) for number in range(4)]
    again = PipelinedFiltersOperator(other.scope("filters"), 1, [Lookup("F", True, n, (0,)) for n in range(4)], sides)
    again.tune(FilterTuner(again.texts, Adaptive()), 0.01)
    assert again.order == (2, 0, 3, 1)


def test_a_greedy_finds_an_order_near_the_best_and_follows_a_change() -> None:
    model = CorrelatedFilters((0.2, 0.2, 0.5, 0.5, 0.8, 0.8))
    words = model.words(60_000, np.random.default_rng(0))
    turned = permuted(words, (5, 4, 3, 2, 1, 0))
    operator = operator_over([[word for word in range(64) if word >> number & 1] for number in range(6)])
    operator.tune(FilterTuner(operator.texts, Adaptive(strategy="a-greedy")), 0.01)
    for phase in (words, turned):
        operator.passing(deltas(phase, 1))
        best = best_order(phase, (1.0,) * 6)
        assert evaluations(phase, operator.order) < 1.05 * evaluations(phase, best)

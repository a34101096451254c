"""A-Caching's theory: examples 5.4.1 to 5.7.1 of the thesis, theorem 5.5.1, the bound of theorem 5.5.3, the states."""

from __future__ import annotations

from math import log
from random import Random
from unittest.mock import Mock, patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adaptive.caches.cache_states import CacheStates, State
from penstock.adaptive.caches.cost_model import Estimate, estimate
from penstock.adaptive.caches.hierarchy import Tree, forest, sharing
from penstock.adaptive.caches.memory import by_priority
from penstock.adaptive.caches.random_caches import nested_orders
from penstock.adaptive.caches.selection import exhaustive, greedy, optimal, selected, spent, value
from penstock.plan.caches import (
    Cache,
    CacheCounts,
    candidates,
    globally_consistent,
    keeps_prefix_invariant,
)
from penstock.plan.probe_paths import ProbeCounts
from tests.adaptive.three_way import ThreeWay
from tests.seeds import CHEAP

#: Example 5.5.1, with inputs from 0.
SIX = ((1, 2, 3, 4, 5), (0, 2, 4, 3, 5), (1, 0, 3, 4, 5), (4, 0, 1, 2, 5), (3, 1, 2, 0, 5), (1, 0, 3, 4, 2))
ONE_COLUMN = [(0,)] * 6


def test_example_5_4_1_a_miss_fills_the_cache_and_the_next_lookup_hits() -> None:
    join = ThreeWay()
    assert join.insert("r1", 1) == [(1, 1, 2, 2)]
    assert join.counts() == CacheCounts(lookups=1)
    assert join.insert("r1", 1) == [(1, 1, 2, 2)]
    assert join.counts() == CacheCounts(lookups=2, hits=1)


def test_examples_5_4_2_and_5_4_4_an_insertion_reaches_what_is_new_and_drops_its_lines() -> None:
    join = ThreeWay()
    join.insert("r1", 1)
    assert join.insert("r3", 3) == [(1, 1, 3, 3)]
    # The combinations (1, 3, 3) and (2, 3, 3) pass the update; only the key 1 has a line.
    assert join.counts() == CacheCounts(lookups=1, drops=2)
    assert join.insert("r1", 1) == [(1, 1, 2, 2), (1, 1, 3, 3)]
    assert join.counts() == CacheCounts(lookups=2, drops=2)
    assert join.insert("r1", 1) == [(1, 1, 2, 2), (1, 1, 3, 3)]
    assert join.counts() == CacheCounts(lookups=3, hits=1, drops=2)


def test_an_empty_line_is_a_hit_until_something_comes_for_it() -> None:
    join = ThreeWay()
    assert join.insert("r1", 7) == join.insert("r1", 7) == []
    assert join.insert("r2", 7, 2) == [(7, 7, 2, 2)] * 2
    assert join.insert("r1", 7) == [(7, 7, 2, 2)]


def test_example_5_4_3_which_segments_keep_the_prefix_invariant() -> None:
    orders = [(1, 2), (2, 0), (1, 0)]
    assert keeps_prefix_invariant(orders, {1, 2})
    assert not keeps_prefix_invariant(orders, {0, 1})


def test_example_5_5_1_the_candidates_and_their_hierarchy() -> None:
    found = candidates(SIX, ONE_COLUMN)
    assert {cache.members for cache in found} == {(0, 1), (3, 4), (0, 1, 2), (0, 1, 2, 3, 4)}
    of_r4, of_r6 = ([cache for cache in found if cache.pipeline == i] for i in (3, 5))
    (tree,) = forest(of_r4)
    assert (tree.cache.members, [child.cache.members for child in tree.children]) == ((0, 1, 2), [(0, 1)])
    (tree,) = forest(of_r6)
    assert tree.cache.members == (0, 1, 2, 3, 4)
    assert [child.cache.members for child in tree.children] == [(0, 1), (3, 4)]


def test_example_5_5_2_what_is_shared() -> None:
    groups = {store.members: [cache.pipeline for cache in group] for store, group in GROUPS.items()}
    assert groups[0, 1] == [2, 3, 5]
    assert groups[0, 1, 2] == [3, 4]


GROUPS = sharing(candidates(SIX, ONE_COLUMN))


def test_example_5_7_1_a_segment_that_is_semi_joined_keeps_the_prefix_invariant() -> None:
    orders = (*SIX[:5], (1, 2, 3, 4, 0))
    assert not any(cache.members == (1, 2) for cache in candidates(orders, ONE_COLUMN))
    (found,) = (c for c in globally_consistent(orders, ONE_COLUMN) if c.pipeline == 5 and c.members == (1, 2))
    assert found.semijoined == (0,)


def test_no_cache_is_semi_joined_with_the_input_of_its_own_pipeline() -> None:
    """Definition 5.7.1 allows it, and loses results: r comes and goes, a row of s comes, r comes and hits a line that
    was empty, because the row of s found no r and so never reached it.
    """
    orders = [(1, 2), (0, 2), (1, 0)]
    assert [cache.pipeline for cache in candidates(orders, [(0,)] * 3)] == [2]
    assert globally_consistent(orders, [(0,)] * 3) == ()


@st.composite
def instances(draw: st.DrawFn) -> dict[Cache, Estimate]:
    """Candidates of random pipelines, with what they save and cost."""
    random = Random(draw(st.integers(0, 2**32)))
    orders = nested_orders(random.randint(3, 7), random)
    found = candidates(orders, [(0,)] * len(orders))
    costs = {cache.store: float(random.randint(0, 20)) for cache in found}
    return {
        cache: Estimate(random.randint(-10, 30), costs[cache.store], float(random.randint(1, 30))) for cache in found
    }


@CHEAP
@given(instances())
def test_theorem_5_5_1_the_recursive_choice_is_the_best_of_a_pipeline(estimates: dict[Cache, Estimate]) -> None:
    for pipeline in {cache.pipeline for cache in estimates}:
        own = {cache: each for cache, each in estimates.items() if cache.pipeline == pipeline}
        best, found = exhaustive(own), optimal(own)
        assert value(found, own) == pytest.approx(value(best, own))
        assert not any(a.overlaps(b) for a in found for b in found if a != b)


@CHEAP
@given(instances())
def test_theorem_5_5_3_the_greedy_choice_spends_at_most_log_n_times_the_least(
    estimates: dict[Cache, Estimate],
) -> None:
    stages = {(cache.pipeline, depth) for cache in estimates for depth in cache.stages}
    random = Random(len(stages))
    operators = {stage: float(random.randint(1, 30)) for stage in sorted(stages)}
    alone = {
        cache: Estimate(
            sum(operators[cache.pipeline, depth] for depth in cache.stages) - each.processing,
            each.cost,
            each.processing,
        )
        for cache, each in estimates.items()
    }
    if len(alone) > 14:
        return
    found, best = greedy(alone, operators), exhaustive(alone)
    assert not any(a.overlaps(b) for a in found for b in found if a != b)
    bound = 1 + log(max(1, len(operators)))
    assert spent(found, alone, operators) <= bound * spent(best, alone, operators) + 1e-9


@CHEAP
@given(instances())
def test_what_is_selected_never_costs_more_than_it_saves(estimates: dict[Cache, Estimate]) -> None:
    assert value(selected(estimates), estimates) >= 0


#: A chain of three in which a lookup spares many vain rows: 100 rows of input 0 come, each finds 20 of input 1.
VAIN = ProbeCounts(((100, 2000), (10, 200), (10, 10)), ((2000, 100), (200, 10), (10, 10)))
(CHAIN,) = candidates([(1, 2), (2, 0), (1, 0)], [(0, None), (0, 1), (None, 0)])


def test_benefit_falls_with_misses_and_caches_of_single_matches_do_not_pay() -> None:
    benefits = [estimate(VAIN, CHAIN, miss).benefit for miss in (0.0, 0.1, 0.5, 1.0)]
    assert benefits == sorted(benefits, reverse=True)
    assert benefits[0] > 0 > benefits[-1]
    single = ProbeCounts(((100, 100), (100, 100), (100, 100)), ((100, 100), (100, 100), (100, 100)))
    assert estimate(single, CHAIN, 0.1).net < 0


@patch("penstock.adaptive.caches.cache_states.selected", wraps=selected)
def test_states_react_at_once_to_what_hurts_and_select_again_only_after_a_change(selecting: Mock) -> None:
    outer, inner = (next(c for c in candidates(SIX, ONE_COLUMN) if c.pipeline == 5 and c.members == m) for m in SETS)
    states = CacheStates([outer, inner])
    assert states.of(State.PROFILED) == (outer, inner)
    assert states.settle({outer: Estimate(50, 10), inner: Estimate(20, 10)})
    assert states.of(State.USED) == (outer,)
    # The one in use hides lookups of the one within it, so it is profiled again, too.
    assert states.reopen() == (outer, inner)
    assert not states.settle({outer: Estimate(55, 11), inner: Estimate(18, 9)})
    assert states.of(State.USED) == (outer,)
    assert selecting.call_count == 1
    assert not states.react({outer: Estimate(12, 10)})
    assert states.react({outer: Estimate(9, 10)})
    assert states.of(State.USED) == ()
    states.reopen()
    assert states.settle({outer: Estimate(9, 10), inner: Estimate(20, 10)})
    assert states.of(State.USED) == (inner,)
    # Nothing lies within it: others are profiled beside it.
    assert states.reopen() == (outer,)
    states.renew([inner])
    assert states.states == {inner: State.USED}


SETS = ((0, 1, 2, 3, 4), (0, 1))


def test_memory_goes_first_to_what_saves_most() -> None:
    small, large = (
        next(c for c in candidates(SIX, ONE_COLUMN) if c.pipeline == 5 and c.members == m) for m in SETS[::-1]
    )
    estimates = {small: Estimate(10, 2), large: Estimate(30, 2)}
    assert by_priority([small, large], estimates) == (large, small)
    assert by_priority([small, large], estimates, {small.store: 10.0, large.store: 100.0}) == (small, large)


def test_trees_hold_what_lies_within() -> None:
    assert Tree(CHAIN) == forest([CHAIN])[0]

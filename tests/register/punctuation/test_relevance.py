"""Smallest sets of schemes: each makes the query safe, no proper subset does, and none is missing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

from penstock.closing.punctuation import Scheme
from tests.reference.punctuation import (
    candidate_schemes,
    check,
    further_schemes,
    is_safe,
    minimal_scheme_sets,
    purgeability,
    purgeable_streams,
    relevance,
)
from tests.register.punctuation.futures import Instance, random_instance, random_timed_instance


def cases(count: int, streams: int = 3) -> list[tuple[int, Instance]]:
    rngs = [random.Random(seed) for seed in range(count)]
    return [
        (seed, random_timed_instance(rng) if seed % 3 == 0 else random_instance(rng, streams))
        for seed, rng in enumerate(rngs)
    ]


def all_minimal(instance: Instance, given: Sequence[Scheme], candidates: Sequence[Scheme]) -> set[frozenset[Scheme]]:
    """Every subset is tried."""
    found: list[frozenset[Scheme]] = []
    for size in range(len(candidates) + 1):
        for chosen in map(frozenset, combinations(candidates, size)):
            if not any(smaller <= chosen for smaller in found) and check(instance.query, [*given, *chosen]).safe:
                found.append(chosen)
    return set(found)


def test_further_schemes_are_all_smallest_sets_that_help() -> None:
    helped = 0
    for seed, instance in cases(250):
        given = instance.scheme_set
        candidates = [each for each in candidate_schemes(instance.query) if each not in given]
        found = further_schemes(instance.query, given, most=1000, effort=100_000)
        assert found.all_found
        assert [len(each) for each in found.sets] == sorted(len(each) for each in found.sets)
        assert len(set(found.sets)) == len(found.sets)
        expected = all_minimal(instance, given, candidates)
        assert set(map(frozenset, found.sets)) == expected, (seed, instance)
        helped += bool(expected) and frozenset() not in expected
    assert helped > 50


def test_one_stream_may_be_helped_alone() -> None:
    for seed, instance in cases(150):
        for stream in instance.streams:
            for each in further_schemes(instance.query, instance.scheme_set, [stream]).sets:
                state = purgeability(instance.query, [*instance.scheme_set, *each], stream)
                assert state.bounded, (seed, instance)
                fewer = [*instance.scheme_set, *each[1:]]
                assert not each or not purgeability(instance.query, fewer, stream).bounded


def test_where_the_search_is_cut_short_the_set_given_is_minimal_still() -> None:
    for seed, instance in cases(150, streams=5):
        found = further_schemes(instance.query, instance.scheme_set, effort=1)
        for each in found.sets:
            assert is_safe(instance.query, [*instance.scheme_set, *each]), (seed, instance)
            for fewer in combinations(each, len(each) - 1) if each else ():
                assert not is_safe(instance.query, [*instance.scheme_set, *fewer]), (seed, instance)
        assert bool(found.sets) is bool(further_schemes(instance.query, instance.scheme_set, most=1).sets)


def test_minimal_scheme_sets_are_all_subsets_that_suffice() -> None:
    for seed, instance in cases(250):
        found = minimal_scheme_sets(instance.query, instance.scheme_set, most=1000, effort=100_000)
        assert found.all_found
        assert set(map(frozenset, found.sets)) == all_minimal(instance, [], instance.scheme_set), (seed, instance)


def test_needed_schemes_cannot_be_left_out_and_irrelevant_ones_can_whatever_else_is() -> None:
    irrelevant = 0
    for seed, instance in cases(300):
        query, schemes = instance.query, instance.scheme_set
        found = relevance(query, schemes)
        assert {*found.needed, *found.useful, *found.irrelevant} == set(schemes)
        everything, bounded = purgeable_streams(query, schemes), _bounded(instance, schemes)
        for scheme in schemes:
            others = [each for each in schemes if each != scheme]
            lost = purgeable_streams(query, others) != everything or _bounded(instance, others) != bounded
            assert (scheme in found.needed) is lost, (seed, scheme, instance)
            if not is_safe(query, []):
                helps = any(
                    _reached(instance, [*chosen, scheme], stream) - _reached(instance, chosen, stream)
                    for size in range(len(others) + 1)
                    for chosen in combinations(others, size)
                    for stream in instance.streams
                )
                assert (scheme in found.irrelevant) is (not helps), (seed, scheme, instance)
        irrelevant += len(found.irrelevant)
    assert irrelevant > 50


def _bounded(instance: Instance, schemes: Sequence[Scheme]) -> set[str]:
    return {state.stream for state in check(instance.query, schemes).states if state.bounded}


def _reached(instance: Instance, schemes: Sequence[Scheme], stream: str) -> set[str]:
    return {stream, *(step.stream for step in purgeability(instance.query, schemes, stream).steps)}


def test_without_a_join_no_scheme_helps() -> None:
    cross = Instance({"a": ("x",), "b": ("x",)})
    found = further_schemes(cross.query, [])
    assert found.sets == ()
    assert found.all_found


def test_candidates_may_be_given() -> None:
    join = Instance({"a": ("x", "y"), "b": ("x", "y")}, [("a.x", "b.x"), ("a.y", "b.y")])
    only = [Scheme("a", ("x", "y")), Scheme("b", ("x", "y"))]
    assert further_schemes(join.query, [], candidates=only).sets == (tuple(only),)


def test_sixty_streams_without_schemes() -> None:
    """A chain needs a scheme on both sides of each link; so many sets are not searched through, but one is found."""
    size = 60
    streams = {f"s{i}": ("a", "b") for i in range(size)}
    chain = Instance(streams, [(f"s{i}.b", f"s{i + 1}.a") for i in range(size - 1)])
    (found,) = further_schemes(chain.query, [], most=1, effort=10).sets
    assert len(found) == 2 * (size - 1)
    assert is_safe(chain.query, found)

"""The smallest sets that suffice are all found, cheapest first: against all subsets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

from penstock.register.cheapest_sets import Exhausted, cheapest_sets, shrunk


def needs(random: Random, items: int) -> list[frozenset[int]]:
    """What a sufficient set must meet: any monotone property is such a list."""
    return [
        frozenset(random.sample(range(items), random.randint(1, min(4, items)))) for _ in range(random.randint(0, 7))
    ]


def meeting(lists: list[frozenset[int]]) -> Callable[[frozenset[int]], bool]:
    return lambda some: all(some & each for each in lists)


def missing(lists: list[frozenset[int]], most: int) -> Callable[[frozenset[int]], list[frozenset[int]]]:
    return lambda some: [each for each in lists if not each & some][:most]


def minimal(items: int, lists: list[frozenset[int]]) -> set[frozenset[int]]:
    """All minimal sets that meet each of the lists, by trying all."""
    found: set[frozenset[int]] = set()
    for size in range(items + 1):
        for some in map(frozenset, combinations(range(items), size)):
            if all(some & each for each in lists) and not any(less <= some for less in found):
                found.add(some)
    return found


def test_all_are_found_and_the_cheapest_first() -> None:
    random = Random("sets")
    for _ in range(400):
        items = random.randint(1, 9)
        lists = needs(random, items)
        costs = {item: random.randint(1, 4) for item in range(items)}
        answer = cheapest_sets(
            costs,
            meeting(lists),
            1000,
            missing(lists, most=random.choice((0, 2))),
        )
        assert answer.complete
        assert len(answer.found) == len(set(answer.found))
        assert set(answer.found) == minimal(items, lists), lists
        prices = [sum(costs[item] for item in each) for each in answer.found]
        assert prices == sorted(prices)


def test_so_many_are_the_cheapest_so_many() -> None:
    random = Random("some")
    for _ in range(200):
        items = random.randint(4, 9)
        lists = needs(random, items)
        costs = {item: random.randint(1, 4) for item in range(items)}
        every = sorted(sum(costs[item] for item in each) for each in minimal(items, lists))
        answer = cheapest_sets(costs, meeting(lists), 3)
        assert [sum(costs[item] for item in each) for each in answer.found] == every[:3]
        assert answer.complete is (len(every) <= 3)


def test_nothing_suffices() -> None:
    answer = cheapest_sets({1: 1}, lambda _: False, 5)
    assert answer.complete
    assert not answer.found


def test_who_has_no_more_effort_says_so() -> None:
    left = 4

    def suffices(some: frozenset[int]) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise Exhausted
        return {1, 2, 3} <= some

    answer = cheapest_sets(dict.fromkeys(range(9), 1), suffices, 5)
    assert not answer.complete


def test_a_set_is_shrunk_to_a_minimal_one_that_keeps_what_comes_first() -> None:
    random = Random("shrunk")
    for _ in range(200):
        items = random.randint(1, 9)
        lists = needs(random, items)
        assert shrunk(range(items), meeting(lists)) in minimal(items, lists)
    assert shrunk(range(5), bool) == {0}

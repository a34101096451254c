"""Caches of a join at random: for tests that no result depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.plan.caches import Cache, CacheChoice

#: Bytes that caches may take, from none to many lines.
MEMORY = (0, 1 << 14, 1 << 16, 1 << 20)


def random_caches(candidates: Sequence[Cache], random: Random) -> CacheChoice:
    """Some of the candidates, used or profiled, with some memory."""
    used: list[Cache] = []
    profiled: list[Cache] = []
    begun: set[tuple[int, int]] = set()
    for cache in random.sample(candidates, len(candidates)):
        place = (cache.pipeline, cache.first)
        if place in begun or random.random() < 0.2:
            continue
        if not any(cache.overlaps(other) for other in used) and random.random() < 0.8:
            used.append(cache)
            begun.add(place)
        elif random.random() < 0.5:
            profiled.append(cache)
            begun.add(place)
    return CacheChoice(tuple(used), tuple(profiled), random.choice(MEMORY))


def nested_orders(inputs: int, random: Random) -> list[tuple[int, ...]]:
    """Orders of probes, by input, in which random sets that lie in each other keep the prefix invariant.

    The inputs are put together two groups at a time; each input then probes the members of its groups from the inside
    out.
    """
    groups: list[frozenset[int]] = [frozenset({n}) for n in range(inputs)]
    orders: dict[int, list[int]] = {n: [] for n in range(inputs)}
    while len(groups) > 1:
        left, right = (groups.pop(random.randrange(len(groups))) for _ in range(2))
        for own, other in ((left, right), (right, left)):
            for member in own:
                orders[member] += random.sample(sorted(other), len(other))
        groups.append(left | right)
    return [tuple(orders[n]) for n in range(inputs)]

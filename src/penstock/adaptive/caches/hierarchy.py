"""The hierarchy of candidate caches of a pipeline, and the groups that share a store (thesis 5.5.4).

Of two candidates in a pipeline that overlap, one holds the other: an input that both have probes the members of each
before all others, so one set of members is a part of the other. So those of a pipeline are a forest.

    {1, 2, 3, 4, 5}                in the pipeline of input 6
       ├─ {1, 2}
       └─ {4, 5}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.plan.caches import Cache, CacheStore


@dataclass(frozen=True, slots=True)
class Tree:
    """A cache, and the largest ones within it."""

    cache: Cache
    children: tuple[Tree, ...] = ()


def forest(candidates: Sequence[Cache]) -> tuple[Tree, ...]:
    """The trees of the candidates of one pipeline, or of several."""
    largest = sorted(candidates, key=lambda cache: (cache.pipeline, cache.first, -cache.last))
    trees: list[Tree] = []
    while largest:
        root, *rest = largest
        inside = [cache for cache in rest if cache.within(root)]
        assert not any(cache.overlaps(root) for cache in rest if cache not in inside), "overlapping caches are nested"
        trees.append(Tree(root, forest(inside)))
        largest = [cache for cache in rest if cache not in inside]
    return tuple(trees)


def sharing(candidates: Iterable[Cache]) -> dict[CacheStore, tuple[Cache, ...]]:
    """The candidates by what they store: those of one store cost as much as one of them."""
    groups: dict[CacheStore, tuple[Cache, ...]] = {}
    for cache in candidates:
        groups[cache.store] = (*groups.get(cache.store, ()), cache)
    return groups

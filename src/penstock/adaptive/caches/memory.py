"""Memory for caches (thesis 5.6): those that save most for each byte come first, as far as the memory goes.

Caches are chosen as if there were memory for all. `JoinCaches` gives the stores their lines in this order, halves the
last one until it fits, and leaves out what does not. With less memory the same choice is laid out anew, and misses
more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.adaptive.caches.hierarchy import sharing
from penstock.adaptive.caches.selection import Estimates, value
from penstock.plan.caches import MOST_MEMORY, Cache, CacheStore

#: Bytes that caches get for each byte of the rows of their join, unless a budget is set; and the fewest.
SHARE = 0.5
LEAST = 1 << 18


def by_priority(
    chosen: Collection[Cache], estimates: Estimates, memory: Mapping[CacheStore, float] | None = None
) -> tuple[Cache, ...]:
    """Caches in the order in which they get memory: by what their store saves for each byte that it needs."""
    groups = sharing(sorted(chosen))
    needs = memory or {}

    def priority(store: CacheStore) -> float:
        return value(groups[store], estimates) / max(1.0, needs.get(store, 1.0))

    return tuple(cache for store in sorted(groups, key=priority, reverse=True) for cache in groups[store])


def budget(state_bytes: int, given: int | None) -> int:
    """The bytes that the caches of a join may take: those that are given, or a part of what the join itself keeps."""
    return given if given is not None else int(min(MOST_MEMORY, max(LEAST, SHARE * state_bytes)))

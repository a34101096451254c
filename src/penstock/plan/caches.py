"""Subresult caches in the pipelines of a join (thesis 5.4): which there can be, and by which key they are looked up.

A cache C_ijk stands for a segment of the path of input i, its stages j to k: a lookup before the segment finds the
combinations of the segment's inputs that another row with the same key found before it.

    c:  ──▶ lookup ──▶ b by y ──▶ a by x ──▶ update ──▶ results       key y, members {a, b}
              └─────────────── hit ─────────────────────▲
    a:  ──▶ b by x ──▶ drop what is cached for y ──▶ c by y
    b:  ──▶ a by x ──▶ drop what is cached for y ──▶ c by y

An insertion into a member finds all new combinations of the members if its own path probes the other members first: the
*prefix invariant*. Then a stale entry is dropped on the way, and no probe is made for the sake of a cache. A cache is a
value; two of the same members and key are one store with two lookups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.plan.probe_paths import Variables, paths_of, variables_of


class CacheStore(NamedTuple):
    """What is stored: combinations of members by the key, that may lack those without a match in `semijoined`."""

    members: tuple[int, ...]
    key: tuple[int, ...]
    semijoined: tuple[int, ...] = ()

    @property
    def watched(self) -> tuple[int, ...]:
        """The inputs whose insertions drop lines."""
        return (*self.members, *self.semijoined)


#: The most variables of a key.
MOST_KEY = 8
#: The most bytes that the caches of a join take in a cell, unless a budget is set.
MOST_MEMORY = 1 << 24


@dataclass(frozen=True, slots=True, order=True)
class Cache:
    """A cache in the path of an input, from its stage `first` to its stage `last`: C_ijk, counted from 0."""

    pipeline: int
    first: int
    last: int
    #: The inputs that the segment probes, in their own order.
    members: tuple[int, ...]
    #: The join variables that a member shares with an input before the segment.
    key: tuple[int, ...]
    #: Inputs that keep the prefix invariant together with the members, if these do not by themselves (5.7).
    semijoined: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.first < self.last and len(self.members) == self.last - self.first + 1, f"{self} is no segment"
        assert self.members == tuple(sorted(self.members)) and self.pipeline not in self.store.watched

    @property
    def store(self) -> CacheStore:
        """What it shares with caches of other pipelines (5.5.4): the same members, and the same key."""
        return CacheStore(self.members, self.key, self.semijoined)

    @property
    def stages(self) -> range:
        return range(self.first, self.last + 1)

    def overlaps(self, other: Cache) -> bool:
        """Whether they have a stage in common."""
        return self.pipeline == other.pipeline and self.first <= other.last and other.first <= self.last

    def within(self, other: Cache) -> bool:
        """Whether its segment is a part of the other's."""
        return self.pipeline == other.pipeline and other.first <= self.first and self.last <= other.last


def keeps_prefix_invariant(orders: Sequence[Sequence[int]], members: Collection[int]) -> bool:
    """Whether the path of each member probes the other members before all others (definition 5.4.2).

    >>> keeps_prefix_invariant([(1, 2), (2, 0), (1, 0)], {1, 2})
    True
    >>> keeps_prefix_invariant([(1, 2), (2, 0), (1, 0)], {0, 1})
    False
    """
    own = set(members)
    return all({*orders[member][: len(own) - 1]} == own - {member} for member in own)


def cache_of(orders: Sequence[Sequence[int]], variables: Sequence[Variables], i: int, first: int, last: int) -> Cache:
    """The cache of a segment of an input's path."""
    before, members = (i, *orders[i][:first]), orders[i][first : last + 1]
    bound, own = (_held(variables, some) for some in (before, members))
    return Cache(i, first, last, tuple(sorted(members)), tuple(sorted(bound & own)))


def candidates(
    orders: Sequence[Sequence[int]], variables: Sequence[Variables], uncached: Collection[int] = ()
) -> tuple[Cache, ...]:
    """The caches that keep the prefix invariant, of segments of two stages or more; `uncached` inputs are no members.

    >>> [(c.pipeline, c.members, c.key) for c in candidates([(1, 2), (2, 0), (1, 0)], [(0, None), (0, 1), (None, 0)])]
    [(0, (1, 2), (0,))]
    """
    depths = len(orders) - 1
    segments = ((i, j, k) for i in range(len(orders)) for j in range(depths) for k in range(j + 1, depths))
    found = (
        cache_of(orders, variables, i, j, k)
        for i, j, k in segments
        if keeps_prefix_invariant(orders, orders[i][j : k + 1]) and not {*orders[i][j : k + 1]} & {*uncached}
    )
    return tuple(cache for cache in found if len(cache.key) <= MOST_KEY)


def globally_consistent(
    orders: Sequence[Sequence[int]], variables: Sequence[Variables], uncached: Collection[int] = ()
) -> tuple[Cache, ...]:
    """The caches of other segments X, that keep the prefix invariant with some more inputs Y (5.7), the longest first.

    A line may then lack combinations that have no match in Y. An insertion into Y that gives them one drops the line.
    That is not so if Y has the input of the pipeline itself, as definition 5.7.1 allows: its row that comes is looked
    up before it drops anything, and hits a line that lacks what only this row matches.

    >>> orders = [(1, 2, 3), (2, 3, 0), (3, 1, 0), (1, 2, 0)]
    >>> [(c.pipeline, c.members, c.semijoined) for c in globally_consistent(orders, [(0,)] * 4)]
    [(0, (1, 2), (3,)), (0, (2, 3), (1,))]
    """
    depths = len(orders) - 1
    found: list[Cache] = []
    for length in range(depths, 1, -1):
        for i in range(len(orders)):
            for j in range(depths - length + 1):
                members = orders[i][j : j + length]
                closed = _closure(orders, members)
                if closed is not None and len(closed) > length and i not in closed and not closed & {*uncached}:
                    own = cache_of(orders, variables, i, j, j + length - 1)
                    found.append(replace(own, semijoined=tuple(sorted(closed - {*members}))))
    return tuple(cache for cache in found if len(cache.key) <= MOST_KEY)


def _closure(orders: Sequence[Sequence[int]], members: Sequence[int]) -> set[int] | None:
    """The smallest set around some inputs that keeps the prefix invariant, if there is one: a prefix of each's path."""
    one = members[0]
    prefixes = ({one, *orders[one][:length]} for length in range(len(members) - 1, len(orders) - 1))
    return next((own for own in prefixes if own >= {*members} and keeps_prefix_invariant(orders, own)), None)


def cached_inputs(join: PhysicalJoin) -> tuple[int, ...]:
    """The inputs whose rows may be cached: those that are stored, listed, and come and go by events, all of them."""
    if join.kind is not JoinKind.JOIN or join.buckets or join.counted:
        return ()
    return tuple(number for number in range(len(join.operands)) if number != join.stateless)


def candidates_of(join: PhysicalJoin) -> tuple[Cache, ...]:
    """The caches that keep the prefix invariant along the paths that a join begins with."""
    orders = [[stage.target for stage in path] for path in paths_of(join)]
    return candidates(orders, variables_of(join), {*range(len(join.operands))} - {*cached_inputs(join)})


def _held(variables: Sequence[Variables], some: Collection[int]) -> set[int]:
    return {v for number in some for v, column in enumerate(variables[number]) if column is not None}


@dataclass(frozen=True, slots=True)
class CacheChoice:
    """The caches of a join that are used, those that matter most first, and those that are only profiled.

    No result depends on it. `memory` are the bytes that those in use may take.
    """

    used: tuple[Cache, ...] = ()
    profiled: tuple[Cache, ...] = ()
    memory: int = 1 << 20

    def __post_init__(self) -> None:
        for n, cache in enumerate(self.used):
            assert not any(cache.overlaps(other) for other in self.used[:n]), f"{cache} overlaps another"
        places = [(cache.pipeline, cache.first) for cache in (*self.used, *self.profiled)]
        assert len(set(places)) == len(places), "two caches begin at one stage"

    def kept_by(self, candidates: Collection[Cache]) -> CacheChoice:
        """What is left of it where only these are candidates."""
        used, profiled = (tuple(each for each in some if each in candidates) for some in (self.used, self.profiled))
        return CacheChoice(used, profiled, self.memory)


NO_CACHES = CacheChoice()


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How often the caches of a join that are used were looked up, and hit; and the bytes that they take."""

    lookups: int = 0
    hits: int = 0
    nbytes: int = 0

    def since(self, before: CacheUse) -> CacheUse:
        return CacheUse(self.lookups - before.lookups, self.hits - before.hits, self.nbytes)


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """How often a cache was looked up, and hit; and how many lines of its store insertions dropped, or would have."""

    lookups: int = 0
    hits: int = 0
    drops: int = 0

    def since(self, before: CacheCounts) -> CacheCounts:
        return CacheCounts(self.lookups - before.lookups, self.hits - before.hits, self.drops - before.drops)

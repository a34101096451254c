"""The subresult caches of one join: arrays of this process, which are never persisted, and their layout for the kernel.

They can be created, dropped and emptied at any time: a cache that holds less only misses more often. They are emptied
when rows come without an event (`JoinCore.bring_back`), and a join that is restored begins without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from penstock.kernels import cached_mjoin as kernel
from penstock.kernels.cached_mjoin import Caches, Places
from penstock.kernels.pointers import address
from penstock.plan.caches import Cache, CacheChoice, CacheCounts, CacheStore
from penstock.plan.probe_paths import Probe
from penstock.synopsis.events import Events, Some
from penstock.synopsis.indexed_inputs import JoinInput
from penstock.synopsis.memory import Int32s, Ints

#: The most and the fewest lines of a store, and the int32s of its ring for each.
MOST_LINES, FEWEST_LINES, RING_PER_LINE = 1 << 14, 1 << 6, 8
#: Words of a line: 64 bytes, or twice that where keys are long.
LINE, LONG_LINE, LONG_KEY = 8, 16, 3
#: The words of the Bloom filter of a store that is profiled.
FILTER_WORDS = 1 << 14
#: The int32s of a line that are held back while they are found; what has more is not cached.
MOST_FOUND = 1 << 12


class SubresultStore(NamedTuple):
    """The memory of a store: lines, or the words of a Bloom filter, and a ring for long lines."""

    lines: Ints
    ring: Int32s
    mode: int

    @property
    def nbytes(self) -> int:
        return self.lines.nbytes + self.ring.nbytes


class JoinCaches:
    """The caches of a choice, over the inputs of a join and the probes along its paths."""

    def __init__(
        self,
        inputs: Sequence[JoinInput],
        probes: Sequence[Sequence[Probe]],
        choice: CacheChoice,
        before: JoinCaches | None = None,
    ) -> None:
        """Takes over what `before` holds of the same stores."""
        self.choice = choice
        self._inputs, self._probes = inputs, probes
        self._step: int = before._step if before else 0
        self._born: list[Int32s] = before._born if before else [np.zeros(0, np.int32) for _ in inputs]
        used = _lines(choice.used, choice.memory)
        self._keys = [(store, kernel.USED) for store in used]
        self._keys += [(store, kernel.PROFILED) for store in dict.fromkeys(each.store for each in choice.profiled)]
        self._stores: dict[tuple[CacheStore, int], SubresultStore] = {}
        for key in self._keys:
            size = used.get(key[0], 0) * _line_words(key[0]) if key[1] == kernel.USED else FILTER_WORDS
            kept = before._stores.get(key) if before else None
            if kept is not None and len(kept.lines) == size:
                self._stores[key] = kept
            else:
                self._stores[key] = _empty(size, used.get(key[0], 0), key[1])
        #: The caches that there is memory for.
        self.placed = [each for each in choice.used if each.store in used] + list(choice.profiled)
        self._lay_out()
        if before is not None:
            self._carry_over(before)

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self._stores.values())

    @property
    def step(self) -> int:
        """The number of the join's current step."""
        return self._step

    def counts(self) -> dict[Cache, CacheCounts]:
        """What was counted since the choice was made."""
        found = {}
        for number, cache in enumerate(self.placed):
            store = int(self.arrays.placed[number, kernel.STORE])
            lookups, hits = self.arrays.counts[number].tolist()
            found[cache] = CacheCounts(lookups, hits, int(self.arrays.store_counts[store, kernel.DROPS]))
        return found

    def begin(self, events: Sequence[Events], brings: Sequence[Some]) -> None:
        """Begins a step, in which these rows are linked."""
        self._step += 1
        for number, own in enumerate(events):
            if self._is_member[number]:
                born, capacity = self._born[number], self._inputs[number].store.capacity
                if len(born) < capacity:
                    self._born[number] = np.zeros(capacity, np.int32)
                    self._born[number][: len(born)] = born
                new = own.take(brings[number])
                self._born[number][new.slots[new.signs > 0]] = self._step
                self.arrays.born[number] = address(self._born[number])

    def clear(self) -> None:
        """Empties all caches."""
        for store in self._stores.values():
            store.lines[:] = 0

    def places(self, depths: int) -> Places:
        """What `combine_cached` keeps of the combination in work."""
        doing, back, line, fills = (np.full(depths + 1, value, np.int64) for value in (0, -1, 0, -1))
        words = max([1, *(len(store.key) for store, _ in self._keys)])
        return Places(doing, back, line, np.zeros((depths + 1, words), np.int64), fills)

    def _carry_over(self, before: JoinCaches) -> None:
        for number, key in enumerate(self._keys):
            if key in before._keys and self._stores[key] is before._stores[key]:
                ring_end = before.arrays.store_counts[before._keys.index(key), kernel.RING_END]
                self.arrays.store_counts[number, kernel.RING_END] = ring_end

    def _lay_out(self) -> None:
        width, depths, stores = len(self._inputs), len(self._inputs) - 1, max(1, len(self._keys))
        words = max([1, *(len(store.key) for store, _ in self._keys)])
        at_member: dict[tuple[int, int], list[int]] = {}
        for number, (store, _) in enumerate(self._keys):
            for member in store.watched:
                at_member.setdefault((member, len(store.watched) - 1), []).append(number)
        drops = np.full((width, depths, max([1, *map(len, at_member.values())])), -1, np.int64)
        for (member, depth), numbers in at_member.items():
            drops[member, depth, : len(numbers)] = numbers
        placed = max(1, len(self.placed))
        self.arrays = Caches(
            np.full((width, depths), -1, np.int64),
            drops,
            np.zeros((placed, 2), np.int64),
            np.zeros((stores, 9), np.int64),
            np.zeros((stores, width), np.int64),
            np.zeros((placed, words), np.int64),
            np.zeros((placed, words), np.int64),
            np.zeros((stores, words), np.int64),
            np.zeros((stores, words), np.int64),
            np.zeros(width, np.int64),
            np.zeros((placed, 2), np.int64),
            np.zeros((stores, 2), np.int64),
            np.zeros((stores, MOST_FOUND), np.int64),
            np.zeros(stores, np.int64),
        )
        self._is_member = [any(n in store.members for store, _ in self._keys) for n in range(width)]
        for number, key in enumerate(self._keys):
            self._lay_out_store(number, *key)
        for number, cache in enumerate(self.placed):
            self._lay_out_lookup(number, cache)

    def _lay_out_store(self, number: int, key: CacheStore, mode: int) -> None:
        members, variables, own = key.members, key.key, self._stores[key, mode]
        line = _line_words(key) if mode == kernel.USED else 1
        room = 2 * (line - 1 - len(variables))
        shape = (len(own.lines) // line - 1, line, len(variables), len(members), room)
        self.arrays.stores[number] = (mode, address(own.lines), *shape, address(own.ring), len(own.ring) - 1)
        self.arrays.members[number, : len(members)] = members
        for place, variable in enumerate(variables):
            where = self._column(members, variable)
            self.arrays.own_inputs[number, place], self.arrays.own_columns[number, place] = where

    def _lay_out_lookup(self, number: int, cache: Cache) -> None:
        mode = kernel.USED if cache in self.choice.used else kernel.PROFILED
        self.arrays.lookups[cache.pipeline, cache.first] = number
        self.arrays.placed[number] = self._keys.index((cache.store, mode)), cache.last + 1
        before = (cache.pipeline, *(probe.target for probe in self._probes[cache.pipeline][: cache.first]))
        for place, variable in enumerate(cache.key):
            where = self._column(before, variable)
            self.arrays.key_inputs[number, place], self.arrays.key_columns[number, place] = where

    def _column(self, some: Sequence[int], variable: int) -> tuple[int, int]:
        """The first of some inputs that has a variable, and its column."""
        columns = ((number, self._inputs[number].variables[variable]) for number in some)
        return next((number, column) for number, column in columns if column is not None)


def _lines(used: Sequence[Cache], memory: int) -> dict[CacheStore, int]:
    """By store how many lines it has: as many as are of use, and as the memory allows, by priority (5.6)."""
    found: dict[CacheStore, int] = {}
    for store in dict.fromkeys(each.store for each in used):
        line = 8 * _line_words(store) + 4 * RING_PER_LINE
        lines = MOST_LINES if store.key else FEWEST_LINES
        while lines * line > memory and lines >= FEWEST_LINES:
            lines //= 2
        if lines >= FEWEST_LINES:
            found[store] = lines
            memory -= lines * line
    return found


def _line_words(store: CacheStore) -> int:
    return LINE if len(store.key) <= LONG_KEY else LONG_LINE


def _empty(words: int, lines: int, mode: int) -> SubresultStore:
    """A store whose lines each lie in one line of the processor's cache."""
    room = np.zeros(words + LINE, np.int64)
    skipped = -(room.ctypes.data // 8) % LINE
    return SubresultStore(room[skipped : skipped + words], np.zeros(max(1, lines * RING_PER_LINE), np.int32), mode)

"""First rows: since when each value is there, and how many rows have it, in bounded memory.

A value that is older than what has to be remembered is forgotten, unless it is one of a sample: then it is retained,
to say that more should be remembered (thesis 6.6.3). The sample is chosen by hash, so it does not depend on how rows
are cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.evidence import Referred, find_referred, mark, meet, refer
from penstock.kernels.hashing import row_hashes
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints, Scope

LEAST = -(1 << 63)
#: Above all hashes.
ALL = (1 << 63) - 1
#: So few values are all remembered.
FEW = 1024
#: The sample is not larger.
SAMPLE = 256


class Keys(NamedTuple):
    """Values, and their hashes."""

    values: Ints
    hashes: Ints

    @staticmethod
    def of(values: Ints) -> Keys:
        return Keys(values, row_hashes(values, np.arange(len(values)), np.arange(values.shape[1])))


class ReferredPlaces(NamedTuple):
    """Which rows are referred to, since when, and by how many."""

    places: Ints
    words: Ints
    partners: Ints


class Firsts(Evidence):
    """`share`: of values that are not needed any more, those that are kept as a sample; `most`: of all others."""

    def __init__(self, memory: Scope, width: int, share: float, most: int) -> None:
        super().__init__(memory, width, words=2)
        #: The hash below which so many are.
        self._sampled = int(share * (1 << 63))
        self._share, self._most = share, most
        #: [values that were left when it was last examined, before when only the sample is there, if that is so]
        self._registers = memory.array("registers", 3)

    def meet(self, keys: Ints, words: Ints, again: int = 0) -> Ints:
        """Notes rows with these keys. Gives the word that each key had before its row, or MISSING.

        A new key has its row's word, and each more row of it adds `again`.
        """
        found = np.full(len(keys), MISSING, np.int64)
        if len(keys):
            fresh = self._fresh(len(keys))
            taken = meet(np.ascontiguousarray(keys), words, again, fresh, self.store.rows, *self._where(), found)
            self._take(fresh, taken)
        return found

    def refer(self, keys: Keys, words: Ints, to: Keys, is_key: bool, oldest: int) -> tuple[ReferredPlaces, Ints]:
        """Rows with these keys and words, which refer to others, and those that they refer `to`, which come with them.

        If what is referred to is a key, the rows that refer to it are forgotten: nothing more arrives for them. Gives
        which of the rows are to be remembered: those with words below the `oldest` need not be, but for the sample.
        """
        if len(self) + len(words) <= FEW:
            oldest = LEAST
        else:
            self._sample_before(oldest)
        bits = np.zeros(1 << (len(words) // 4).bit_length(), np.int64)
        mark(keys.hashes, bits)
        places, since, partners, firsts, slots = np.empty((5, len(to.values)), np.int64)
        table = np.zeros(1 << (2 * len(to.values)).bit_length(), np.int32)
        rows = Referred(*to, places, since, partners, firsts, slots, table)
        some = find_referred(rows, bits, self.store.rows, *self._where())
        kept = np.empty(len(words) + 1, np.int64)
        count = refer(*keys, words, rows, is_key, oldest, self._sampled, kept)
        if is_key:
            # Of those with the same key one.
            known = slots[:some][firsts[:some] == np.arange(some)]
            self.forget(known[known >= 0])
        since, partners = since[firsts[:some]], partners[firsts[:some]]
        found = since != MISSING
        return ReferredPlaces(places[:some][found], since[found], partners[found]), kept[
            max(0, count - self._most) : count
        ]

    @property
    def sampled_before(self) -> int:
        """Values with a word below this one are there for sure only if they are of the sample."""
        return int(self._registers[1]) if self._registers[2] else LEAST

    def _sample_before(self, word: int) -> None:
        self._registers[1:3] = max(word, self.sampled_before), 1

    def weights(self, keys: Ints, words: Ints) -> NDArray[np.float64]:
        """For how many values each of those stands that has such a word: those of the sample for more."""
        of_sample = np.where(Keys.of(keys).hashes < self._sampled, 1 / self._share, 0.0)
        return np.where(words < self.sampled_before, of_sample, 1.0)

    @property
    def is_large(self) -> bool:
        """Whether there are half as many values more as were left the last time."""
        return len(self) > max(FEW, int(self._registers[0]) * 3 // 2)

    def forget_before(self, word: int, at_once: bool) -> None:
        """Forgets values with a word below this one, but for a sample, when there are many, or more than a few."""
        if not self.is_large and not (at_once and len(self) > FEW):
            return
        slots = np.flatnonzero(self._held())
        words = self.store.rows[slots, self.width]
        if (surplus := len(words) - self._most) > 0:
            word = max(word, int(np.partition(words, surplus)[surplus]))
        old = words < word
        hashes = row_hashes(self.store.rows, slots, np.arange(self.width))
        is_sampled = old & (hashes < self._sampled)
        if is_sampled.sum() > SAMPLE:
            is_sampled &= words >= np.partition(words[is_sampled], -SAMPLE)[-SAMPLE]
        self.forget(slots[old & ~is_sampled])
        self._registers[0] = len(self)
        self._sample_before(word)

"""First rows: since when each value is there, and how many rows have it, in bounded memory.

A value that is older than what has to be remembered is forgotten, unless it is one of a sample: then it stays, to say
that more should be remembered (thesis 6.6.3). The sample is drawn by hash, so it does not depend on how rows are cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.kernels.evidence import Referred, look, mark, meet, refer
from penstock.kernels.hashing import row_hashes
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints, Memory

#: So few values are not looked through, and the sample is not larger.
FEW = 256
#: Values, whatever has to be remembered.
MOST = 1 << 18


class Keys(NamedTuple):
    """Values, and their hashes."""

    values: Ints
    hashes: Ints

    @staticmethod
    def of(values: Ints) -> Keys:
        return Keys(values, row_hashes(values, np.arange(len(values)), np.arange(values.shape[1])))


class Reference(NamedTuple):
    """Of rows that may be referred to since when, or MISSING, and by how many; and who is to be remembered."""

    places: Ints
    words: Ints
    partners: Ints
    kept: Ints


class Firsts(Evidence):
    def __init__(self, memory: Memory, name: str, width: int) -> None:
        super().__init__(memory, name, width, words=2)
        #: [values that were left when it was last looked through, before when only the sample is there]
        self._registers = memory.array(f"{name}.registers", 2)

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

    def refer(self, keys: Keys, words: Ints, to: Keys, is_key: bool, oldest: int, share: float) -> Reference:
        """Rows with these keys and words, which refer to others, and those that they refer `to`, which come with them.

        If what is referred to is a key, who refers to it is forgotten: nothing more comes for that.
        """
        bits = np.zeros(1 << (len(words) // 4).bit_length(), np.int64)
        mark(keys.hashes, bits)
        places, since, partners, firsts, slots = np.empty((5, len(to.values)), np.int64)
        table = np.zeros(1 << (2 * len(to.values)).bit_length(), np.int32)
        rows = Referred(*to, places, since, partners, firsts, slots, table)
        some = look(rows, bits, self.store.rows, *self._where())
        kept = np.empty(len(words) + 1, np.int64)
        count = refer(*keys, words, rows, is_key, oldest, _share(share), kept)
        if is_key:
            known = slots[:some]
            self._forget(np.unique(known[known >= 0]))
        return Reference(places[:some], since[firsts[:some]], partners[firsts[:some]], kept[:count])

    @property
    def sampled_before(self) -> int:
        """Of values with a word below this one only the sample is there."""
        return int(self._registers[1])

    def forget_before(self, word: int, share: float, at_once: bool) -> None:
        """Forgets values with a word below this one, but for a sample of that share, when there are many values.

        Those are twice as many as were left the last time, unless all are to be looked through at once.
        """
        if len(self) <= (FEW if at_once else max(FEW, 2 * int(self._registers[0]))):
            return
        slots = np.flatnonzero(self._held())
        words = self.store.rows[slots, self.width]
        if len(words) > MOST:
            word = max(word, int(np.partition(words, len(words) - MOST)[len(words) - MOST]))
        old = words < word
        hashes = row_hashes(self.store.rows, slots, np.arange(self.width))
        is_sampled = old & (hashes < _share(share))
        if is_sampled.sum() > FEW:
            is_sampled &= words >= np.partition(words[is_sampled], -FEW)[-FEW]
        self._forget(slots[old & ~is_sampled])
        self._registers[:2] = len(self), max(word, self.sampled_before)


def _share(share: float) -> int:
    """The hash below which so many are."""
    return int(share * (1 << 63))

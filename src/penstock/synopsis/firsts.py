"""First rows: since when each value is there, and how many rows have it, in bounded memory.

A value that is older than what has to be remembered is forgotten, unless it is one of a sample: then it stays, to say
that more should be remembered (thesis 6.6.3). The sample is drawn by hash, so it does not depend on how rows are cut.
"""

from __future__ import annotations

import numpy as np

from penstock.kernels.evidence import meet
from penstock.kernels.hashing import row_hashes
from penstock.synopsis.evidence import MISSING, Evidence
from penstock.synopsis.memory import Ints, Memory

#: So few values are not looked through, and the sample is not larger.
FEW = 1024
#: Values, whatever has to be remembered.
MOST = 1 << 18


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

    def look(self, keys: Ints, forget: bool) -> tuple[Ints, Ints]:
        """The word of each key, or MISSING, and how many rows of it came; then, if so wanted, forgets the keys."""
        slots = self._slots(keys)
        words, rows = np.full(len(keys), MISSING, np.int64), np.zeros(len(keys), np.int64)
        known = slots >= 0
        if known.any():
            found = slots[known]
            words[known], rows[known] = self.store.rows[found, self.width : self.width + 2].T
            if forget:
                self._forget(np.unique(found))
        return words, rows

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
        is_sampled = old & (hashes < int(share * (1 << 63)))
        if is_sampled.sum() > FEW:
            is_sampled &= words >= np.partition(words[is_sampled], -FEW)[-FEW]
        self._forget(slots[old & ~is_sampled])
        self._registers[:2] = len(self), max(word, self.sampled_before)

"""Dictionaries: numbers for values that do not fit one word, and how such values are forgotten.

A value keeps its number, its *code*, for as long as some owner stores it: rows and hash indexes are never touched. No
count of owners is kept, which would cost every row that comes and goes. Instead, now and then all that is stored is
read and the codes that occur are marked; values without a mark go, and their codes serve new values (mark and sweep:
McCarthy 1960). Sweeps wait until so much is new that they cost each new value a constant share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from sys import getsizeof
from typing import ClassVar, cast

import numpy as np

from penstock.synopsis.memory import Ints

#: A value that a dictionary numbers; a DECIMAL is its unscaled integer.
Interned = str | bytes | int

#: The values of successive codes; None where a code is free.
Page = list[Interned | None]

#: Codes per page.
PAGE_CODES = 1024

#: What a value costs besides itself, about: an entry of a hash table and one of a list.
_ENTRY_BYTES = 100


def stable_hash(value: Interned) -> int:
    """A hash of a value that is the same in every process."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


class Marks:
    """The codes that occur in what is stored, and how many words a sweep reads, those of the dictionary too."""

    def __init__(self, size: int) -> None:
        self.live = np.zeros(size, np.bool_)
        self.words = size

    def add(self, codes: Ints) -> None:
        """Marks codes. That of a NULL is 0, so a NULL keeps one value that may have no other owner."""
        self.live[codes] = True
        self.words += len(codes)


class Dictionary:
    """Codes of values, from 0 on: that of a value which was forgotten, the lowest first, or else the next."""

    #: For fewer new values than these no sweep is worth its while.
    least_new: ClassVar[int] = 4096
    #: How many words a sweep may read for each new value.
    words_per_new: ClassVar[int] = 64

    def __init__(self, values: Iterable[Interned] = ()) -> None:
        self._values: Page = []
        self._codes: dict[Interned, int] = {}
        #: Free codes, the lowest at the end.
        self._free: list[int] = []
        self._bytes = 0
        #: The number of values at which a sweep is due.
        self._due_at = self.least_new
        #: Pages that differ from what was last persisted.
        self._changed: set[int] = set()
        self._orders: dict[type, list[int]] = {}
        self._ranks: Ints = np.zeros(0, np.int64)
        self._unranked: list[int] = []
        self._hashes: Ints = np.zeros(0, np.int64)
        #: The codes whose values are not hashed yet; None before anybody asks.
        self._unhashed: list[int] | None = None
        #: How often codes were given anew, so that some may stand for other values since.
        self.sweeps = 0
        self.encode(values)

    def __len__(self) -> int:
        """How many values there are."""
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """About how many bytes the values take."""
        return self._bytes

    def encode(self, values: Iterable[Interned]) -> Ints:
        """The codes of values; new ones get codes. Plain loops over rows are left to the interpreter's own."""
        values = list(values)
        codes = list(map(self._codes.get, values))
        if None in codes:
            self._learn(list(dict.fromkeys(v for v, code in zip(values, codes, strict=True) if code is None)))
            codes = list(map(self._codes.get, values))
        return np.array(codes, np.int64)

    def find(self, value: Interned) -> int | None:
        """The code of a value, if it has one."""
        return self._codes.get(value)

    def value(self, code: int) -> Interned:
        value = self._values[code]
        assert value is not None, f"code {code} is free"
        return value

    def values(self, codes: Ints) -> list[Interned]:
        held = self._values
        found = [held[code] for code in codes.tolist()]
        assert None not in found, "a code is free"
        return cast(list[Interned], found)

    def ranks(self) -> Ints:
        """For each code a rank, in the order of the values of its type; that of a free code means nothing."""
        if self._unranked:
            self._rank()
        return self._ranks

    def hashes(self) -> Ints:
        """For each code the hash of its value, which other dictionaries have as well; of a free code means nothing."""
        codes = list(self._codes.values()) if self._unhashed is None else self._unhashed
        if len(self._hashes) < len(self._values):
            self._hashes = np.concatenate((self._hashes, np.zeros(len(self._values), np.int64)))
        for code in codes:
            if code < len(self._values) and (value := self._values[code]) is not None:
                self._hashes[code] = stable_hash(value)
        self._unhashed = []
        return self._hashes

    @property
    def is_sweep_due(self) -> bool:
        """Whether so many values are new that a sweep costs each of them a constant share."""
        return len(self._codes) >= self._due_at

    def marks(self) -> Marks:
        """Marks for a sweep: none yet."""
        return Marks(max(1, len(self._values)))

    def sweep(self, marks: Marks) -> None:
        """Forgets the values whose codes are not marked. None may have come since the marks were begun."""
        live, held = marks.live, self._values
        for code in np.flatnonzero(~live[: len(held)]).tolist():
            value = held[code]
            if value is not None:
                held[code] = None
                self._bytes -= getsizeof(value) + _ENTRY_BYTES
                self._changed.add(1 + code // PAGE_CODES)
        while held and held[-1] is None:
            held.pop()
        self._find_codes()
        self._orders = {kind: [code for code in order if live[code]] for kind, order in self._orders.items()}
        self._unranked = [code for code in self._unranked if live[code]]
        kept = len(self._codes)
        self._due_at = kept + max(self.least_new, kept, marks.words // self.words_per_new)
        self._changed.add(0)

    def changes(self) -> Iterator[tuple[int, Page]]:
        """The pages that changed since the last call. Page 0 says when a sweep is due, the others hold the values."""
        for number in sorted(self._changed):
            start = (number - 1) * PAGE_CODES
            yield number, [self._due_at] if number == 0 else self._values[start : start + PAGE_CODES]
        self._changed.clear()

    def restore(self, pages: Mapping[int, Sequence[Interned | None]]) -> None:
        """Makes an empty dictionary the one that gave these pages, the latest of each number."""
        for number in sorted(pages.keys() - {0}):
            start = (number - 1) * PAGE_CODES
            # A page of free codes behind the last value may not have been given again.
            self._values += [None] * (start - len(self._values))
            self._values[start:] = pages[number]
        self._find_codes()
        self._bytes = sum(map(getsizeof, self._codes)) + _ENTRY_BYTES * len(self._codes)
        self._unranked = list(self._codes.values())
        for due_at in pages.get(0, ()):
            assert isinstance(due_at, int)
            self._due_at = due_at

    def _find_codes(self) -> None:
        """What follows from the values. A new table is made, for one from which entries are taken does not shrink."""
        self.sweeps += 1
        self._codes = {value: code for code, value in enumerate(self._values) if value is not None}
        self._free = [code for code in reversed(range(len(self._values))) if self._values[code] is None]

    def _learn(self, values: list[Interned]) -> None:
        """Gives codes to values that have none."""
        held = self._values
        codes = self._free[-len(values) :][::-1]
        del self._free[-len(values) :]
        for code, value in zip(codes, values, strict=False):
            held[code] = value
        following = values[len(codes) :]
        codes += range(len(held), len(held) + len(following))
        held += following
        self._codes.update(zip(values, codes, strict=True))
        self._bytes += sum(map(getsizeof, values)) + _ENTRY_BYTES * len(values)
        self._changed.update([1 + code // PAGE_CODES for code in codes])
        self._unranked += codes
        if self._unhashed is not None:
            self._unhashed += codes

    def _rank(self) -> None:
        new: dict[type, list[int]] = {}
        for code in self._unranked:
            new.setdefault(type(self._values[code]), []).append(code)
        self._unranked = []
        ranks = np.zeros(len(self._values), np.int64)
        for kind, codes in new.items():
            # The old order is one run, which Python's sort finds and merges instead of sorting it again.
            order = self._orders.get(kind, []) + codes
            self._orders[kind] = sorted(order, key=self._values.__getitem__)  # type: ignore[arg-type]
        for order in self._orders.values():
            ranks[order] = np.arange(len(order))
        self._ranks = ranks

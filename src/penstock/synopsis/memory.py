"""The memory of a machine: int64 arrays that grow, in scopes, in this process or in files that others can map.

All that an operator remembers is in such arrays, so that a machine can be dropped and picked up again: by
the same process, by another process of the host that maps the same files, or from the pages that were persisted. An
array is *primary*, and then its changed pages are persisted, or *derived*, and then its operator rebuilds it after a
restore.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.checksums import page_sums

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]

#: How many times larger an array of this process is reserved than it is, and the words that are reserved at least: it
#: then grows in place. The system gives memory when it is touched, so what is only reserved costs nothing.
RESERVE = 8
RESERVED_WORDS = 1 << 22

#: Arrays are cut into pages of this many words for persisting.
PAGE_WORDS = 1 << 13


@dataclass(slots=True)
class _Entry:
    data: Ints
    derived: bool
    #: Checksums of the pages as they were last persisted; they lie beside the array, for whoever maps it.
    saved: Ints


class Memory:
    """Arrays by name. `folder` None keeps them in this process."""

    def __init__(self, folder: Path | None = None) -> None:
        keep_what_is_freed()
        self._folder = folder
        self._entries: dict[str, _Entry] = {}
        #: Set after a restore from pages, until operators have rebuilt what is derived.
        self.restored = False

    def scope(self, what: str, number: int | None = None) -> Scope:
        """The arrays of one operator: of the one of that number, where there are several of a kind."""
        return Scope(self, _step(what, number))

    def array(self, name: str, rows: int, width: int | None, derived: bool) -> Ints:
        """The array of that name; operators ask their scope for it."""
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = _Entry(self._open(name, width or 1), derived, self._open(_sums(name), 1))
        if len(entry.data) < rows:
            entry.data = self._grown(name, entry.data, rows)
        return entry.data[:, 0] if width is None else entry.data

    def forget(self, name: str) -> None:
        """Drops a derived array, whose rows are then zeros again."""
        entry = self._entries.pop(name, None)
        if entry is not None and self._folder is not None:
            self._path(name).unlink(missing_ok=True)

    def nbytes(self) -> int:
        return sum(entry.data.nbytes for entry in self._entries.values())

    def nbytes_in(self, scope: str) -> int:
        """The bytes of the arrays of a scope, and of those inside of it."""
        return sum(entry.data.nbytes for name, entry in self._entries.items() if name.startswith(f"{scope}."))

    def changes(self) -> Iterator[tuple[str, bytes]]:
        """The pages of primary arrays that changed since the last call, as (key, bytes).

        The key of a page is `name/width/number`. Comparing checksums costs one pass over the memory, which is far less
        than the bookkeeping of every write would. Arrays grow faster than they are filled: a page of zeros that was
        never persisted need not be, unless it is the last one, which says how long the array is.
        """
        for name, entry in self._entries.items():
            if entry.derived:
                continue
            words = entry.data.reshape(-1)
            sums = page_sums(words, PAGE_WORDS)
            known = np.zeros(len(sums), np.int64)
            known[: len(entry.saved)] = entry.saved[: len(sums), 0]
            self._save_sums(name, entry, sums)
            for page in np.flatnonzero(sums != known).tolist():
                piece = words[page * PAGE_WORDS : (page + 1) * PAGE_WORDS]
                if known[page] or page + 1 == len(sums) or piece.any():
                    yield f"{name}/{entry.data.shape[1]}/{page}", piece.tobytes()

    def restore(self, pages: dict[str, bytes]) -> None:
        """Puts persisted pages back. Operators that find `restored` set rebuild their derived arrays."""
        by_name: dict[tuple[str, int], dict[int, bytes]] = {}
        for key, piece in pages.items():
            name, width, page = key.rsplit("/", 2)
            by_name.setdefault((name, int(width)), {})[int(page)] = piece
        for (name, columns), pieces in by_name.items():
            last = max(pieces)
            words = last * PAGE_WORDS + len(pieces[last]) // 8
            data = self._resize(name, self._open(name, columns), words // columns)
            flat = data.reshape(-1)
            for number, piece in pieces.items():
                flat[number * PAGE_WORDS : (number + 1) * PAGE_WORDS] = np.frombuffer(piece, np.int64)
            entry = self._entries[name] = _Entry(data, False, self._open(_sums(name), 1))
            self._save_sums(name, entry, page_sums(flat, PAGE_WORDS))
        self.restored = True

    def moved(self, folder: Path) -> None:
        """The files have been moved to another folder. What is mapped stays mapped."""
        self._folder = folder

    def _save_sums(self, name: str, entry: _Entry, sums: Ints) -> None:
        if len(entry.saved) < len(sums):
            entry.saved = self._resize(_sums(name), entry.saved, len(sums))
        entry.saved[: len(sums), 0] = sums

    def _open(self, name: str, width: int) -> Ints:
        if self._folder is None:
            return np.zeros((0, width), np.int64)
        try:
            with open(self._path(name), "r+b") as file:
                words = os.fstat(file.fileno()).st_size // 8
                return _mapped(file.fileno(), words // width, width) if words else np.zeros((0, width), np.int64)
        except FileNotFoundError:
            return np.zeros((0, width), np.int64)

    def _grown(self, name: str, data: Ints, rows: int) -> Ints:
        """Twice as long where it has to be moved; else just as long as it must be."""
        reserved = data.base
        if self._folder is None and isinstance(reserved, np.ndarray) and len(reserved) >= rows:
            return reserved[:rows]
        return self._resize(name, data, max(rows, 2 * len(data), 16))

    def _resize(self, name: str, data: Ints, rows: int) -> Ints:
        width = data.shape[1]
        if self._folder is None:
            reserved = _reserved(rows, width)
            reserved[: len(data)] = data
            return reserved[:rows]
        path = self._path(name)
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            # Fails now where there is no space, instead of with a SIGBUS at the first write to the mapping.
            os.posix_fallocate(file.fileno(), 0, max(8, rows * width * 8))
            return _mapped(file.fileno(), rows, width)

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / name.replace("/", "%")


@dataclass(frozen=True, slots=True)
class Scope:
    """The arrays of one operator, or of one part of it. Scopes nest, as operators are made of parts.

    >>> index = Memory().scope("join", 3).scope("index", 0)
    >>> index.name, len(index.array("heads", 4)) >= 4
    ('join3.index0', True)
    """

    memory: Memory
    name: str

    def scope(self, what: str, number: int | None = None) -> Scope:
        """The arrays of a part: of the one of that number, where there are several of a kind."""
        return Scope(self.memory, f"{self.name}.{_step(what, number)}")

    def array(self, what: str, rows: int, width: int | None = None, derived: bool = False) -> Ints:
        """An array of at least that many rows; new rows hold zeros. Grown arrays keep their rows.

        With a width it is a matrix.
        """
        return self.memory.array(f"{self.name}.{what}", rows, width, derived)

    def int32(self, what: str, count: int) -> Int32s:
        """An array of numbers from -2^31 up to 2^31, which take half as much."""
        return self.array(what, (count + 1) // 2).view(np.int32)[:count]

    def forget(self, what: str) -> None:
        """Drops a derived array, whose rows are then zeros again."""
        self.memory.forget(f"{self.name}.{what}")

    @property
    def restored(self) -> bool:
        """Whether derived arrays have to be rebuilt."""
        return self.memory.restored

    def nbytes(self) -> int:
        return self.memory.nbytes_in(self.name)


def _step(what: str, number: int | None) -> str:
    return what if number is None else f"{what}{number}"


@cache
def keep_what_is_freed() -> None:
    """Lets the C library keep the memory of one step's arrays for those of the next.

    glibc takes what is large from the system, and gives it back, until something larger was freed: up to 32 MB.
    """
    np.empty((1 << 25) - (1 << 16), np.int8)


def _mapped(file: int, rows: int, width: int) -> Ints:
    """A file as an array, which stays when the file is closed, moved or removed."""
    return np.asarray(_Mapping(file, rows, width))


class _Mapping:
    """The mapped pages of a file, without a descriptor of it, until the last array of them is gone.

    Python's own mapping keeps a descriptor open. A machine has a hundred arrays, and a process often only 1,024
    descriptors.
    """

    def __init__(self, file: int, rows: int, width: int) -> None:
        self._size = max(8, rows * width * 8)
        readable = mmap.PROT_READ | mmap.PROT_WRITE
        self._address: int | None = _LIBC.mmap(None, self._size, readable, mmap.MAP_SHARED, file, 0)
        if self._address == _FAILED:
            self._address = None
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        data = (self._address, False)
        self.__array_interface__ = {
            "shape": (rows, width),
            "typestr": np.dtype(np.int64).str,
            "data": data,
            "version": 3,
        }

    def __del__(self) -> None:
        if self._address is not None:
            _LIBC.munmap(self._address, self._size)


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_longlong)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED = ctypes.c_void_p(-1).value


def _reserved(rows: int, width: int) -> Ints:
    """Zeros, with room to grow.

    They are in ordinary pages. numpy asks for huge ones, which help where most of them is used at random. Here most
    is written once in order, and a virtual machine that gives free memory back to its host pays dearly for each.
    """
    if rows * width < PAGE_WORDS:
        return np.zeros((rows, width), np.int64)
    rows = max(RESERVE * rows, RESERVED_WORDS // width)
    pages = mmap.mmap(-1, rows * width * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.ndarray((rows, width), np.int64, pages)


def _sums(name: str) -> str:
    """The name of an array's checksums."""
    return f"{name}%sums"

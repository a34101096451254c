"""Spilled rows: those that are probably unnecessary lie in files, and a filter in memory says what may be there.

Thesis 6.1.6: "pushing 'probably unnecessary' state to disk instead of discarding it entirely", with the join keys of
what is there "hashed into in-memory Bloom filters". Files are merged as those of a log-structured merge tree are
(O'Neil et al. 1996): eight of a level become one of the next. Rows that are taken back are noted as such, and left out
when their file is next written.

Which files there are is part of the state; a file is never changed. So whoever goes on from a state finds the files
that it names: one that is needless is deleted in a later step than that in which it became so, when its state can be
the last one no more. A step that failed leaves files that no state names. They are known by their names, which hold the
step, and deleted later.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.kernels import bloom
from penstock.kernels.pointers import address
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.runs import Layout, Run, StoredRows, hashes_of, newest_start, sync, write_run

#: So many files of a level become one of the next.
FAN_OUT = 8
#: A file of so many rows is not merged any more.
MOST_ROWS = 1 << 20
#: So few hashes of rows that are not there any more may always be in a filter.
FEW_STALE = 1024
#: After so many steps files that no state names are removed.
SWEEP_EVERY = 256

#: Registers: steps so far, files in the table, the next file's number, rows that were taken back, those of them whose
#: files are still there, and the start before which nothing is needed.
_STEPS, _FILES, _NEXT, _TAKEN, _DEAD, _OLDEST = range(6)
#: Columns of the table of files: number, step and token, which are in its name; rows, and how many of them were taken
#: back; the latest start; level; bytes; and the step in which it became needless, or 0.
_ID, _STEP, _TOKEN, _ROWS, _GONE, _NEWEST, _LEVEL, _BYTES, _DROPPED = range(9)

_ROW_BITS = 32


class SpilledRows:
    """Rows of one relation in files under a folder. All but the files is in the machine's memory."""

    def __init__(self, memory: Scope, folder: Path, layout: Layout, dictionary: Dictionary) -> None:
        self._memory, self._folder = memory, folder
        self._layout, self._dictionary = layout, dictionary
        self._registers = memory.array("registers", 6)
        self._runs: dict[int, Run] = {}
        self._filters = [_Filter(memory.scope("filter", key)) for key in range(len(layout.keys))]
        if memory.restored:
            self._refill()
            self._sweep(int(self._registers[_STEPS]) + 1)

    def __len__(self) -> int:
        files = self._live()
        return int(files[:, _ROWS].sum() - files[:, _GONE].sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the files."""
        return int(self._live()[:, _BYTES].sum())

    @property
    def taken_back(self) -> int:
        """How many rows were taken back, since the start."""
        return int(self._registers[_TAKEN])

    def begin_step(self) -> None:
        """The last step is over, and what it dropped can be asked for no more."""
        self._registers[_STEPS] += 1
        files = self._table(0)
        needless = files[:, _DROPPED] > 0
        for file in files[needless]:
            self._path(file).unlink(missing_ok=True)
        if needless.any():
            self._keep(files[~needless].copy())
        if self._registers[_STEPS] % SWEEP_EVERY == 0:
            self._sweep(int(self._registers[_STEPS]))

    def sync(self) -> None:
        """Before a state counts that names them, the files of this step are safe."""
        new = [file for file in self._live() if file[_STEP] == self._registers[_STEPS]]
        for file in new:
            sync(self._path(file))
        if new:
            sync(self._folder)

    def put(self, stored: StoredRows) -> None:
        table = self._layout.table(stored, self._dictionary)
        self._add(table, level=0)
        for key, own in enumerate(self._filters):
            own.note(hashes_of(table, key))

    def hashes(self, key: int, values: Ints) -> Ints:
        """What values of a key are asked for by."""
        return self._layout.hashes(key, values, self._dictionary)

    def may_hold(self, key: int, hashes: Ints) -> NDArray[np.bool_]:
        return self._filters[key].may_have(hashes) if len(self) else np.zeros(len(hashes), np.bool_)

    def has(self, key: int, hashes: Ints) -> NDArray[np.bool_]:
        """Which of these hashes of a key rows have: a filter may still say so of rows that were taken back."""
        has = self.may_hold(key, hashes)
        if has.any():
            asked = np.unique(hashes[has])
            has &= np.isin(hashes, np.concatenate([run.hashes(key)[places] for _, run, places in self._at(key, asked)]))
        return has

    def filter(self, key: int) -> tuple[int, int]:
        """The address of the filter of a key, and its mask; no address if there are no rows."""
        return self._filters[key].where if len(self) else (0, 0)

    def take(self, key: int, hashes: Ints) -> StoredRows:
        """Takes back the rows that have these hashes of a key."""
        asked = np.unique(hashes[self.may_hold(key, hashes)])
        found = list(self._found(key, asked)) if len(asked) else []
        rows = self._layout.stored(pa.concat_tables(found), self._dictionary) if found else self._layout.no_rows
        self._registers[_TAKEN] += len(rows)
        return rows

    def forget_before(self, start: int) -> None:
        """Rows that are there since an earlier instant are not needed any more."""
        self._registers[_OLDEST] = max(int(self._registers[_OLDEST]), start)
        for file in self._live():
            if file[_NEWEST] < self._registers[_OLDEST]:
                self._drop(file)

    def tidy(self) -> None:
        """Merges what are many small files, and leaves out what was taken back, where that is most of a file."""
        files = self._live()
        for file in files[2 * files[:, _GONE] > files[:, _ROWS]]:
            self._merge(file[np.newaxis], int(file[_LEVEL]))
        level = 0
        while level <= int(self._live()[:, _LEVEL].max(initial=-1)):
            files = self._live()
            small = files[(files[:, _LEVEL] == level) & (files[:, _ROWS] < MOST_ROWS)]
            if len(small) >= FAN_OUT:
                self._merge(small, level + 1)
            level += 1
        if self._filters and self._filters[0].is_poor(len(self)):
            self._refill()

    def _found(self, key: int, hashes: Ints) -> Iterator[pa.Table]:
        """The rows with these hashes, by file, that are still there; from now on they are not."""
        for file, run, places in self._at(key, hashes):
            if len(places):
                self._bury(file, places)
                yield run.table.take(pa.array(places))

    def _at(self, key: int, hashes: Ints) -> Iterator[tuple[Ints, Run, Ints]]:
        """In each file the places of the rows with these hashes that are still there."""
        for file in self._live():
            run = self._run(file)
            places = run.find(key, hashes)
            yield file, run, places[self._is_there(file, run)[places]] if len(places) else places

    def _is_there(self, file: Ints, run: Run) -> NDArray[np.bool_]:
        """Which rows of a file are needed, and were not taken back."""
        there: NDArray[np.bool_] = run.starts >= self._registers[_OLDEST]
        dead = self._dead(0)
        there[dead[dead >> _ROW_BITS == file[_ID]] & ((1 << _ROW_BITS) - 1)] = False
        return there

    def _bury(self, file: Ints, places: Ints) -> None:
        count = int(self._registers[_DEAD])
        self._dead(len(places))[count:] = (int(file[_ID]) << _ROW_BITS) | places
        self._registers[_DEAD] += len(places)
        file[_GONE] += len(places)
        table = self._table(0)
        table[table[:, _ID] == file[_ID], _GONE] = file[_GONE]

    def _merge(self, files: Ints, level: int) -> None:
        """Files as one, without the rows that are not there any more."""
        parts = [run.table.filter(pa.array(self._is_there(f, run))) for f in files for run in [self._run(f)]]
        merged = pa.concat_tables(parts)
        for file in files:
            self._drop(file)
        if merged.num_rows:
            self._add(merged, level)

    def _add(self, table: pa.Table, level: int) -> None:
        number = int(self._registers[_NEXT])
        named = (number, self._registers[_STEPS], secrets.randbits(63), table.num_rows)
        line = np.array((*named, 0, newest_start(table), level, 0, 0), np.int64)
        line[_BYTES] = write_run(table, len(self._layout.keys), self._path(line))
        self._registers[_NEXT] += 1
        self._keep(np.concatenate((self._table(0), line[np.newaxis])))

    def _drop(self, file: Ints) -> None:
        table, dead = self._table(0), self._dead(0)
        table[table[:, _ID] == file[_ID], _DROPPED] = self._registers[_STEPS]
        kept = dead[dead >> _ROW_BITS != file[_ID]]
        self._registers[_DEAD] = len(kept)
        self._dead(0)[:] = kept
        self._runs.pop(int(file[_ID]), None)

    def _refill(self) -> None:
        """Makes the filters anew, of the rows that are there."""
        for own in self._filters:
            own.clear(len(self))
        for file in self._live():
            run = self._run(file)
            there = self._is_there(file, run)
            for key, own in enumerate(self._filters):
                own.note(run.hashes(key)[there])

    def _sweep(self, before: int) -> None:
        """Deletes files of steps before this one that no state names: those of steps that failed."""
        named = {self._path(file).name for file in self._table(0)}
        for path in self._folder.glob(f"{self._memory.name}-*.arrow"):
            step = int(path.name.removeprefix(f"{self._memory.name}-").partition("-")[0])
            if path.name not in named and step < before:
                path.unlink(missing_ok=True)

    def _run(self, file: Ints) -> Run:
        number = int(file[_ID])
        if number not in self._runs:
            self._runs[number] = Run(self._path(file), len(self._layout.keys))
        return self._runs[number]

    def _path(self, file: Ints) -> Path:
        return self._folder / f"{self._memory.name}-{int(file[_STEP]):08d}-{int(file[_TOKEN]):016x}.arrow"

    def _live(self) -> Ints:
        """The files that hold rows; a copy."""
        table = self._table(0)
        live: Ints = table[table[:, _DROPPED] == 0]
        return live

    def _table(self, more: int) -> Ints:
        """The table of files, with room for some more."""
        size = int(self._registers[_FILES]) + more
        return self._memory.array("files", size, 9)[:size]

    def _keep(self, files: Ints) -> None:
        self._registers[_FILES] = len(files)
        self._table(0)[:] = files

    def _dead(self, more: int) -> Ints:
        """The rows that were taken back: number of the file, and place in it."""
        size = int(self._registers[_DEAD]) + more
        return self._memory.array("dead", size)[:size]


class _Filter:
    """A Bloom filter that lies in a machine's memory. It is derived: made anew of the files after a restore."""

    def __init__(self, memory: Scope) -> None:
        self._memory = memory
        #: Hashes that were noted, and words that are in use.
        self._registers = memory.array("size", 2, derived=True)
        if not self._registers[1]:
            self.clear(0)

    @property
    def where(self) -> tuple[int, int]:
        return address(self._words), self._mask

    def is_poor(self, held: int) -> bool:
        """Whether there is too much in it, or too much that is not held any more."""
        noted, words = self._registers[:2].tolist()
        return bool(noted > bloom.PER_WORD * words or noted > 2 * held + FEW_STALE)

    def clear(self, held: int) -> None:
        """Makes room for twice as many as are held."""
        self._memory.forget("words")
        self._registers[:2] = 0, 1 << max(6, (2 * held // bloom.PER_WORD).bit_length())

    def note(self, hashes: Ints) -> None:
        self._registers[0] += len(hashes)
        bloom.note(self._words, self._mask, hashes)

    def may_have(self, hashes: Ints) -> NDArray[np.bool_]:
        found = np.empty(len(hashes), np.int64)
        count = bloom.noted(self._words, self._mask, hashes, found)
        may = np.zeros(len(hashes), np.bool_)
        may[found[:count]] = True
        return may

    @property
    def _words(self) -> Ints:
        return self._memory.array("words", int(self._registers[1]), derived=True)

    @property
    def _mask(self) -> int:
        return int(self._registers[1]) - 1

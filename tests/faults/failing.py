"""Operations that fail: every call by which the engine changes or reads what outlives a step is counted, and some fail.

An operation fails in one of the ways of `Kind`. After a death every further operation of the dead process fails too, so
that nothing which its code does on the way out counts. Writes that fail leave half of what they were to write.
"""

from __future__ import annotations

import builtins
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark import state_recovery
from penstock.synopsis import memory


class Kind(Enum):
    NO_SPACE = "no space"
    INPUT_OUTPUT = "input/output error"
    EXCEPTION = "exception"
    #: The process that runs is killed.
    DEATH = "death"
    #: Nothing fails, but another attempt of the same task runs now, on another worker, and does not count.
    COPY_LOSES = "a copy loses"
    #: It counts instead of the one that began it.
    COPY_WINS = "a copy wins"


ERRORS = {Kind.NO_SPACE: errno.ENOSPC, Kind.INPUT_OUTPUT: errno.EIO}


class Died(BaseException):
    """The process is dead. It is not an Exception, as SIGKILL is not."""


class Broken(Exception):
    """Some error that nobody foresaw."""


class Operations:
    """Counts operations, and fails those whose numbers are `first`, `first + stride`, `first + 2 * stride`, ...

    They fail in the ways of `kinds`, one after the other.
    """

    def __init__(self, kinds: Sequence[Kind], first: int, stride: int | None) -> None:
        self._kinds, self._next, self._stride = kinds, first, stride
        #: What there was so far, and those that failed.
        self.failed: list[str] = []
        self.names: list[str] = []
        self.is_dead = False
        self._is_watched = False
        #: Runs a copy of the task that runs, if one does; it is told whether the copy counts.
        self.copy: Callable[[bool], None] | None = None

    @contextmanager
    def reports(self) -> Iterator[None]:
        """Inside of it operations count."""
        before, self._is_watched = self._is_watched, True
        try:
            yield
        finally:
            self._is_watched = before

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        before, self._is_watched = self._is_watched, False
        try:
            yield
        finally:
            self._is_watched = before

    def passing(self, what: str, torn: Callable[[], Any] = lambda: None) -> None:
        """An operation is about to happen. If it fails, `torn` leaves the half of it."""
        if not self._is_watched:
            return
        if self.is_dead:
            raise Died
        number = len(self.names)
        self.names.append(what)
        if number < self._next:
            return
        kind = self._kinds[len(self.failed) % len(self._kinds)]
        if kind in (Kind.COPY_LOSES, Kind.COPY_WINS):
            if self.copy is not None:  # the next task, if there is none
                copy, self.copy = self.copy, None
                self._fail(number, kind, what)
                with self.unwatched():
                    copy(kind is Kind.COPY_WINS)
            return
        self._fail(number, kind, what)
        with self.unwatched():
            torn()
        if kind is Kind.EXCEPTION:
            raise Broken(what)
        if kind is Kind.DEATH:
            self.is_dead = True
            raise Died
        raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]), what)

    def _fail(self, number: int, kind: Kind, what: str) -> None:
        self.failed.append(f"{number}, {what}: {kind.value}")
        self._next = number + self._stride if self._stride is not None else 1 << 60


def install(patch: pytest.MonkeyPatch, now: Callable[[], Operations | None]) -> None:
    """From now on what the engine does to files is counted by the operations that are on `now`."""

    def passing(what: str, torn: Callable[[], Any] = lambda: None) -> None:
        operations = now()
        if operations is not None:
            operations.passing(what, torn)

    def counted(module: Any, name: str) -> None:
        call = getattr(module, name)

        def called(*arguments: Any, **options: Any) -> Any:
            passing(name)
            return call(*arguments, **options)

        patch.setattr(module, name, called)

    for name in ("rename", "replace", "mkdir", "unlink", "fsync", "posix_fallocate"):
        counted(os, name)
    counted(memory, "_mapped")
    counted(pa, "OSFile")
    counted(pa, "memory_map")
    counted(Path, "read_bytes")

    write_table = pq.write_table

    def written(table: pa.Table, path: Path) -> None:
        passing("write_table", lambda: path.write_bytes(b"PAR1 and no more"))
        write_table(table, path)

    patch.setattr(pq, "write_table", written)

    @contextmanager
    def opened(path: Path, mode: str, **options: Any) -> Iterator[Any]:
        with builtins.open(path, mode, **options) as file:
            yield _TornFile(file, passing) if "w" in mode else file

    patch.setattr(state_recovery, "open", opened, raising=False)

    rmtree = shutil.rmtree

    def removed(folder: Path, ignore_errors: bool = False) -> None:
        try:
            passing("rmtree", lambda: _half_removed(folder))
        except OSError:
            assert ignore_errors
            return
        rmtree(folder, ignore_errors=ignore_errors)

    patch.setattr(shutil, "rmtree", removed)


class _TornFile:
    def __init__(self, file: Any, passing: Callable[..., None]) -> None:
        self._file, self._passing = file, passing

    def write(self, data: bytes) -> None:
        self._passing("write", lambda: self._file.write(data[: len(data) // 2]))
        self._file.write(data)


def _half_removed(folder: Path) -> None:
    files = sorted(path for path in folder.glob("**/*") if path.is_file())
    for file in files[: len(files) // 2]:
        file.unlink()

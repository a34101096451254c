"""A disk on which one operation fails: the n-th of all that are done to drafts, spilled rows and the folder of these.

It fails as a full or broken disk does, or the process ends there. A write that fails has written half. What is dead
does nothing more: later operations, such as those that clean up, leave the disk as it was.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from penstock.engines import drafts, embedded
from penstock.synopsis import spilled


class Death(BaseException):
    """The process is gone."""


#: What an operation may end with.
FAULTS: dict[str, Callable[[], BaseException]] = {
    "full": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "broken": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "exception": lambda: RuntimeError("a fault of ours"),
    "interrupt": KeyboardInterrupt,
    "death": Death,
}

_OPERATIONS = ("open", "makedirs", "fsync", "link", "rename", "replace", "unlink", "fchmod")


class FaultyDisk:
    """Operation number `at`, from 0, fails. Without a number all succeed, and `done` says which there were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int | None = None, fault: str = "full") -> None:
        self.done: list[str] = []
        self._at, self._fault = at, FAULTS[fault]
        self._is_dead = False
        self._files: list[FileIO] = []
        monkeypatch.setattr(drafts, "os", _Wrapped(os, self, _OPERATIONS))
        monkeypatch.setattr(drafts, "fcntl", _Wrapped(fcntl, self, ("flock",)))
        monkeypatch.setattr(drafts, "FileIO", self._opened)
        monkeypatch.setattr(embedded, "mkdtemp", self._operation("mkdtemp", embedded.mkdtemp))
        monkeypatch.setattr(spilled, "write_run", self._write_run)

    def bury(self) -> None:
        """What a system does with the files of a process that is gone: it closes them, which frees their locks."""
        for file in self._files:
            file.close()

    def _operation(self, name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*arguments: Any, **options: Any) -> Any:
            self.note(name)
            return do(*arguments, **options)

        return done

    def note(self, name: str, before: Callable[[], object] = lambda: None) -> None:
        """An operation comes; `before` is what it does even if it fails."""
        if self._is_dead:
            raise Death
        self.done.append(name)
        if len(self.done) - 1 == self._at:
            before()
            error = self._fault()
            self._is_dead = isinstance(error, Death)
            raise error

    def _write_run(self, table: Any, keys: int, path: Path) -> int:
        self.note("spill", lambda: path.parent.mkdir(parents=True, exist_ok=True) or path.write_bytes(b"half"))
        return _write_run(table, keys, path)

    def _opened(self, number: int, mode: str) -> FileIO:
        disk = self

        class Faulty(FileIO):
            def write(self, data: Any) -> int:
                if disk._is_dead:
                    raise Death
                disk.note("write", lambda: os.write(number, bytes(data)[: len(bytes(data)) // 2]))
                return super().write(data)

        self._files.append(Faulty(number, mode))
        return self._files[-1]


_write_run = spilled.write_run


class _Wrapped:
    """A module some of whose functions are operations of a disk."""

    def __init__(self, module: Any, disk: FaultyDisk, names: tuple[str, ...]) -> None:
        self._module = module
        for name in names:
            setattr(self, name, disk._operation(name, getattr(module, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

"""The processes below this one, by what Spark started them as: workers, the process they are forked from, executors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: As arguments of Python: Java gets the name, too, in a setting.
_DAEMON = "\0-m\0penstock.engines.spark.daemon\0"
_EXECUTOR = "CoarseGrainedExecutorBackend"


def executors() -> list[int]:
    """The executors of a cluster that runs below this process."""
    return [process for process in below(os.getpid()) if _EXECUTOR in _command(process)]


def daemons() -> list[int]:
    """The processes that workers are forked from."""
    return [process for process in _forks() if _DAEMON not in _command(_parents()[process] or 0)]


def workers() -> list[int]:
    """The workers, which are forks of a daemon."""
    return [process for process in _forks() if _DAEMON in _command(_parents()[process] or 0)]


def jvm() -> int:
    """The driver's JVM: the first Java process below this one."""
    return next(process for process in below(os.getpid()) if Path(_command(process).split("\0")[0]).name == "java")


def below(root: int) -> Iterator[int]:
    """All processes below one, children before their own children."""
    children: dict[int | None, list[int]] = {}
    for process, parent in _parents().items():
        children.setdefault(parent, []).append(process)
    waiting = sorted(children.get(root, []))
    while waiting:
        process = waiting.pop(0)
        yield process
        waiting += sorted(children.get(process, []))


def _forks() -> list[int]:
    return [process for process in below(os.getpid()) if _DAEMON in _command(process)]


class _Parents(dict[int, int | None]):
    """The parent of each process; None of those that have ended meanwhile."""

    def __missing__(self, process: int) -> None:
        return None


def _parents() -> _Parents:
    return _Parents((int(path.name), _parent(path)) for path in Path("/proc").iterdir() if path.name.isdigit())


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""

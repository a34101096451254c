"""Owners: the process that something in shared memory belongs to, named so that others can tell whether it is dead.

The number of a process is not enough, for the system gives it to another one later, and processes in containers have
numbers of their own. So a name has the number, the time at which the process started, and a sign of the boot and the
namespace in which that number counts. A process counts as dead only where that is certain.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

#: States of a process that has ended, and that its parent has not asked for.
_ENDED = ("Z", "X")


def owner() -> str:
    """Returns the name of this process."""
    return f"{_home()}.{os.getpid()}.{_started(os.getpid()) or 0}"


def is_alive(name: str) -> bool:
    """Returns whether the process of that name is certainly alive."""
    home, number, started = name.split(".")
    return home == _home() and started != "0" and _started(int(number)) == int(started)


def is_dead(name: str) -> bool:
    """Returns whether the process of that name has certainly ended."""
    home, _, started = name.split(".")
    return home == _home() != "unknown" and started != "0" and not is_alive(name)


@cache
def _home() -> str:
    """Returns the scope of process numbers: a hash of the boot of the machine and the namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return "unknown"
    return hashlib.blake2b(f"{boot} {namespace}".encode(), digest_size=6).hexdigest()


def _started(number: int) -> int | None:
    """Returns when a process started, in ticks of the system's clock; None if it does not exist."""
    try:
        said = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if said[0] in _ENDED else int(said[19])

"""Programs in a mount namespace of their own, where shared memory and folders are as small as a fault wants them.

Only root may make one; what is mounted there is seen by nobody else, and goes with the program.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.engines.comparing import Log

_ROOT = Path(__file__).parents[4]
_ENTER = ("unshare", "--mount", "--propagation", "private")

#: Seconds after which a program hangs.
_HANGS = 900


@dataclass(frozen=True)
class Verdict:
    """What came of one fault."""

    kind: str
    found: Log
    reference: Log
    #: What the query said when it could not go on; it went on later.
    refused: str | None = None
    #: What was left in shared memory.
    left: tuple[str, ...] = ()


@cache
def why_not() -> str | None:
    """Why there can be no mount namespace here, or None."""
    mount = ("sh", "-c", "mount -t tmpfs none /dev/shm")
    try:
        tried = subprocess.run([*_ENTER, *mount], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no unshare(1) here, which makes a namespace for mounts"
    return f"mounts are not permitted here: {tried.stderr.strip()}" if tried.returncode else None


def verdicts(program: str, folder: Path, *arguments: str) -> list[Verdict]:
    """Runs a program of this package confined, and gives what it wrote down."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    command = [*_ENTER, sys.executable, "-m", f"tests.engines.spark.storm.{program}", str(folder), *arguments]
    log = folder / f"{program}.log"
    with open(log, "wb") as said:
        process = subprocess.Popen(command, cwd=_ROOT, start_new_session=True, stdout=said, stderr=said)
        try:
            code = process.wait(_HANGS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert code == 0, f"{program} failed\n{log.read_text()[-4000:]}"
    found: list[Verdict] = pickle.loads((folder / "verdicts.pickle").read_bytes())
    return found


def write_verdicts(folder: Path, found: list[Verdict]) -> None:
    (folder / "verdicts.pickle").write_bytes(pickle.dumps(found))


def mount_memory(at: Path, size: int, *, again: bool = False) -> None:
    """Makes a folder one of so many bytes; `again` gives it another size."""
    at.mkdir(parents=True, exist_ok=True)
    options = f"{'remount,' if again else ''}size={size}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(at)], check=True)


def fill(at: Path, free: int) -> None:
    """Fills a folder's file system, so that this many bytes are free."""
    filler = at / "filler"
    filler.unlink(missing_ok=True)
    room = os.statvfs(at)
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - free)

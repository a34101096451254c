"""The lock of a checkpoint: one run at a time continues from it.

It is a lock on a file, which the system releases when the process that holds it ends, however that happens. It exists
where the folder is one of the machine's; elsewhere Spark notices that two runs write to the same logs.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from penstock.errors import PenstockError


class Lock:
    def __init__(self, folder: Path) -> None:
        """Takes the lock, or refuses if another run has it."""
        self._file: int | None = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise in_use(str(folder.parent)) from None
        except OSError:
            pass  # a file system without locks

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def in_use(checkpoint: str) -> PenstockError:
    return PenstockError(
        f"{checkpoint}: another run goes on from this checkpoint",
        "stop that run first, or choose a checkpoint folder and an output folder of its own for this one",
    )

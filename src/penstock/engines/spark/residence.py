"""Residences: the folders in which the memory of machines lies, where any worker of the host can map it.

A cell's machine lives in a folder that is named after the token of its state, and only one worker can rename a
folder: who does so has claimed it. While a batch runs the folder has a name that no token finds, so what a killed
worker leaves half done is never mistaken for a machine. Files are readable to their owner alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from uuid import uuid4

_SHARED_MEMORY = Path("/dev/shm")

#: A container's shared memory may be no more than some MB: then files lie on the disk.
_LEAST_SHARED_MEMORY = 1 << 30

#: After so many seconds the folders of a query that nobody cleared away go.
_FORGOTTEN = 24 * 3600


class Residences:
    """The folders of one run of a query on this host."""

    def __init__(self, run: str) -> None:
        self._folder = _place() / f"penstock-{os.getuid()}-{run}"

    def claim(self, address: int, token: str | None) -> Path | None:
        """The folder in which the machine with that token lives: from now on it is the caller's alone."""
        claimed = self._busy()
        try:
            os.rename(self._clean(address, token), claimed)
        except OSError:
            return None
        return claimed

    def new(self, address: int) -> Path | None:
        """An empty folder for a machine, or None if there is no room for one."""
        if (self._folder / "full").exists():
            return None
        try:
            if not self._folder.exists():
                _forget(self._folder.parent)
                self._folder.mkdir(mode=0o700, exist_ok=True)
            self._clear(address)
            folder = self._busy()
            folder.mkdir(mode=0o700)
        except OSError:
            return None
        return folder

    def release(self, folder: Path, address: int, token: str) -> Path:
        """Gives a machine back, under its new token."""
        clean = self._clean(address, token)
        os.rename(folder, clean)
        return clean

    def give_up(self) -> None:
        """There was no space: from now on machines live in their workers."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        (self._folder / "full").touch(mode=0o600)

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _clean(self, address: int, token: str | None) -> Path:
        return self._folder / f"{address}-{token}"

    def _busy(self) -> Path:
        return self._folder / f"busy-{os.getpid()}-{uuid4().hex}"

    def _clear(self, address: int) -> None:
        """Removes what no one will ask for: other versions of a machine, and what workers left that are dead.

        A version that is asked for after all is made again from Spark's state.
        """
        for folder in self._folder.iterdir():
            kind, _, rest = folder.name.partition("-")
            if kind == str(address) or (kind == "busy" and not _is_alive(int(rest.partition("-")[0]))):
                shutil.rmtree(folder, ignore_errors=True)


def _place() -> Path:
    try:
        room = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return Path(tempfile.gettempdir())
    is_large = room.f_blocks * room.f_frsize >= _LEAST_SHARED_MEMORY
    return _SHARED_MEMORY if is_large and os.access(_SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def _forget(place: Path) -> None:
    """Removes what queries have left that were killed long ago."""
    for folder in place.glob(f"penstock-{os.getuid()}-*"):
        if time.time() - folder.stat().st_mtime > _FORGOTTEN:
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True

"""Residences: the folders in which the memory of machines lies, where any worker of the host can map it.

A cell's machine lives in a folder that is named after the token of its state, and only one worker can rename a
folder: who does so has claimed it. While a batch runs the folder has a name that no token finds, so what a killed
worker leaves half done is never mistaken for a machine. Files are readable to their owner alone.

The folder of a run is named after its checkpoint and its driver. So a driver that was killed leaves nothing for long:
the next start of any query on this host clears away what belongs to dead drivers, and on other hosts the next run of
the same checkpoint does.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from penstock.engines.owners import is_alive, is_dead, owner

_SHARED_MEMORY = Path("/dev/shm")

#: A container's shared memory may be no more than some MB: then files lie on the disk.
_LEAST_SHARED_MEMORY = 1 << 30

#: After so many seconds the folders of a query go of which nobody knows whether its driver lives.
_FORGOTTEN = 24 * 3600

#: Stands for the checkpoint of a run that does not know it.
_NO_CHECKPOINT = "none"

#: The name of a run: its checkpoint, its driver, and something that no other has.
_RUN = re.compile(r"(\w+)-(\w+\.\d+\.\d+)-\w+")


def new_run(checkpoint: str | None = None) -> str:
    """A name for a run that this process drives; `checkpoint` is the full path of its folder."""
    place = _NO_CHECKPOINT if checkpoint is None else hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
    return f"{place}-{owner()}-{uuid4().hex}"


class Residences:
    """The folders of one run of a query on this host."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._folder = _place() / f"{_prefix()}{run}"

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
                self.clear_others()
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
        """There was no space: from now on machines live in their workers. Where not even that can be noted, it costs
        each cell another try.
        """
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            (self._folder / "full").touch(mode=0o600)
        except OSError:
            pass

    def remove(self) -> None:
        discard(self._folder)

    def clear_others(self) -> None:
        """Removes what runs have left that are over: an earlier one of the same checkpoint, or of a dead driver."""
        for folder in self._folder.parent.glob(f"{_prefix()}*"):
            if folder != self._folder and _is_over(folder, self._run.split("-")[0]):
                discard(folder)

    def _clean(self, address: int, token: str | None) -> Path:
        return self._folder / f"{address}-{token}"

    def _busy(self) -> Path:
        return self._folder / f"busy-{owner()}-{uuid4().hex}"

    def _clear(self, address: int) -> None:
        """Removes what no one will ask for: other versions of a machine, and what workers left that are dead.

        A version that is asked for after all is made again from Spark's state.
        """
        for folder in self._folder.iterdir():
            kind, _, rest = folder.name.partition("-")
            if kind == str(address) or (kind == "busy" and is_dead(rest.partition("-")[0])):
                discard(folder)


def discard(folder: Path) -> None:
    """Removes a folder, as far as it can be removed."""
    shutil.rmtree(folder, ignore_errors=True)


def _prefix() -> str:
    return f"penstock-{os.getuid()}-"


def _place() -> Path:
    try:
        room = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return Path(tempfile.gettempdir())
    is_large = room.f_blocks * room.f_frsize >= _LEAST_SHARED_MEMORY
    return _SHARED_MEMORY if is_large and os.access(_SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def _is_over(folder: Path, checkpoint: str) -> bool:
    """Whether a folder is of a run that is over. In doubt it is not, for a day."""
    named = _RUN.fullmatch(folder.name.removeprefix(_prefix()))
    if named is not None:
        place, driver = named.groups()
        if is_alive(driver):
            return False
        if is_dead(driver) or checkpoint == place != _NO_CHECKPOINT:
            return True
    try:
        return time.time() - folder.stat().st_mtime > _FORGOTTEN
    except OSError:
        return False  # another start was faster

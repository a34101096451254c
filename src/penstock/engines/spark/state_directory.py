"""The shared state directory: folders that hold the memory of machines, where any worker of the host can map it.

The folder of a machine is named after the token of its state, and only one worker can rename a folder, so the worker
that renames it has claimed it. While a batch runs, the folder has a name that no token matches, so what a killed worker
leaves incomplete is never taken for a machine. Only the owner can read the files.

The folder of a run is named after its checkpoint and its driver. So the state of a killed driver does not stay for
long: the next start of any query on this host removes the folders of dead drivers, and on other hosts the next run of
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

#: A container may have only some MB of shared memory: then the files are on disk.
_LEAST_SHARED_MEMORY = 1 << 30

#: After so many seconds the folders of a query are removed if it is not known whether its driver is alive.
_EXPIRED_SECONDS = 24 * 3600

#: The name for the checkpoint of a run that has none.
_NO_CHECKPOINT = "none"

#: The name of a run: its checkpoint, its driver, and a unique number.
_RUN = re.compile(r"(\w+)-(\w+\.\d+\.\d+)-\w+")


def new_run(checkpoint: str | None = None) -> str:
    """Gives a name to a run that this process drives; `checkpoint` is the full path of its folder."""
    place = _NO_CHECKPOINT if checkpoint is None else hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
    return f"{place}-{owner()}-{uuid4().hex}"


class StateDirectory:
    """The folders of one run of a query on this host."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._folder = _place() / f"{_prefix()}{run}"

    def claim(self, address: int, token: str | None) -> Path | None:
        """Claims the folder of the machine with that token: from now on only the caller uses it."""
        claimed = self._busy()
        try:
            os.rename(self._clean(address, token), claimed)
        except OSError:
            return None
        return claimed

    def new(self, address: int) -> Path | None:
        """Creates an empty folder for a machine; None if there is no space for one."""
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
        """Returns a machine under its new token."""
        clean = self._clean(address, token)
        os.rename(folder, clean)
        return clean

    def learnt(self, stream: str) -> str | None:
        """Returns what workers of this host have learnt of a stream's filters, if there is anything."""
        try:
            return self._learnt(stream).read_text(encoding="utf-8")
        except OSError:
            return None

    def leave_learnt(self, stream: str, text: str) -> None:
        """Leaves what a worker has learnt to others. Nothing depends on it, so it need not succeed."""
        draft = self._folder / f"learning-{owner()}-{uuid4().hex}"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft.touch(mode=0o600)
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, self._learnt(stream))
        except OSError:
            draft.unlink(missing_ok=True)

    def _learnt(self, stream: str) -> Path:
        return self._folder / f"learnt-{hashlib.blake2b(stream.encode(), digest_size=8).hexdigest()}"

    def mark_full(self) -> None:
        """Notes that there was no space: from now on the memory of machines is that of their workers.

        If not even the note can be written, each cell tries once more to find space.
        """
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            (self._folder / "full").touch(mode=0o600)
        except OSError:
            pass

    def remove(self) -> None:
        discard(self._folder)

    def clear_others(self) -> None:
        """Removes the folders of runs that are over: earlier ones of the same checkpoint, and those of dead drivers."""
        for folder in self._folder.parent.glob(f"{_prefix()}*"):
            if folder != self._folder and _is_over(folder, self._run.split("-")[0]):
                discard(folder)

    def _clean(self, address: int, token: str | None) -> Path:
        return self._folder / f"{address}-{token}"

    def _busy(self) -> Path:
        return self._folder / f"busy-{owner()}-{uuid4().hex}"

    def _clear(self, address: int) -> None:
        """Removes other versions of a machine, and folders of dead workers.

        If a removed version is needed after all, it is rebuilt from Spark's state.
        """
        for folder in self._folder.iterdir():
            kind, _, rest = folder.name.partition("-")
            if kind == str(address) or (kind == "busy" and is_dead(rest.partition("-")[0])):
                discard(folder)


def discard(folder: Path) -> None:
    """Removes a folder, as far as the system allows."""
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
    """Returns whether the run of a folder is over. If that is not known, the folder stays for a day."""
    named = _RUN.fullmatch(folder.name.removeprefix(_prefix()))
    if named is not None:
        place, driver = named.groups()
        if is_alive(driver):
            return False
        if is_dead(driver) or checkpoint == place != _NO_CHECKPOINT:
            return True
    try:
        return time.time() - folder.stat().st_mtime > _EXPIRED_SECONDS
    except OSError:
        return False  # another start has removed it

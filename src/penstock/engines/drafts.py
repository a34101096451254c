"""Drafts: files that are written beside their place, and get their name when they are whole.

So the name always belongs to a complete file: the new one, or the one before it. A draft is locked while it is
written. A draft without a lock was left by a process that died, and the next writer removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from pathlib import Path
from stat import S_IMODE

from penstock.errors import PenstockError

#: What a file system says that has no hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
#: And one that has no locks. There the draft of another run may be taken for one that was left; that run then fails.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class Draft:
    """A file on its way to `target`. An existing file there is replaced only with `overwrite`."""

    def __init__(self, target: str, *, overwrite: bool = False) -> None:
        self._target, self._overwrite = target, overwrite
        #: Through links, so that a link stays one.
        self._path = Path(os.path.realpath(target))
        self._draft = self._path.with_name(f".{self._path.name}.draft")
        self._is_left = False
        self._file: BufferedWriter | None = None
        self.is_published = False
        try:
            with self.named():
                self._refuse_existing()
                os.makedirs(self._path.parent, exist_ok=True)
                self._claim()
                if self._path.exists():
                    os.fchmod(self.file.fileno(), S_IMODE(self._path.stat().st_mode))
        except BaseException:
            self.abandon()
            raise

    @property
    def file(self) -> BufferedWriter:
        """Returns the open draft."""
        assert self._file is not None, "a draft is open from the first"
        return self._file

    def finish(self) -> None:
        """Flushes all that was written to the disk."""
        with self.named():
            self.file.flush()
            os.fsync(self.file.fileno())

    def publish(self) -> None:
        """Gives the file its name."""
        with self.named():
            if self._overwrite:
                os.replace(self._draft, self._path)
                self._is_left, self.is_published = False, True
            else:
                self._name_new()
        self.abandon()

    def abandon(self) -> None:
        """Removes what has no name. It does nothing to a file that has been published."""
        if self._is_left:
            with suppress(OSError):
                os.unlink(self._draft)
                self._is_left = False
        with suppress(OSError):  # the disk may be full: then what is buffered cannot be written
            if self._file is not None:
                self._file.close()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Adds the name of the file to errors of the system."""
        try:
            yield
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else str(error)
            hint = "nothing is written there: make room, or choose a path that can be written"
            raise PenstockError(f"{self._target}: {said}", hint) from error

    def _refuse_existing(self) -> None:
        if self._path.is_dir():
            raise PenstockError(f"{self._target}: it is a folder", "choose the path of a file")
        if self._path.exists() and not self._path.is_file():
            raise PenstockError(f"{self._target}: it is not a regular file", "choose another path")
        if self._path.exists() and not self._overwrite:
            raise existing(self._target)

    def _name_new(self) -> None:
        """Gives the file its name, unless another has it by now: a rename would replace that one."""
        try:
            os.link(self._draft, self._path)
        except FileExistsError:
            raise existing(self._target) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._refuse_existing()
            os.rename(self._draft, self._path)
            self._is_left = False
        self.is_published = True

    def _claim(self) -> None:
        """Opens a new draft, and locks it."""
        while True:
            try:
                opened = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                self._clear()
                continue
            self._is_left, self._file = True, BufferedWriter(FileIO(opened, "w"))
            if self._locked(opened):
                return
            self._is_left = False
            self._file.close()

    def _clear(self) -> None:
        """Removes the draft of a process that died. It may be the file itself, if that one died at its very end."""
        try:
            opened = os.open(self._draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            if self._locked(opened):
                os.unlink(self._draft)
        finally:
            os.close(opened)

    def _locked(self, opened: int) -> bool:
        """Locks an open draft; False if it is no longer the one that has the name."""
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._is_left = False
            message = f"{self._target}: another run is writing to it"
            raise PenstockError(message, "wait for that run to end, or choose another path") from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        try:
            return os.path.samestat(os.fstat(opened), os.lstat(self._draft))
        except FileNotFoundError:
            return False


def existing(path: str) -> PenstockError:
    """Returns the error for a file that exists, where replacing it was not allowed."""
    return PenstockError(f"{path}: it exists already", "choose another path, or replace it with --overwrite")

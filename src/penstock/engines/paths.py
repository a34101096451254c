"""Which files a path stands for: one file, those of a folder, or those that fit a pattern.

Only regular files are read: a pipe or a device may have no end. Whatever else is wrong with a path is an error that
names it, for a file that is not found must not pass for a stream without rows.
"""

from __future__ import annotations

import glob
from pathlib import Path

from penstock.errors import PenstockError
from penstock.sql.diagnostics import counted


def files_of(path: str, reader: str) -> list[Path]:
    """Returns the files of a path that a stream or table reads, in the order of their names."""
    if not path.strip():
        raise PenstockError(
            f"{reader}: the path is empty", "write the path of a file or folder in OPTIONS (path '...')"
        )
    try:
        return sorted(_files(path, reader))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PenstockError(f"{path}: it cannot be read: {reason}", "correct the path, or who may read it") from error


def check_not_empty(path: str) -> None:
    """Refuses an empty folder; a folder that a query has written is never empty."""
    try:
        if not Path(path).is_dir():
            return
        inside = list(Path(path).iterdir())
    except OSError:
        return
    if not inside:
        raise PenstockError(f"{path}: the folder is empty", "correct the path, or put the files there first")
    if all(each.is_dir() and _is_data(each) for each in inside):
        hint = f"write a pattern for the files below them, as in '{path.rstrip('/')}/*/*'"
        raise PenstockError(f"{path}: the folder holds {counted(len(inside), 'folder')} and no files", hint)


def _files(path: str, reader: str) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        return [_regular(file) for file in place.iterdir() if _is_data(file) and not file.is_dir()]
    if place.exists() or place.is_symlink():
        return [_regular(place)]
    matching = [Path(file) for file in glob.glob(path)] if glob.has_magic(path) else []
    if not matching:
        hint = "paths in OPTIONS are looked up from the folder in which the command runs"
        raise PenstockError(f"{path}: there is no such file, which {reader} reads", hint)
    return [_regular(file) for file in matching if not file.is_dir()]


def _is_data(file: Path) -> bool:
    return file.name[0] not in "_."


def _regular(file: Path) -> Path:
    if file.is_symlink() and not file.exists():
        raise PenstockError(f"{file}: the link leads to no file", "remove it, or put the file there")
    if file.exists() and not file.is_file():
        hint = "copy what it gives into a file; only regular files are read"
        raise PenstockError(f"{file}: it is a pipe, a socket or a device", hint)
    return file

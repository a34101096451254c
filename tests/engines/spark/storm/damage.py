"""Damage to a file of a checkpoint or an output folder: bytes flipped, cut off, emptied, or the file removed.

Spark's file system keeps a checksum beside each file; damage with `alone` leaves it, other damage takes it away, as a
copy does that leaves hidden files out.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

HOW = ("flip", "cut", "empty", "remove")

#: What a query goes on from, of which the last file of each folder is damaged: a pattern below the run's folder.
WHAT = (
    "checkpoint/offsets/*",
    "checkpoint/commits/*",
    "checkpoint/metadata",
    "checkpoint/sources/0/*",
    "checkpoint/state/0/0/**/*.changelog",
    "checkpoint/state/0/1/**/*.changelog",
    "checkpoint/state/1/0/**/*.changelog",
    "checkpoint/state/0/_metadata/**/*",
    "checkpoint/penstock/fingerprint",
    "checkpoint/spill/**/*",
    "out.parquet/_spark_metadata/*",
)


@dataclass(frozen=True)
class Damage:
    pattern: str
    how: str
    #: Whether the checksum stays.
    alone: bool
    #: Counted from the last file that fits.
    back: int

    def do(self, folder: Path, random: Random) -> Path | None:
        """Damages a file, and says which; None if there is none."""
        files = [path for path in folder.glob(self.pattern) if path.is_file() and not path.name.startswith(".")]
        files.sort(key=lambda path: (len(path.name), path.name))
        if len(files) <= self.back:
            return None
        file = files[-1 - self.back]
        if not self.alone:
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        _HURT[self.how](file, random)
        return file

    @property
    def what(self) -> str:
        """The part of the run that is damaged."""
        folder, part, *_ = self.pattern.split("/")
        return f"{part} in the checkpoint" if folder == "checkpoint" else "the log of the output"

    def __str__(self) -> str:
        return f"{self.how} {self.pattern}[-{1 + self.back}]{'' if self.alone else ' and its checksum'}"


def drawn(random: Random, each: int) -> list[Damage]:
    """So many kinds of damage to each kind of file."""
    return [
        Damage(what, random.choice(HOW), random.choice((True, False)), random.randrange(3))
        for what in WHAT
        for _ in range(each)
    ]


class Saved:
    """A run's folder as it is now, to be put back at the same place."""

    def __init__(self, folder: Path, at: Path) -> None:
        self._folder, self._at = folder, at
        shutil.copytree(folder, at)

    def restore(self) -> None:
        shutil.rmtree(self._folder)
        shutil.copytree(self._at, self._folder)


def _flip(file: Path, random: Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(3):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    file.write_bytes(bytes(data))


def _cut(file: Path, random: Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: random.randrange(len(data) or 1)])


_HURT = {
    "flip": _flip,
    "cut": _cut,
    "empty": lambda file, random: file.write_bytes(b""),
    "remove": lambda file, random: file.unlink(),
}

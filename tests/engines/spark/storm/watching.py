"""Waits for files that Spark or a cell writes, which is how a fault finds its moment from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event, Thread

#: What a micro-batch writes: its plan, what its sources are, its state, its results, that it is done. Drafts count.
WRITTEN = (
    "checkpoint/offsets/*",
    "checkpoint/sources/**/*",
    "checkpoint/state/**/*.changelog",
    "checkpoint/state/**/*",
    "checkpoint/commits/*",
    "checkpoint/penstock/**/*",
    "out.*/*",
    "out.*/_spark_metadata/*",
)


@dataclass(frozen=True)
class Omen:
    """So many new files of a pattern, and then so many seconds."""

    pattern: str
    files: int
    seconds: float = 0.0

    @staticmethod
    def drawn(random: Random, *, most: int = 3, seconds: float = 0.0) -> Omen:
        return Omen(random.choice(WRITTEN), random.randint(1, most), random.random() * seconds)

    def await_in(self, folder: Path, ended: Event) -> bool:
        """Waits until it is seen, or all has ended; says whether it is seen."""
        before = set(folder.glob(self.pattern))
        new: set[Path] = set()
        while len(new) < self.files:
            if ended.wait(0.002):
                return False
            new |= set(folder.glob(self.pattern)) - before
        return not ended.wait(self.seconds)


class Marauder:
    """While it is entered, it does something once after each omen, in a thread of its own."""

    def __init__(self, folder: Path, omens: list[Omen], act: Callable[[], bool]) -> None:
        self._folder, self._omens, self._act = folder, omens, act
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True)
        #: How often there was something to do.
        self.acts = 0

    def __enter__(self) -> Marauder:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        for omen in self._omens:
            if not omen.await_in(self._folder, self._ended):
                return
            while not self._act():
                if self._ended.wait(0.01):
                    return
                time.sleep(0.01)
            self.acts += 1

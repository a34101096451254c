"""Workers that die at seeded moments of each micro-batch, several times in one.

Spark tries a task four times, so a micro-batch survives three of its workers. Spark's workers do not find this module,
so what it defines travels whole.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pyspark import cloudpickle

from tests.engines.spark.killing import MOMENTS, UNPACKING


@dataclass(frozen=True)
class Strike:
    """A worker dies when this moment comes for the so-manieth time."""

    moment: str
    nth: int


@dataclass(frozen=True)
class SeededReaper:
    folder: str
    #: By micro-batch, one after the other.
    plan: Mapping[int, tuple[Strike, ...]]

    def passing(self, moment: str) -> None:
        commits = f"{self.folder}/checkpoint/commits"
        batch = len([name for name in os.listdir(commits) if name.isdigit()]) if os.path.exists(commits) else 0
        strikes = self.plan.get(batch, ())
        number = next((i for i in range(len(strikes)) if not os.path.exists(f"{self.folder}/killed-{batch}-{i}")), None)
        if number is None or strikes[number].moment != moment:
            return
        at = f"{batch}-{number}"
        if self._first_free(f"passed-{at}-") >= strikes[number].nth and self._made(f"killed-{at}"):
            os.kill(os.getpid(), signal.SIGKILL)

    def killed(self) -> int:
        """How many workers were killed."""
        return len(list(Path(self.folder).glob("killed-*")))

    def _first_free(self, name: str) -> int:
        number = 0
        while not self._made(f"{name}{number}"):
            number += 1
        return number

    def _made(self, name: str) -> bool:
        try:
            os.close(os.open(f"{self.folder}/{name}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def seeded(folder: Path, seed: int, batches: int, *, most: int = 3) -> SeededReaper:
    """A reaper that visits each micro-batch up to `most` times."""
    random = Random(seed)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    moments = (*MOMENTS, *UNPACKING)

    def strike() -> Strike:
        moment = random.choice(moments)
        return Strike(moment, random.choice((0, 0, 1, 3)) if "page" in moment else random.choice((0, 0, 0, 1)))

    return SeededReaper(
        str(folder), {batch: tuple(strike() for _ in range(random.randint(1, most))) for batch in range(batches)}
    )

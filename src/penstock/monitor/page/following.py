"""Following a query on Spark from Python: its driver reports what each micro-batch did, and nobody has to ask it.

What was set on the page is handed to the query at the same pace; its cells have it from the next micro-batch on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from threading import Event, Thread
from typing import Protocol

from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.control import Controls
from penstock.monitor.page.recorder import Recorder

_SECONDS_BETWEEN = 1.0


class Running(Protocol):
    """A query that was started."""

    @property
    def is_running(self) -> bool: ...

    def operators(self, after: int = -1) -> Sequence[OperatorMetrics]:
        """Returns what every operator did in each completed micro-batch after a given one."""


def follow(running: Running, recorder: Recorder, controls: Controls) -> Thread:
    """Passes on what a query reports, and what is set for it, in a thread of its own, until the query ends."""
    thread = Thread(target=_follow, args=(running, recorder, controls), name="penstock-following", daemon=True)
    thread.start()
    return thread


def _follow(running: Running, recorder: Recorder, controls: Controls) -> None:
    last, pause = -1, Event()
    while True:
        is_over = not running.is_running
        if not is_over:
            controls.apply()
        last = take_new(running, recorder, last)
        if is_over:
            break
        pause.wait(_SECONDS_BETWEEN)
    recorder.end()


def take_new(running: Running, recorder: Recorder, last: int) -> int:
    """Takes the micro-batches after the last one, and returns which is the last now."""
    for step, lines in groupby(running.operators(last), key=lambda line: line.step):
        recorder.take(lines)
        last = step
    return last

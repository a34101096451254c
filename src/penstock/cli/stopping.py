"""Ctrl-C or SIGTERM ends a run after the current step, so that the results of the step are complete.

A second signal ends it at once. If it arrives inside of a kernel, that raises a SystemError.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: The exit code of a command that Ctrl-C has stopped.
INTERRUPTED = 130

_SAID = b"\nstopping after this step; Ctrl-C again stops at once\n"


@dataclass(slots=True)
class Stop:
    """Whether a run has been asked to stop."""

    asked: bool = False

    def ask(self, *_: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SAID)  # without the buffer, which may be in use


@contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def terminable() -> Iterator[None]:
    """Treats SIGTERM as Ctrl-C inside of the block, so that cleanup runs."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_interrupt(error: BaseException) -> bool:
    """Returns whether it is Ctrl-C, in a kernel or elsewhere."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)

"""Printing of messages: without secrets, and on a terminal without control characters."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import TextIO

from penstock.masking import masked, printable


def say(text: object, file: TextIO | None = None) -> None:
    stream = sys.stdout if file is None else file
    shown = masked(str(text))
    print(printable(shown) if stream.isatty() else shown, file=stream)


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints an unhandled error with the messages of all its causes, without secrets."""
    print(printable(masked("".join(traceback.format_exception(kind, error, trace)))), end="", file=sys.stderr)

"""Failures: rows on which a user function failed, and what is needed to raise the error later.

A failed row is not an error yet. One conjunct of WHERE may fail on a row that another conjunct drops, and then nobody
asked for the value. So a failure is noted with its row, and whoever knows that the row counts raises it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.user_functions import UserFunction
from penstock.errors import PenstockError
from penstock.masking import shortened
from penstock.synopsis.memory import Ints

Mask = NDArray[np.bool_]

#: Where the files of this library are.
_OURS = str(Path(__file__).parents[2])
#: Frames of a deep traceback that are shown of each end.
SHOWN = 5


class Misfit(Exception):
    """A value that has no Python form, or a result that is not of the declared type: the message says how."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One call that failed: the function, its arguments, and what happened."""

    function: UserFunction
    arguments: tuple[Any, ...]
    cause: BaseException

    def error(self) -> PenstockError:
        shown = ", ".join(shortened(repr(argument), most=60) for argument in self.arguments)
        called = f"{self.function.name}({shown})"
        if isinstance(self.cause, Misfit):
            return PenstockError(f"{called} {self.cause}", f"it is declared {_declared(self.function)}")
        said = shortened(_said(self.cause), most=300)
        what = f"{type(self.cause).__name__}: {said}" if said else type(self.cause).__name__
        message = "\n".join([f"{called} raised {what}", *_user_frames(self.cause)])
        return PenstockError(message, "catch it in the function, or declare on_error='null' to get NULL instead")


def _declared(function: UserFunction) -> str:
    return f"{function.signature} returns {function.returns}"


def _said(cause: BaseException) -> str:
    """The message of an exception, whose own code may fail."""
    try:
        return str(cause)
    except Exception:
        return ""


def _user_frames(cause: BaseException) -> list[str]:
    """The lines of a traceback that are not of this library, the outermost first; of a deep one both ends."""
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if not frame.filename.startswith(_OURS)]
    if len(frames) <= 2 * SHOWN:
        return [line for frame in frames for line in _frame(frame)]
    left_out = f"  ... {len(frames) - 2 * SHOWN} more calls ..."
    ends = [[line for frame in end for line in _frame(frame)] for end in (frames[:SHOWN], frames[-SHOWN:])]
    return [*ends[0], left_out, *ends[1]]


def _frame(frame: traceback.FrameSummary) -> list[str]:
    where = f"  {frame.filename}:{frame.lineno}, in {frame.name}"
    return [where, f"    {shortened(frame.line, most=200)}"] if frame.line else [where]


class Failures(NamedTuple):
    """The rows of a batch on which a function failed: of each row the number of its failure, or -1."""

    of_row: Ints
    all: tuple[Failure, ...]

    @property
    def mask(self) -> Mask:
        return self.of_row >= 0

    def then(self, later: Failures) -> Failures:
        """These failures and later ones: the first of a row counts."""
        number = np.where(later.of_row >= 0, later.of_row + len(self.all), -1)
        return Failures(np.where(self.of_row >= 0, self.of_row, number), self.all + later.all)

    def where(self, some: Mask) -> Failures:
        """Those on some of the rows."""
        return self._replace(of_row=np.where(some, self.of_row, -1))

    def errors(self) -> dict[int, Callable[[], PenstockError]]:
        """By row that failed, what makes its error."""
        return {row: self.all[int(self.of_row[row])].error for row in np.flatnonzero(self.mask).tolist()}

    def raise_first(self) -> None:
        """Raises the error of the first row that failed."""
        for error in self.errors().values():
            raise error()


def no_failures(rows: int) -> Failures:
    return Failures(np.full(rows, -1, np.int64), ())


class Tally:
    """Counts the calls that failed and gave NULL, on rows that count."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def add(self, nulled: Ints | None) -> None:
        """Counts calls, given by row."""
        if nulled is not None:
            self.count += int(nulled.sum())


class Calls:
    """The calls of user functions while an expression is computed on a batch: on which rows, and what came of them."""

    __slots__ = ("_failures", "_live", "_nulled", "_rows")

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._live: Mask | None = None
        self._failures: Failures | None = None
        self._nulled: Ints | None = None

    def wanted(self) -> Mask | None:
        """The rows on which functions are called: none that failed already. None means all."""
        if self._failures is None:
            return self._live
        return ~self._failures.mask if self._live is None else self._live & ~self._failures.mask

    @contextmanager
    def only(self, some: Mask) -> Iterator[None]:
        """Functions are called only on some rows, if at all."""
        before = self._live
        self._live = np.broadcast_to(some, (self._rows,)) if before is None else before & some
        try:
            yield
        finally:
            self._live = before

    def note(self, rows: Ints, numbers: Ints, failures: Sequence[Failure]) -> None:
        """Notes that rows failed, each with the failure of its number."""
        new = no_failures(self._rows)
        new.of_row[rows] = numbers
        new = new._replace(all=tuple(failures))
        self._failures = new if self._failures is None else self._failures.then(new)

    def note_nulled(self, rows: Ints) -> None:
        """Notes that a call failed on each of some rows, and gave NULL."""
        if self._nulled is None:
            self._nulled = np.zeros(self._rows, np.int64)
        self._nulled[rows] += 1

    def failures(self) -> Failures | None:
        """The failures so far, which are then forgotten."""
        found, self._failures = self._failures, None
        return found

    def nulled(self) -> Ints | None:
        """By row, how many calls failed and gave NULL so far, which are then forgotten; None if none did."""
        found, self._nulled = self._nulled, None
        return found

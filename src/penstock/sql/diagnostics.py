"""Where an error is, which name was meant, and how several errors are gathered from one statement."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from penstock.errors import Source, Span, SqlError
from penstock.sql.syntax import Name, Tree


class Consequence(SqlError):
    """An error that only follows from another one, such as a query of a stream whose declaration failed. Not shown."""


class TooLarge(Exception):
    """Ends a statement at once, with one error, where to look for more of them could take indefinitely."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error.message)
        self.error = error


class Diagnostics:
    """The errors of one statement. A part that fails is noted, and the parts beside it are still looked at."""

    def __init__(self, source: Source, whole: Span) -> None:
        self.source = source
        self.whole = whole
        self.errors: list[SqlError] = []
        self._seen: set[tuple[str, Span]] = set()

    def error(self, message: str, hint: str | None, place: Tree | Name | Span | None) -> SqlError:
        return SqlError(message, hint, self.source, self._span(place))

    def fail(self, message: str, hint: str | None, place: Tree | Name | Span | None) -> NoReturn:
        raise self.error(message, hint, place)

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Notes the first error of the block and goes on after it."""
        try:
            yield
        except SqlError as error:
            self.note(error)

    def note(self, error: SqlError) -> None:
        if (error.message, error.span) not in self._seen:
            self._seen.add((error.message, error.span))
            self.errors.append(error)

    def stop_if_failed(self, failed: bool = True) -> None:
        """Ends what cannot go on, once something that it needs has failed."""
        if failed and self.errors:
            raise self.errors[-1]

    def text(self, place: Tree) -> str:
        """What was written there."""
        span = self._span(place)
        return self.source.text[span.start : span.end]

    def _span(self, place: Tree | Name | Span | None) -> Span:
        if isinstance(place, Span):
            return place
        if isinstance(place, Name):
            return place.span
        return (place is not None and tree_span(place)) or self.whole


def tree_span(tree: Tree) -> Span | None:
    """The text that a tree was read from, as far as its parts know their places.

    A tree without any known place takes that of the nearest tree around it.
    """
    node: Tree | None = tree
    while node is not None:
        places = [part.meta for part in node.walk() if part._meta and "start" in part._meta]
        if places:
            return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)
        node = node.parent
    return None


def nested_too_deeply(source: Source, span: Span) -> SqlError:
    return SqlError("this is nested too deeply", "split it with views", source, span)


def did_you_mean(name: str, candidates: Iterable[str], at_least: float = 0.6) -> str | None:
    """A hint with the nearest of the known names.

    >>> did_you_mean("acution", ["auction", "bidder"])
    'did you mean auction?'
    """
    known = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=at_least)
    return f"did you mean {known[near[0]]}?" if near else None


def counted(number: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "column"), counted(2, "column")
    ('1 column', '2 columns')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names for a hint, cut where there are too many.

    >>> listed(["a", "b"]), listed("abcd", most=2)
    ('a, b', 'a, b, ...')
    """
    all_names = list(names)
    return ", ".join(all_names[:most]) + (", ..." if len(all_names) > most else "")

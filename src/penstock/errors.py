"""The one family of errors: what is wrong, where, and what to write instead.

Every error a user can cause is a `PenstockError`. It has a message (what is wrong), a hint (what to do), and
where it comes from SQL text a place in that text. The command line prints it without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text, from `start` up to but not including `end`, in characters."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name of the file that it was read from."""

    file: str
    text: str

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1.

        >>> Source("q.sql", "SELECT a\\nFROM s").line_and_column(9)
        (2, 1)
        """
        before = self.text[:offset]
        line = before.count("\n")
        return line + 1, offset - (before.rfind("\n") + 1) + 1

    def line(self, number: int) -> str:
        return self.text.split("\n")[number - 1].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Places:
    """Where a query and its parts stand in the text: its SELECT, and by scope its occurrences, groupings, subqueries.

    What stands inside a view has the place of the view in the query.
    """

    query: Span
    scopes: Mapping[str, Span]
    #: The scopes that stand in the query's own text, not in that of a view.
    own: frozenset[str]
    #: Whether the query was given a name.
    named: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """The text that a query was read from, and where it stands there."""

    source: Source
    places: Places


class PenstockError(Exception):
    """Something that the user can put right."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class SqlError(PenstockError):
    """An error at a place in SQL text."""

    def __init__(self, message: str, hint: str | None, source: Source, span: Span) -> None:
        super().__init__(message, hint)
        self.source = source
        self.span = span

    @property
    def line(self) -> int:
        return self.source.line_and_column(self.span.start)[0]

    @property
    def column(self) -> int:
        return self.source.line_and_column(self.span.start)[1]

    def __str__(self) -> str:
        """The message, the line with carets below the place, and the hint.

        >>> print(SqlError("unknown column b", "did you mean a?", Source("q.sql", "SELECT b FROM s"), Span(7, 8)))
        q.sql:1:8: unknown column b
            SELECT b FROM s
                   ^
        hint: did you mean a?
        """
        line, column = self.source.line_and_column(self.span.start)
        shown, at = _excerpt(self.source.line(line), column - 1)
        # Tabs stay tabs, so that the caret stands below its character whatever a tab's width is.
        margin = "".join("\t" if c == "\t" else " " for c in shown[:at])
        width = max(1, min(self.span.end - self.span.start, len(shown) - at))
        parts = [f"{self.source.file}:{line}:{column}: {self.message}"]
        parts += [f"    {shown}", f"    {margin}{'^' * width}"]
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)


def _excerpt(line: str, at: int, width: int = 120) -> tuple[str, int]:
    """As much of a long line as fits beside a place in it, and that place in the excerpt."""
    if len(line) <= width:
        return line, at
    start = max(0, min(at - width // 2, len(line) - width))
    end = min(len(line), start + width)
    before, after = "..." if start else "", "..." if end < len(line) else ""
    return f"{before}{line[start:end]}{after}", at - start + len(before)


class SqlErrors(PenstockError):
    """All errors that were found in one text, in the order of their places."""

    def __init__(self, errors: Iterable[SqlError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: (error.source.file, error.span.start)))
        super().__init__("\n\n".join(str(error) for error in self.errors))


class DoubtfulUnit(UserWarning):
    """A BIGINT timestamp without a unit is read as microseconds, and does not look like that."""

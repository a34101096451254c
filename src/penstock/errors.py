"""The one family of errors: what is wrong, where, and what to write instead.

Every error a user can cause is a `PenstockError`. It has a message (what is wrong), a hint (what to do), and
where it comes from SQL text a place in that text. The command line prints it without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.masking import MASK, masked, masked_by_source, printable, secret_spans


def shown(text: str) -> str:
    """A text as users may see it: without secrets, and without characters that steer a terminal."""
    return printable(masked(text))


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
    #: Not for show: it may hold secrets.
    text: str = field(repr=False)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1.

        >>> Source("q.sql", "SELECT a\\nFROM s").line_and_column(9)
        (2, 1)
        """
        before = self.text[:offset]
        line = before.count("\n")
        return line + 1, offset - (before.rfind("\n") + 1) + 1

    def shown_line(self, offset: int) -> tuple[str, list[int]]:
        """The line of a character without secrets and control characters, and where each character stands in it.

        >>> Source("q.sql", "(token 'abc')").shown_line(0)
        ("(token '***')", [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 11, 12, 13])
        """
        start = self.text.rfind("\n", 0, offset) + 1
        line = self.text[start:].partition("\n")[0].rstrip("\r")
        shown, places, at = "", list[int](), start
        for secret_start, secret_end in (*secret_spans(self.text), (start + len(line), start + len(line))):
            if secret_end <= start or secret_start > start + len(line):
                continue
            for character in self.text[at:secret_start]:
                places.append(len(shown))
                shown += printable(character)
            at = min(secret_end, start + len(line))
            masked_from = max(secret_start, start)
            if at > masked_from:
                places += [len(shown)] * (at - masked_from)
                shown += MASK
        return shown, [*places, len(shown)]

    def shown(self, start: int, end: int) -> str:
        """A stretch of the text without secrets and control characters.

        >>> Source("q.sql", "(token 'abc', n 7)").shown(1, 17)
        "token '***', n 7"
        """
        text, at = "", start
        for secret_start, secret_end in secret_spans(self.text):
            if secret_end > at and secret_start < end:
                text += self.text[at : max(at, secret_start)] + MASK
                at = min(secret_end, end)
        return shown(text + self.text[at:end])


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
    """Something that you can put right: `message` says what is wrong, and `hint`, where there is one, what to do.

    All errors of Penstock are of this family. Their texts show no secrets.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = shown(message)
        self.hint = None if hint is None else shown(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class SqlError(PenstockError):
    """An error at a place in SQL text, which it shows: `line` and `column` count from 1."""

    def __init__(self, message: str, hint: str | None, source: Source, span: Span) -> None:
        hint = None if hint is None else masked_by_source(hint, source.text)
        super().__init__(masked_by_source(message, source.text), hint)
        self.source = source
        self.span = span

    @property
    def line(self) -> int:
        """The line of the place."""
        return self.source.line_and_column(self.span.start)[0]

    @property
    def column(self) -> int:
        """The column of the place."""
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
        whole, places = self.source.shown_line(self.span.start)
        first, last = (places[min(column - 1 + n, len(places) - 1)] for n in (0, self.span.end - self.span.start))
        shown, at = _excerpt(whole, first)
        # Tabs stay tabs, so that the caret stands below its character whatever a tab's width is.
        margin = "".join("\t" if c == "\t" else " " for c in shown[:at])
        width = max(1, min(last - first, len(shown) - at))
        parts = [f"{printable(self.source.file)}:{line}:{column}: {self.message}"]
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
    """All errors of one text, in the order of their places: `errors` holds each as a `SqlError`."""

    def __init__(self, errors: Iterable[SqlError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: (error.source.file, error.span.start)))
        super().__init__("\n\n".join(str(error) for error in self.errors))


class DoubtfulUnit(UserWarning):
    """Warns that a BIGINT timestamp without a unit counts microseconds, but looks as if it counted something else."""

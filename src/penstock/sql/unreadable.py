"""Where a text that cannot be cut into tokens goes wrong: a string, a quoted name or a comment that is not closed."""

from __future__ import annotations

import re

from penstock.errors import Source, Span, SqlError

_OPENING = re.compile(r"--|/\*|'|\"|`")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CLOSED = {
    "--": re.compile(r"--[^\n]*"),
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL),
    "`": re.compile(r"`(?:[^`]|``)*`"),
}
_NAMES = {"'": "string", '"': "string", "`": "quoted name"}
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")


def unreadable(source: Source) -> SqlError:
    """The error for a text that the tokenizer refused.

    >>> print(unreadable(Source("q.sql", "SELECT 'it''s', 'its FROM s -- its")))
    q.sql:1:17: this string is not closed
        SELECT 'it''s', 'its FROM s -- its
                        ^
    hint: add a closing '
    """
    text, at = source.text, 0
    while opening := _OPENING.search(text, at):
        start, mark = opening.start(), opening.group()
        end = _end_of_comment(text, start) if mark == "/*" else _end(text, start, mark)
        if end is None:
            name, closing = ("comment", "*/") if mark == "/*" else (_NAMES[mark], mark)
            span = Span(start, start + len(mark))
            return SqlError(f"this {name} is not closed", f"add a closing {closing}", source, span)
        prefix = text[start - 1 : start].upper() if mark == "'" else ""
        if prefix == "X" and not _HEXADECIMAL.fullmatch(text, start + 1, end - 1):
            hint = "X'...' holds the hexadecimal digits of bytes, such as X'1F'"
            return SqlError("this is not hexadecimal", hint, source, Span(start - 1, end))
        at = end
    return SqlError("this cannot be read as SQL", None, source, Span(0, min(1, len(text))))


def _end(text: str, start: int, mark: str) -> int | None:
    closed = _CLOSED[mark].match(text, start)
    return closed.end() if closed else None


def _end_of_comment(text: str, start: int) -> int | None:
    """Comments may stand in comments."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return None

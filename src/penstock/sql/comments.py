"""Comments: where they stand in a text, and where they go in the same statement printed anew.

A comment belongs to a token: one at the end of a line to the token before it, any other to the token behind it. The
tokens of a statement and of its new form are aligned, and the comment goes to the line of the new form that holds its
token: behind the line, or above it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from sqlglot.tokenizer_core import Token


@dataclass(frozen=True, slots=True)
class Comment:
    text: str
    #: How many tokens of the whole text stand before it.
    before: int
    #: On a line that holds a token, and so to be put behind a line.
    beside: bool
    #: The token that it belongs to is the one behind it.
    leads: bool
    #: An empty line follows.
    apart: bool


def comments(text: str, tokens: Sequence[Token]) -> list[Comment]:
    """The comments of a text: what stands between its tokens and is not space."""
    found: list[Comment] = []
    end = 0
    for place in range(len(tokens) + 1):
        start = tokens[place].start if place < len(tokens) else len(text)
        found += (_comment(text, at, stop, place, end) for at, stop in _spans(text, end, start))
        end = tokens[place].end + 1 if place < len(tokens) else end
    return found


class StatementLayout:
    """A statement's new form: its text, and which tokens its lines start and end with."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        within = {i for token in tokens for i in range(token.start, token.end) if text[i] == "\n"}
        breaks = [i for i, c in enumerate(text) if c == "\n" and i not in within]
        starts = [0, *(at + 1 for at in breaks)]
        self._breaks = breaks
        self.lines = [text[start:end] for start, end in zip(starts, [*breaks, len(text)], strict=True)]
        #: The places of the tokens that each line starts and ends with.
        self.firsts: dict[int, int] = {}
        self.lasts: dict[int, int] = {}
        for place, token in enumerate(tokens):
            self.firsts.setdefault(self.line(token.start), place)
            self.lasts[self.line(token.end)] = place

    def line(self, offset: int) -> int:
        return bisect_left(self._breaks, offset)

    def with_comments(self, placed: PlacedComments) -> str:
        above = {self.line(self.tokens[place].start): texts for place, texts in placed.above.items()}
        behind = {self.line(self.tokens[place].end): texts for place, texts in placed.behind.items()}
        lines: list[str] = []
        for number, line in enumerate(self.lines):
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + text for text in above.get(number, ())]
            lines.append(" ".join([line, *behind.get(number, ())]))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PlacedComments:
    """Comments by the token that starts the line below them, and by the one that ends the line before them."""

    above: Mapping[int, Sequence[str]]
    behind: Mapping[int, Sequence[str]]

    def fit(self, layout: StatementLayout) -> bool:
        """Whether lines of a layout start and end with these tokens, too."""
        starts, ends = set(layout.firsts.values()), set(layout.lasts.values())
        return self.above.keys() <= starts and self.behind.keys() <= ends


def place_comments(layout: StatementLayout, old: Sequence[Token], inside: Iterable[Comment]) -> PlacedComments:
    """Where the comments of a statement's old form go in its new one. Their `before` counts the `old` tokens."""
    above: dict[int, list[str]] = defaultdict(list)
    behind: dict[int, list[str]] = defaultdict(list)
    places = _aligned(old, layout.tokens)
    for comment in inside:
        token = layout.tokens[_nearest(places, comment.before, forward=comment.leads)]
        if comment.beside:
            behind[layout.line(token.end)].append(comment.text)
        else:
            above[layout.line(token.start)].append(comment.text)
    for line in [line for line, texts in behind.items() if not _fit_behind(texts)]:
        above[line] += behind.pop(line)
    return PlacedComments(
        {layout.firsts[line]: texts for line, texts in above.items()},
        {layout.lasts[line]: texts for line, texts in behind.items()},
    )


def _fit_behind(texts: Sequence[str]) -> bool:
    """Whether comments can stand on one line: only the last may end with the line."""
    return not any("\n" in text for text in texts) and all(text.startswith("/*") for text in texts[:-1])


_COMMENT_START = re.compile(r"--|/\*")
_BLOCK_MARK = re.compile(r"/\*|\*/")
_LINE_END = re.compile(r"[\r\n]")


def _spans(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    while (mark := _COMMENT_START.search(text, start, end)) is not None:
        if mark[0] == "--":
            line_end = _LINE_END.search(text, mark.end(), end)
            stop = end if line_end is None else line_end.start()
        else:
            stop = _block_end(text, mark.start())
        yield mark.start(), stop
        start = stop


def _block_end(text: str, start: int) -> int:
    """The end of a comment in which others may be nested."""
    depth = 0
    for mark in _BLOCK_MARK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)


_SPACE = re.compile(r"\s*")


def _comment(text: str, start: int, end: int, before: int, last: int) -> Comment:
    """The comment from `start` to `end`, behind a token that ends at `last`."""
    line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    space = _SPACE.match(text, end)
    next_start = space.end() if space else end
    newlines = text.count("\n", end, next_start)
    # Not the line's end, nor the statement's, nor another comment.
    follows = not newlines and next_start < len(text) and not text.startswith(("--", "/*", ";"), next_start)
    kept = text[start:end].rstrip().replace("\r\n", "\n").replace("\r", "\n")
    beside = last > line_start and "\n" not in kept
    # Behind SELECT `/*+` would start a hint.
    kept = f"/* {kept[2:]}" if kept.startswith("/*+") else kept
    return Comment(kept, before, beside, leads=follows or not beside, apart=newlines > 1)


def _aligned(old: Sequence[Token], new: Sequence[Token]) -> list[int | None]:
    """For each old token the place of the new one that it became, where it stayed as it was."""
    places: list[int | None] = [None] * len(old)
    matcher = SequenceMatcher(None, _words(old), _words(new), autojunk=False)
    for block in matcher.get_matching_blocks():
        places[block.a : block.a + block.size] = range(block.b, block.b + block.size)
    return places


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.text.upper() for token in tokens]


def _nearest(places: Sequence[int | None], before: int, forward: bool) -> int:
    """The new place of the token that a comment behind `before` tokens belongs to, or of one near it."""
    ahead = [place for place in places[before:] if place is not None]
    back = [place for place in places[:before] if place is not None]
    if forward:
        return ahead[0] if ahead else back[-1]
    return back[-1] if back else ahead[0]

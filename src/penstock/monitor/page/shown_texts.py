"""The SQL as the page shows it: without secrets, and with the part that each operator comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.algebra.physical import Scan
from penstock.algebra.printing import Json
from penstock.algebra.relations import Aggregate, Distinct, Relation, SetOp, Table, walk_relations
from penstock.closing.group_closers import GroupEnding
from penstock.closing.physical_join import PhysicalJoin
from penstock.errors import Origin, Span
from penstock.masking import MASK, masked, secret_spans

#: A name, and a window behind it.
_WINDOWED = re.compile(r'[\w.`"]+\s*\[[^\]]*\]')


class ShownTexts:
    """The texts that queries were read from, without secrets, and where places stand in what is shown."""

    def __init__(self) -> None:
        self._found: list[Origin] = []

    def number(self, origin: Origin) -> int:
        for number, known in enumerate(self._found):
            if known.source is origin.source:
                return number
        self._found.append(origin)
        return len(self._found) - 1

    def place(self, origin: Origin, span: Span) -> list[Json]:
        self.number(origin)
        spans = secret_spans(origin.source.text)
        return [_shown_offset(spans, span.start), _shown_offset(spans, span.end)]

    def as_json(self) -> list[Json]:
        return [{"name": masked(each.source.file), "text": _shown(each.source.text)} for each in self._found]


def spans_of(node: Relation, origin: Origin, texts: ShownTexts) -> list[Json]:
    """Returns the parts of the text that an operator comes from: an occurrence, a grouping, or those that it joins."""
    scopes: list[str] = []
    match node:
        case Scan(stream):
            scopes = [stream.occurrence]
        case Table():
            scopes = [node.occurrence]
        case Aggregate() | Distinct() | SetOp():
            scopes = [node.schema[0].scope] if node.schema else []
        case GroupEnding():
            return spans_of(node.input, origin, texts)
        case PhysicalJoin():
            leaves = (leaf for operand in node.operands for leaf in walk_relations(operand))
            scopes = [leaf.stream.occurrence for leaf in leaves if isinstance(leaf, Scan)]
    places = [origin.places.scopes[scope] for scope in dict.fromkeys(scopes) if scope in origin.places.scopes]
    return [texts.place(origin, _with_window(origin, span)) for span in places or [origin.places.query]]


def _with_window(origin: Origin, span: Span) -> Span:
    """Returns the place of an occurrence with the window behind it."""
    found = _WINDOWED.match(origin.source.text, span.start)
    return span if found is None else Span(span.start, max(span.end, found.end()))


def _shown(text: str) -> str:
    """Returns a text with a mask in the place of each secret.

    >>> _shown("OPTIONS (path 'a', password 'hunter2')")
    "OPTIONS (path 'a', password '***')"
    """
    parts, at = [], 0
    for start, end in secret_spans(text):
        parts += [text[at:start], MASK]
        at = end
    return "".join([*parts, text[at:]])


def _shown_offset(spans: Sequence[tuple[int, int]], offset: int) -> int:
    """Returns where a character stands once secrets are masked.

    >>> [_shown_offset([(4, 11)], offset) for offset in (2, 4, 8, 12)]
    [2, 4, 7, 8]
    """
    shift = 0
    for start, end in spans:
        if offset >= end:
            shift += len(MASK) - (end - start)
        elif offset > start:
            return start + shift + len(MASK)
    return offset + shift

"""Actions as text to paste: declarations, and the query with other windows or with DISTINCT.

What a declaration adds stands in a statement of its own. A change of the query is the query once more, with the change
made in its own words; where that cannot be told, as inside a view, the changed piece alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from penstock.algebra.printing import window_text
from penstock.algebra.relations import Query
from penstock.closing.declarations import name_text
from penstock.errors import Origin, Span
from penstock.register.steps import Action, AddTimeRange, AdviceStep, Declare, MakeDistinct, SetWindow

#: A stream, perhaps its alias, and a window in brackets.
_NAME = r"(?:`[^`]*`|\w+)"
_WINDOWED = re.compile(rf"({_NAME})((?:\s+(?:AS\s+)?{_NAME})?)\s*\[[^\]]*\]", re.IGNORECASE)
_PLAIN = re.compile(_NAME)
_SELECT = re.compile(r"SELECT(?:\s+(?:ISTREAM|DSTREAM|RSTREAM)\s*\()?\s*", re.IGNORECASE)

#: Where a condition starts, and what makes it unclear where it ends or what stands before it.
_CONDITION = re.compile(r"\b(?:WHERE|ON)\b\s*", re.IGNORECASE)
_UNCLEAR = re.compile(r"\bOR\b|['\"`]|--|/\*", re.IGNORECASE)

Edit = tuple[Span, str]


def runnable(action: Action, query: Query, origin: Origin | None) -> tuple[str, ...]:
    """The statements of an action: put behind the text that declares the query, they make it safe."""
    declared = [step.text for step in action.steps if isinstance(step, Declare)]
    changed = [step for step in action.steps if not isinstance(step, Declare)]
    if not changed:
        return tuple(declared)
    edited = _edited(changed, query, origin)
    return (*declared, *([edited] if edited is not None else (step.text for step in changed)))


def _edited(steps: Iterable[AdviceStep], query: Query, origin: Origin | None) -> str | None:
    """The query with all changes made."""
    edits = [_edit(step, origin) for step in steps] if origin is not None else [None]
    made = [edit for edit in edits if edit is not None]
    if origin is None or len(made) < len(edits):
        return None
    whole, text = origin.places.query, origin.source.text
    for span, new in sorted(made, key=lambda edit: edit[0].start, reverse=True):
        text = text[: span.start] + new + text[span.end :]
    grown = sum(len(new) - (span.end - span.start) for span, new in made)
    end = _closed(text, max([whole.end, *(span.end for span, _ in made)]) + grown)
    body = text[whole.start : end]
    return f"CREATE OR REPLACE QUERY {name_text(query.name)} AS {body};" if origin.places.named else f"{body};"


def _closed(text: str, end: int) -> int:
    """The end of a query whose last token has no place of its own, as a bracket or a parenthesis has not."""
    rest = text[end:].partition(";")[0]
    return end + len(rest.rstrip()) if re.fullmatch(r"[\s\]\)]*", rest) else end


def _edit(step: AdviceStep, origin: Origin) -> Edit | None:
    text = origin.source.text
    match step:
        case SetWindow(_, occurrence, spec) if occurrence in origin.places.own:
            start = origin.places.scopes[occurrence].start
            if found := _WINDOWED.match(text, start):
                return Span(start, found.end()), f"{found[1]} {window_text(spec)}{found[2]}"
            if found := _PLAIN.match(text, start):
                return Span(start, found.end()), f"{found[0]} {window_text(spec)}"
        case AddTimeRange(left, right) if {left.scope, right.scope} <= set(origin.places.own):
            return _condition(step.text, origin)
        case MakeDistinct():
            if found := _SELECT.match(text, origin.places.query.start):
                return Span(found.end(), found.end()), "DISTINCT "
    return None


def _condition(added: str, origin: Origin) -> Edit | None:
    """Put before the one condition that a query has, if that is a conjunction and it is clear where it stands."""
    whole = origin.places.query
    text = origin.source.text[whole.start : whole.end]
    found = list(_CONDITION.finditer(text))
    if len(found) != 1 or _UNCLEAR.search(text):
        return None
    place = whole.start + found[0].end()
    return Span(place, place), f"{added} AND "

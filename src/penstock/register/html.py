"""Verdicts in notebooks: the query with what grows underlined, why it grows, and what would make it safe.

It is plain HTML with styles of its own, without scripts, since notebooks are mailed and shown on other sites. Colours
are chosen to be read on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from penstock.errors import Origin, Source, Span, shown
from penstock.register.states import StatefulOperator
from penstock.register.verdict import Verdict

_CARD = "border-left:4px solid {colour};padding:4px 12px;margin:4px 0;max-width:60em"
_PRE = "white-space:pre-wrap;margin:4px 0;background:transparent;color:inherit;border:0;padding:0;text-align:left"
_UNDERLINED = "text-decoration:underline wavy #c62828;text-underline-offset:3px"
_SAFE, _UNSAFE = "#2e7d32", "#c62828"


def verdict_html(verdict: Verdict) -> str:
    """Returns a verdict as a card."""
    parts = []
    if verdict.origin is not None:
        parts.append(_preformatted(_query_html(verdict.origin, _grows(verdict, verdict.origin))))
    if not verdict.safe:
        parts += [f"<div>{_text(why)}</div>" for why in dict.fromkeys(state.because for state in verdict.unbounded)]
        if verdict.hint is not None:
            parts.append(f"<div><b>why</b>: {_text(verdict.hint)}</div>")
        parts.append(actions_html([[step.text for step in action.steps] for action in verdict.actions]))
    parts += [f"<div><b>warning</b>: {_text(warning)}</div>" for warning in verdict.warnings]
    said = verdict.message if verdict.safe else "not safe" + (", but allowed" if verdict.allowed else "")
    return card(verdict.name, said, parts, is_safe=verdict.safe)


def card(name: str, said: str, parts: Iterable[str], *, is_safe: bool) -> str:
    """Returns the frame of a verdict: its name, what it says in one line, and parts that are HTML."""
    colour = _SAFE if is_safe else _UNSAFE
    head = f'<div><b>{_text(name)}</b>: <b style="color:{colour}">{_text(said)}</b></div>'
    return f'<div class="penstock" style="{_CARD.format(colour=colour)}">{head}{"".join(parts)}</div>'


def actions_html(actions: Sequence[Sequence[str]]) -> str:
    """Returns what would make a query safe, as a list; each action is a few statements."""
    if not actions:
        return ""
    items = "".join(f"<li>{_preformatted(_text(chr(10).join(steps)))}</li>" for steps in actions)
    return f"<div>any of these would make it safe:</div><ol style='margin:0 0 0 1.5em;padding:0'>{items}</ol>"


def _grows(verdict: Verdict, origin: Origin) -> list[Span]:
    """Returns the pieces of the query that hold what grows; the whole query is not underlined."""
    places = origin.places
    growing = (state for state in verdict.unbounded if state.operator is not StatefulOperator.QUERY)
    found = (places.scopes.get(state.scope) for state in growing)
    return sorted(
        {span for span in found if span is not None and span != places.query}, key=lambda s: (s.start, -s.end)
    )


def _query_html(origin: Origin, spans: Sequence[Span]) -> str:
    """Returns the text of a query without secrets, its pieces underlined; of pieces inside each other the outer one."""
    source, whole = origin.source, origin.places.query
    html, at = "", whole.start
    for span in spans:
        if span.start < at or span.end > whole.end:
            continue
        html += _stretch(source, at, span.start)
        html += f'<span style="{_UNDERLINED}">{_stretch(source, span.start, span.end)}</span>'
        at = span.end
    return html + _stretch(source, at, whole.end)


def _stretch(source: Source, start: int, end: int) -> str:
    return escape(source.shown(start, end), quote=False)


def _preformatted(html: str) -> str:
    return f'<pre style="{_PRE}">{html}</pre>'


def _text(text: str) -> str:
    return escape(shown(text), quote=False)

"""Findings: what of a run is worth a look, and which entity is the cause.

A lag has one cause and many victims. Rows wait at a join because a stream that it needs is behind, or because an
operator takes the time of the step; what stands behind it in the graph only waits. So the cause is sought where time
goes, and where time is held back, and not where rows pile up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.monitor.page.history import FLOWS, LEVELS, PROPERTIES, Frame

#: Of the latest frames so many are judged.
_RECENT = 40
#: An operator that takes this part of the time is said to be the slowest, and one with such a skew to be uneven.
_SLOW, _UNEVEN = 0.5, 2.0
#: Rows that wait are worth a look if they are more than this, and state that has grown by such a factor.
_WAITING, _GROWN = 1000, 1.5

_AT = {name: place for place, name in enumerate(PROPERTIES)}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person may want to look at. `level` is note, warning or loss."""

    level: str
    entity: str
    what: str
    why: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def findings(
    frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]], newest: Mapping[str, int]
) -> list[Finding]:
    """Returns what is worth a look. `newest` is how far each stream that is not idle has been read, less its delay."""
    if not frames:
        return []
    recent = frames[-_RECENT:]
    return [
        *_losses(frames, nodes),
        *_held_back(recent[-1], nodes, newest),
        *_slowest(recent, nodes),
        *_growing(frames, nodes),
        *_above_bound(recent[-1], nodes),
        *_uneven(recent, nodes),
    ]


def _value(frame: Frame, entity: str, name: str) -> float:
    own = frame.values.get(entity)
    return own[_AT[name]] if own is not None else 0.0


def _total(frames: Sequence[Frame], entity: str, name: str) -> float:
    return sum(_value(frame, entity, name) for frame in frames)


def _entities(frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [entity for entity in frames[-1].values if entity in nodes]


def _title(nodes: Mapping[str, Mapping[str, Any]], entity: str) -> str:
    node = nodes[entity]
    return str(node.get("name") or node["title"])


def _losses(frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Rows that count nowhere: late, bad, rejected after their punctuation, or dropped at the wait timeout."""
    for entity in _entities(frames, nodes):
        title = _title(nodes, entity)
        late, bad = _total(frames, entity, "late_rows"), _total(frames, entity, "bad_rows")
        rejected, dropped = (_value(frames[-1], entity, name) for name in ("violations", "timed_out_rows"))
        if late:
            than = "the stream's DELAY allows, or their instants were closed while it was idle"
            why = f"they arrived later than {than}; longer times keep more rows in flight"
            yield Finding("loss", entity, f"{late:,.0f} rows of {title} were late, and dropped", why)
        if bad:
            why = "they have no time, one before 1970, or NULL in a NOT NULL column"
            yield Finding("loss", entity, f"{bad:,.0f} rows of {title} were bad, and dropped", why)
        if rejected:
            why = "they arrived after a punctuation that said there would be no more of them"
            yield Finding("loss", entity, f"{rejected:,.0f} rows were rejected at {title}", why)
        if dropped:
            why = "they waited longer for their punctuation than --wait-timeout allows"
            yield Finding("loss", entity, f"{dropped:,.0f} rows were dropped at {title}", why)


def _held_back(frame: Frame, nodes: Mapping[str, Mapping[str, Any]], newest: Mapping[str, int]) -> Iterator[Finding]:
    """The stream that holds the watermark back while rows of others wait; a warning if more wait than are kept."""
    if len(newest) < 2:
        return
    behind = min(newest, key=newest.__getitem__)
    others = [e for e in frame.values if e in nodes and nodes[e].get("query") and nodes[e].get("stream") != behind]
    waiting = sum(_value(frame, entity, "in_flight_rows") for entity in others)
    kept = sum(_value(frame, entity, "state_rows") for entity in frame.values if entity in nodes)
    ahead = max(newest.values()) - newest[behind]
    if waiting > _WAITING and ahead > 0 and f"source/{behind}" in nodes:
        why = f"{waiting:,.0f} rows of other streams wait for it: no instant closes before {behind} has passed it"
        level = "warning" if waiting > kept else "note"
        yield Finding(level, f"source/{behind}", f"{behind} is {_seconds(ahead)} behind", why)


def _seconds(microseconds: int) -> str:
    """Returns a time, short.

    >>> _seconds(1_500_000), _seconds(90_000_000), _seconds(7_200_000_000)
    ('1.5 s', '1.5 min', '2.0 h')
    """
    seconds = microseconds / 1e6
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _slowest(frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """The operator in which most of the time goes: those behind it wait for it."""
    times = {entity: _total(frames, entity, "nanoseconds") for entity in _entities(frames, nodes)}
    total = sum(times.values())
    if not total or len(times) < 2:
        return
    slowest = max(times, key=times.__getitem__)
    if times[slowest] > _SLOW * total:
        rows = _total(frames, slowest, "rows_in")
        each = f", {times[slowest] / rows:,.0f} ns a row" if rows else ""
        what = f"{_title(nodes, slowest)} takes {times[slowest] / total:.0%} of the time"
        yield Finding("note", slowest, what, f"it is the slowest operator on its path{each}; the others wait for it")


def _growing(frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """State that grew through the second half of what is known, without a number that bounds it."""
    if len(frames) < 8:
        return
    points = [frames[len(frames) * quarter // 4 - 1] for quarter in (2, 3, 4)]
    for entity in _entities(frames, nodes):
        before, between, now = (_value(frame, entity, "state_rows") for frame in points)
        if now > _WAITING and before < between < now and now > _GROWN * before and not _size(nodes[entity]):
            words = [str(bound["words"]) for bound in nodes[entity].get("bounds", ())]
            why = f"what is proved of it: at most {' + '.join(words)}" if words else "it has no bound of its own"
            factor = now / max(1.0, before)
            what = f"{_title(nodes, entity)} keeps {now:,.0f} rows, {factor:.1f} times as many as at half time"
            yield Finding("warning", entity, what, why)


def _size(node: Mapping[str, Any]) -> int | None:
    """Returns the number that bounds what an operator keeps, if there is one."""
    sizes = [bound["size"] for bound in node.get("bounds", ())]
    return None if not sizes or None in sizes else sum(sizes)


def _above_bound(frame: Frame, nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """State above what was proved would be a fault of ours."""
    for entity in frame.values:
        size = _size(nodes[entity]) if entity in nodes else None
        rows = _value(frame, entity, "state_rows")
        if size is not None and rows > size and nodes[entity].get("kind") == "scan":
            what = f"{_title(nodes, entity)} keeps {rows:,.0f} rows, and {size:,} were proved"
            yield Finding("warning", entity, what, "rows of a purge that is due are still there, or this is a fault")


def _uneven(frames: Sequence[Frame], nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """The operator whose cells are least even: the step lasts as long as the busiest cell."""
    many = [entity for entity in _entities(frames, nodes) if _total(frames, entity, "rows_in") > _WAITING]
    worst = max(many, key=lambda entity: _value(frames[-1], entity, "skew"), default=None)
    if worst is not None and (skew := _value(frames[-1], worst, "skew")) > _UNEVEN:
        why = "few values have many of the rows; a step lasts as long as its busiest cell"
        yield Finding(
            "warning", worst, f"the busiest cell of {_title(nodes, worst)} gets {skew:.1f} times the mean", why
        )


assert set(_AT) == {*FLOWS, *LEVELS, "skew"}

"""A profile as statements to paste: what holds in the data is declared, what nearly holds stands in comments.

A k is declared with a margin (`margins`), and the k that the data required stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from penstock.catalog import Constraint, NotNull, Reference, WithinRows, WithinTime
from penstock.closing.declarations import constraint_text, name_text, within_text
from penstock.profiling.findings import SHARES, Finding, KConstraint, Ks, Profile, StreamProfile, with_k
from penstock.profiling.margins import with_margin
from penstock.profiling.telling import HeldConstraint, Unit, declared, holding, like, nearly_holding
from penstock.sql.formatting import connector_text
from penstock.types import SECOND, UNITS, duration_text


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a declaration: an element with a comment behind it, or a comment alone."""

    element: str | None
    comment: str = ""


def profile_ddl(profile: Profile) -> str:
    """The statements of all streams."""
    return "\n\n".join(_statement(stream, profile) for stream in profile.streams)


def _statement(stream: StreamProfile, profile: Profile) -> str:
    definition = stream.definition
    lines = [
        Line(
            f"{'VIRTUAL ' * attribute.virtual}{name_text(attribute.name)} {attribute.type}"
            f"{' NOT NULL' * (attribute.name in stream.not_null)}"
        )
        for attribute in definition.attributes
    ]
    lines += _constraints(stream, profile)
    delay, nearly = stream.delay, ""
    if stream.lateness is not None and stream.delay:
        delay = _microseconds(with_margin(WithinTime(stream.delay)))
        nearly = "; ".join(filter(None, (_seen(WithinTime(stream.delay)), _nearly(stream.lateness, WithinTime))))
    unit = "" if definition.written_unit is None else f" {definition.written_unit.name}"
    late = f" DELAY {duration_text(delay)}" if delay else ""
    clock = f") TIMESTAMP BY {name_text(definition.timestamp)}{unit}{late}"
    source = "" if definition.connector is None else f"\n{connector_text(definition.connector)}"
    comment = f" -- {nearly}" if nearly else ""
    ends = f"{clock}{comment}{source};" if source else f"{clock};{comment}"
    return f"{_title(stream)}\nCREATE STREAM {name_text(definition.name)} (\n{_laid_out(lines)}\n{ends}"


def _constraints(stream: StreamProfile, profile: Profile) -> Iterator[Line]:
    said = list(holding(stream, profile))
    for holds in said:
        if isinstance(holds.constraint, NotNull):
            continue  # the columns say it
        yield Line(constraint_text(_proposed(holds.constraint)), _comment(holds))
    for constraint, adheres in declared(stream, profile):
        text = constraint_text(constraint)
        if adheres is None:
            yield Line(text, "as declared; not checked")
        elif not adheres:
            yield Line(None, f"declared, but broken: {text}")
        elif not isinstance(constraint, NotNull) and not any(like(holds.constraint, constraint) for holds in said):
            yield Line(text, "as declared; it holds")
    for nearly in nearly_holding(stream, profile):
        yield Line(None, f"{nearly.share} of rows: {constraint_text(nearly.constraint)}")
    for names in stream.unknown:
        yield Line(None, f"{', '.join(names)}: too many values to tell whether they come again")


def _proposed(constraint: Constraint) -> Constraint:
    """A constraint that holds, with a k that leaves room."""
    if isinstance(constraint, KConstraint) and isinstance(constraint.within, WithinRows | WithinTime):
        return with_k(constraint, with_margin(constraint.within))
    return constraint


def _seen(within: WithinRows | WithinTime) -> str:
    """What the data required, in words that are read easily."""
    if isinstance(within, WithinTime) and (about := _about(within.microseconds)):
        return f"{about} seen"
    return f"{within_text(within)} seen" if within != with_margin(within) else ""


def _microseconds(within: WithinRows | WithinTime) -> int:
    assert isinstance(within, WithinTime)
    return within.microseconds


def _laid_out(lines: list[Line]) -> str:
    """Lines with commas behind all elements but the last, and the comments on them one below the other."""
    last = max(number for number, line in enumerate(lines) if line.element is not None)
    texts = [f"  {line.element}{',' * (number < last)}" for number, line in enumerate(lines)]
    commented = [text for text, line in zip(texts, lines, strict=True) if line.element is not None and line.comment]
    width = max(map(len, commented), default=0)
    shown = []
    for text, line in zip(texts, lines, strict=True):
        before = "  " if line.element is None else f"{text:<{width}} "
        shown.append(f"{before}-- {line.comment}" if line.comment else text)
    return "\n".join(shown)


def _title(stream: StreamProfile) -> str:
    if stream.rows == 0:
        text = f"-- {stream.definition.name}: no rows"
    else:
        times = f"from {_instant(stream.first)} to {_instant(stream.last)}"
        text = f"-- {stream.definition.name}: {stream.rows:,} row{'s' * (stream.rows != 1)}, {times}"
    if stream.late_rows:
        text += f"; {stream.late_rows:,} that came later than {duration_text(stream.delay)} left out"
    if stream.bad_rows:
        text += f"; {stream.bad_rows:,} without a time, or before 1970, left out"
    return text


def _instant(microseconds: int) -> str:
    """A time, to the second.

    >>> _instant(1_700_000_000_000_000), _instant(2**62)
    ('2023-11-14 22:13:20', '4611686018427387904')
    """
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).strftime("%Y-%m-%d %H:%M:%S")
    except OverflowError:
        return str(microseconds)


def _comment(holds: HeldConstraint) -> str:
    if holds.ks is None or holds.finding is None:
        return ""
    unit: Unit = WithinRows if holds.ks is holds.finding.rows else WithinTime
    seen = "" if holds.ks.exact is None else _seen(unit(holds.ks.exact))
    return "; ".join(part for part in (seen, _found(holds.finding), _nearly(holds.ks, unit)) if part)


def _about(microseconds: int) -> str:
    """A time that is long and has many digits, in words that are read more easily.

    >>> _about(3_723_456_789), _about(70_000_000), _about(1_234)
    ('about 1.03 HOURS', '', '')
    """
    unit = next((unit for unit, size in UNITS.items() if microseconds >= size >= SECOND), None)
    is_short = unit is None or duration_text(microseconds).split()[1] not in ("MICROSECONDS", "MILLISECONDS")
    return "" if unit is None or is_short else f"about {microseconds / UNITS[unit]:.3g} {unit}S"


def _found(finding: Finding) -> str:
    if not isinstance(finding.constraint, Reference) or finding.found == finding.values:
        return ""
    if finding.found is None:
        return "by values of the first rows"
    return f"{finding.found:,} of {finding.values:,} values found"


def _nearly(ks: Ks, unit: Unit) -> str:
    """The k of most rows, where it is less."""
    parts: list[str] = []
    before = ks.exact
    for share, k in zip(SHARES, ks.shares, strict=True):
        if k is not None and k != before:
            parts.append(f"{share}{' of rows' * (not parts)} within {within_text(unit(k))}")
            before = k
    return ", ".join(parts)

"""Which findings are worth telling: what holds, what nearly holds, and what the data say of declared constraints.

With a k as large as the data every constraint holds, and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from penstock.catalog import (
    Clustered,
    Constraint,
    Inferred,
    NotNull,
    Ordered,
    Reference,
    Unique,
    Within,
    WithinRows,
    WithinTime,
)
from penstock.profiling.findings import SHARES, Finding, KConstraint, Ks, Profile, StreamProfile, with_k

#: A k of more than one part in so many of all rows, or of all the time, says nothing.
_TELLING = 4

Unit: TypeAlias = type[WithinRows] | type[WithinTime]


@dataclass(frozen=True, slots=True)
class HeldConstraint:
    """A constraint that all rows adhere to, and what it came from: none for a key."""

    constraint: Constraint
    ks: Ks | None = None
    finding: Finding | None = None


@dataclass(frozen=True, slots=True)
class Nearly:
    """A constraint that a share of the rows adhere to."""

    constraint: Constraint
    share: str


def holding(stream: StreamProfile, profile: Profile) -> Iterator[HeldConstraint]:
    """The constraints that hold in the data and say something."""
    if stream.not_null:
        yield HeldConstraint(NotNull(stream.not_null))
    for columns in _unique(stream):
        yield HeldConstraint(Unique(columns))
    for finding in _findings(stream):
        for unit, ks in _units(finding):
            if (
                ks.exact is not None
                and _tells(unit(ks.exact), finding, stream, profile)
                and not _is_said(unit, finding)
            ):
                yield HeldConstraint(with_k(finding.constraint, unit(ks.exact)), ks, finding)


def nearly_holding(stream: StreamProfile, profile: Profile) -> Iterator[Nearly]:
    """The constraints that do not hold, or say nothing, but do for most rows: the largest share for which they do."""
    for key in stream.keys:
        share = next((s for s, one_in in SHARES.items() if 0 < key.repeated <= stream.rows // one_in), None)
        if share is not None:
            yield Nearly(Unique(key.columns), share)
    for finding in _findings(stream):
        for unit, ks in _units(finding):
            if ks.exact is not None and _tells(unit(ks.exact), finding, stream, profile):
                continue
            for share, k in zip(SHARES, ks.shares, strict=True):
                if k is not None and _tells(unit(k), finding, stream, profile):
                    yield Nearly(with_k(finding.constraint, unit(k)), share)
                    break


def declared(stream: StreamProfile, profile: Profile) -> Iterator[tuple[Constraint, bool | None]]:
    """The declared constraints, and whether the data adhere to them; None if that is not known."""
    for constraint in stream.definition.constraints:
        yield constraint, _adheres(constraint, stream, profile.most)


def like(one: Constraint, other: Constraint) -> bool:
    """Whether two constraints say the same, but for k."""
    if isinstance(one, KConstraint) and isinstance(other, KConstraint):
        return with_k(one, other.within) == other
    return one == other


def _unique(stream: StreamProfile) -> list[tuple[str, ...]]:
    return [key.columns for key in stream.keys if key.repeated == 0 and stream.rows > 1]


def _findings(stream: StreamProfile) -> Iterator[Finding]:
    """All but clusters of a key: it is clustered as well as can be."""
    unique = _unique(stream)
    for finding in stream.findings:
        if not (isinstance(finding.constraint, Clustered) and finding.constraint.columns in unique):
            yield finding


def _units(finding: Finding) -> tuple[tuple[Unit, Ks], ...]:
    return (WithinRows, finding.rows), (WithinTime, finding.time)


def _tells(within: WithinRows | WithinTime, finding: Finding, stream: StreamProfile, profile: Profile) -> bool:
    counted_in = profile.counted_in(finding, stream)
    if isinstance(finding.constraint, Reference) and finding.found == 0:
        return False
    match within:
        case WithinRows(k):
            return k <= profile.most and _TELLING * k <= counted_in.rows
        case WithinTime(time):
            return _TELLING * time <= counted_in.span and counted_in.span > 0


def _is_said(unit: Unit, finding: Finding) -> bool:
    """What never comes later comes within no time, which need not be said. But a cluster without gaps may last."""
    return unit is WithinTime and finding.rows.exact == 0 and not isinstance(finding.constraint, Clustered)


def _adheres(constraint: Constraint, stream: StreamProfile, most: int) -> bool | None:
    match constraint:
        case NotNull(columns):
            nulls = [stream.nulls.get(name) for name in columns]
            return False if True in nulls else None if None in nulls else True
        case Unique(columns):
            return next((key.repeated == 0 for key in stream.keys if key.columns == columns), None)
        case Clustered(within=within) | Ordered(within=within) | Reference(within=within):
            finding = next((finding for finding in stream.findings if like(finding.constraint, constraint)), None)
            return None if finding is None else _is_within(finding, within, most)
    return None


def _is_within(finding: Finding, within: Within, most: int) -> bool | None:
    match within:
        case WithinRows(k) if finding.rows.exact is None:
            # More than `most` are required; but who refers may also be forgotten because there are so many.
            return False if k <= most and not isinstance(finding.constraint, Reference) else None
        case WithinRows(k):
            return finding.rows.exact is not None and finding.rows.exact <= k
        case WithinTime(time):
            return None if finding.time.exact is None else finding.time.exact <= time
        case Inferred():
            return True

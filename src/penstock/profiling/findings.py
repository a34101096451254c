"""What a profile says: constraints, and the k that the data require of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.catalog import Clustered, Ordered, Reference, StreamDef, Within

#: Shares of the rows for which k is given, besides all of them. One row in so many may then break it.
SHARES = {"99.9%": 1000, "99%": 100}


@dataclass(frozen=True, slots=True)
class Ks:
    """The k that all rows adhere to, and those that each of the SHARES does. None: it is more than was looked for."""

    exact: int | None
    shares: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class NearKey:
    """How nearly columns are a key: the rows that have the values of an earlier one."""

    columns: tuple[str, ...]
    repeated: int


KConstraint = Clustered | Ordered | Reference


@dataclass(frozen=True, slots=True)
class Finding:
    """A k-constraint, with any k, and the ks that the data require of it, in rows and in microseconds."""

    constraint: KConstraint
    rows: Ks
    time: Ks
    #: Of a reference: how many values refer, and how many of them are those of a row referred to; None: too many.
    values: int = 0
    found: int | None = 0


def with_k(constraint: KConstraint, within: Within) -> KConstraint:
    match constraint:
        case Clustered(columns):
            return Clustered(columns, within)
        case Ordered(column):
            return Ordered(column, within)
        case Reference(columns, parent, parent_columns):
            return Reference(columns, parent, parent_columns, within)


@dataclass(frozen=True, slots=True)
class StreamProfile:
    definition: StreamDef
    rows: int
    #: Rows without a time, or with one before 1970; and rows later than the declared delay. Both are left out.
    bad_rows: int
    late_rows: int
    #: The first time, and the last.
    first: int
    last: int
    #: How late rows come; None where a delay was declared.
    lateness: Ks | None
    keys: tuple[NearKey, ...]
    findings: tuple[Finding, ...]
    #: Columns with too many values to tell whether they come again.
    unknown: tuple[tuple[str, ...], ...]
    #: Of each column that was looked at whether it has NULL.
    nulls: Mapping[str, bool] = field(default_factory=dict)

    @property
    def not_null(self) -> tuple[str, ...]:
        """The columns without NULL, but for that of the time, without which a row is bad."""
        names = (name for name, has_null in self.nulls.items() if not has_null and name != self.definition.timestamp)
        return tuple(names) if self.rows else ()

    @property
    def span(self) -> int:
        return self.last - self.first

    @property
    def delay(self) -> int:
        """As declared; or as it was found, where every row counts."""
        if self.lateness is None:
            return self.definition.delay
        assert self.lateness.exact is not None, "a row that is too late to be put in order is an error"
        return self.lateness.exact


@dataclass(frozen=True, slots=True)
class Profile:
    streams: tuple[StreamProfile, ...]
    #: The largest k in rows that was looked for.
    most: int

    def counted_in(self, finding: Finding, stream: StreamProfile) -> StreamProfile:
        """The stream whose rows k counts: of a reference, the one referred to."""
        match finding.constraint:
            case Reference(parent=parent):
                return next(other for other in self.streams if other.definition.name == parent)
        return stream

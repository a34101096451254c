"""k-constraints speak of streams with windows and keys, of equality joins of them, and of RIDS, CA and OA.

These are the values of thesis chapter 6 and know nothing of the SQL algebra. Words are the thesis's: in a many-one join
S1 → S2 the stream S1 is the *parent* and S2, whose key is compared, the *child*. (SQL says it the other way round of a
foreign key.) Rows of all streams come in one sequence Σ, in the order of time; ties are broken in any way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.closing.join_predicates import JoinAttribute, JoinEquality


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows are counted on the stream of a window or an order, or on the stream that is waited for."""

    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"a number of rows is not negative: {self.n}")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    microseconds: int

    def __post_init__(self) -> None:
        if self.microseconds < 0:
            raise ValueError(f"a length of time is not negative: {self.microseconds}")


#: An extent is the adherence parameter k, or the size of a window.
Extent: TypeAlias = RowCount | TimeSpan


@dataclass(frozen=True, slots=True)
class Rate:
    """In any `per` microseconds at most `most` rows of a stream arrive, and at least `least`."""

    most: int | None = None
    least: int | None = None
    per: int = 1_000_000

    def __post_init__(self) -> None:
        if self.per <= 0:
            raise ValueError(f"a rate is counted over some time: {self.per}")
        if self.most is not None and self.least is not None and self.least > self.most:
            raise ValueError(f"at least {self.least} rows are more than at most {self.most}")


@dataclass(frozen=True, slots=True)
class StreamClock:
    """The attribute tells the time: a row with value v arrives at a time from v to v + delay."""

    attribute: str
    delay: int = 0


@dataclass(frozen=True, slots=True)
class ConstrainedStream:
    """An occurrence of a stream in a query.

    `filtered`: some filter predicate stands on it. `projected`: the attributes that the query gives out or needs for
    other reasons than these joins; None means all. `source`: the stream behind the name where one occurs twice, so that
    rows of both are counted by one counter.
    """

    name: str
    attributes: tuple[str, ...]
    keys: tuple[frozenset[str], ...] = ()
    window: Extent | None = None
    filtered: bool = False
    projected: frozenset[str] | None = None
    clock: StreamClock | None = None
    rate: Rate = Rate()
    source: str | None = None

    def __post_init__(self) -> None:
        named = frozenset().union(*self.keys, self.projected or (), {self.clock.attribute} if self.clock else ())
        if strangers := sorted(named - set(self.attributes)):
            raise ValueError(f"{self.name} has no attribute {strangers[0]}")
        if not all(self.keys):
            raise ValueError(f"a key of {self.name} has no attribute")

    @property
    def counted_as(self) -> str:
        return self.source or self.name


@dataclass(frozen=True, slots=True)
class Rids:
    """RIDS(k), definition 6.6.1: a row of `target` that agrees with a row of `stream` is there, or comes within k.

    k counts rows of `target`, or is a time. Nothing says that there is such a row. The thesis has RIDS only towards a
    key of `target`; here it may stand without one, and then speaks of every row that agrees.
    """

    stream: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    within: Extent

    def __post_init__(self) -> None:
        if not self.columns or len(self.columns) != len(self.target_columns):
            raise ValueError("RIDS compares as many attributes of one stream as of the other, and at least one")


@dataclass(frozen=True, slots=True)
class ClusteredArrival:
    """CA(k), definition 6.7.1: between two rows with the same values come at most k rows with others.

    As a time: two rows with the same values come at most that far apart.
    """

    stream: str
    columns: tuple[str, ...]
    within: Extent

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("a stream is clustered by some attribute")


@dataclass(frozen=True, slots=True)
class OrderedArrival:
    """OA(k), definition 6.8.1: a row that comes more than k rows, or that time, after another has no smaller value.

    On the parent of a join it is OAP(k), on the child OAC(k).
    """

    stream: str
    column: str
    within: Extent


ArrivalConstraint: TypeAlias = Rids | ClusteredArrival | OrderedArrival


class JoinOutput(Enum):
    """The query gives out insertions into the join's result, or all of its changes."""

    INSERTIONS = "insertions"
    """Only new result rows are given out, as by ISTREAM or over unbounded windows."""
    CHANGES = "changes"
    """Result rows are also deleted when a row leaves its window."""


@dataclass(frozen=True, slots=True)
class ConstrainedJoin:
    """`SELECT ... FROM streams WHERE equalities AND filters`: an n-way windowed stream join (6.2)."""

    streams: tuple[ConstrainedStream, ...]
    equalities: tuple[JoinEquality, ...] = ()
    constraints: tuple[ArrivalConstraint, ...] = ()
    output: JoinOutput = JoinOutput.CHANGES

    def __post_init__(self) -> None:
        attributes = {stream.name: set(stream.attributes) for stream in self.streams}
        if len(attributes) < len(self.streams):
            raise ValueError("two streams of a query have one name")
        for column in _columns(self):
            if column.name not in attributes.get(column.stream, ()):
                raise ValueError(f"there is no {column}")

    def stream(self, name: str) -> ConstrainedStream:
        return next(stream for stream in self.streams if stream.name == name)


def _columns(query: ConstrainedJoin) -> list[JoinAttribute]:
    columns = [side for equality in query.equalities for side in (equality.left, equality.right)]
    for constraint in query.constraints:
        match constraint:
            case Rids():
                columns += [JoinAttribute(constraint.stream, name) for name in constraint.columns]
                columns += [JoinAttribute(constraint.target, name) for name in constraint.target_columns]
            case ClusteredArrival():
                columns += [JoinAttribute(constraint.stream, name) for name in constraint.columns]
            case OrderedArrival():
                columns.append(JoinAttribute(constraint.stream, constraint.column))
    return columns

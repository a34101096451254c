"""Bucket counts: rows of streams counted apart, by bucket of time, in place of a join or an anti-join (001, section 4).

```text
  t   ──●──●─────●──┃──●────●──▶       a row of d follows its row of t within e, so the pairs whose row of t is in a
  d   ─────●──●─────┃●──────●──▶       bucket are the bucket's rows of d, but for pairs that cross its two boundaries
              bucket┃boundary
```

Of the pairs that cross a boundary only bounds are known, so a count comes with the ends of an interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, require
from penstock.algebra.relations import Relation, Schema
from penstock.types import BIGINT, BOOLEAN

#: Into so many slots a delay is cut on either side of a boundary: the counters of each.
SLOTS = 16

#: A bucket settles so many delays after its end, at most a bucket after it: prefixes that long bound from below what
#: crosses a boundary.
SETTLING_DELAYS = 4

#: A result can be marked for so many buckets after its own, at most: results of that many are kept.
MOST_MARKED = 16


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """Buckets of time, in microseconds: t is in number `(t + shift) // width`, of value `number * step + base`."""

    width: int
    shift: int = 0
    step: int = 1
    base: int = 0

    def __post_init__(self) -> None:
        require(self.width > 0 and self.shift >= 0, "a bucket has a width, and time starts in one")

    def start(self, number: int) -> int:
        """The instant at which a bucket begins.

        >>> TimeBuckets(60, shift=20).start(1)
        40
        """
        return number * self.width - self.shift


@dataclass(frozen=True, slots=True)
class Within:
    """How wide an interval may be, in millionths of a row, or of a percent of the count."""

    millionths: int
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """A stream that is counted beside that of the buckets: each of its rows follows one of that within `delay`."""

    scan: Relation
    delay: int
    #: Whether its rows take a count away, as those of an anti-join do.
    subtracts: bool
    #: The number of the counted stream each of whose rows one of this one follows; None: the bucket stream.
    above: int | None = None
    #: Whether only its rows in the window of the bucket stream count.
    in_window: bool = False


@dataclass(frozen=True, slots=True)
class BucketCounts(Relation):
    """By bucket and further keys: a count, the ends of an interval that holds the exact one, and whether it is certain.

    Inputs have the further keys as their columns. Those that do not subtract are the last ones of chains of joins, each
    row of which has its row in all others of its chain.
    """

    scan: Relation
    counted: tuple[Counted, ...]
    buckets: TimeBuckets
    #: Where the bucket stands among the keys; None where buckets are windows that slide by their own length. Of these
    #: only the last is there, and no key tells it.
    place: int | None
    keys: Schema
    results: Schema
    #: Whether a bucket shows once, when it can change no more.
    emits: bool = False
    #: What watches the assertions that it leans on: keys for which one was broken, and the earliest time of its rows.
    monitors: tuple[Relation, ...] = ()
    #: How long after a row of the bucket stream one may come that the query's conditions match with it, if assertions
    #: are broken; None: any time.
    matches_for: int | None = None
    #: How wide intervals may be: then a row says where one settled that is wider, in the last result.
    within: Within | None = None

    def __post_init__(self) -> None:
        widths = {len(each.schema) for each in (self.scan, *(each.scan for each in self.counted))}
        further = len(self.further_keys)
        require(widths == {further}, "inputs of bucket counts have its further keys")
        require(all(len(each.schema) == further + 1 for each in self.monitors), "monitors say since when")
        require(not self.slides or not (self.emits or self.within or self.buckets.shift), "a window slides on for ever")
        require(all(0 <= each.delay <= self.buckets.width for each in self.counted), "a delay is within a bucket")
        flags = [BOOLEAN] if self.within is None else [BOOLEAN, BOOLEAN]
        require([c.type for c in self.results] == [BIGINT, BIGINT, BIGINT, *flags], "a count, its ends, and BOOLEANs")

    @property
    def slides(self) -> bool:
        """Whether its buckets are windows `[RANGE w SLIDE w]`, whose ends are both in them."""
        return self.place is None

    @property
    def further_keys(self) -> Schema:
        """The keys beside the bucket."""
        return tuple(key for number, key in enumerate(self.keys) if number != self.place)

    @property
    def settles_after(self) -> int:
        """For how long after its end rows say more of a bucket."""
        longest = max((each.delay for each in self.counted), default=0)
        return min(self.buckets.width, SETTLING_DELAYS * longest)

    @property
    def final_after(self) -> int:
        """For how long after its end a bucket may be found to be broken.

        That is as long as the conditions of the query match rows, if they have a window of time. Where they have none,
        a result that is emitted once does not wait for that.
        """
        longest = MOST_MARKED * self.buckets.width
        if self.matches_for is None:
            return self.settles_after if self.emits else longest
        return max(self.settles_after, min(longest, self.matches_for))

    @property
    def ring(self) -> int:
        """How many results are kept of a group."""
        return 1 if self.slides else 2 + -(-self.final_after // self.buckets.width)

    def _schema(self) -> Schema:
        return self.keys + self.results

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.scan, *(each.scan for each in self.counted), *self.monitors)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> BucketCounts:
        (scan, *others), monitors = inputs[: len(self.counted) + 1], inputs[len(self.counted) + 1 :]
        counted = tuple(replace(each, scan=other) for each, other in zip(self.counted, others, strict=True))
        return replace(self, scan=scan, counted=counted, monitors=monitors)


@dataclass(frozen=True, slots=True)
class CertifiedGroups(Relation):
    """Groups of one stream that lean on assertions, each with whether it is certain.

    Counters of the same stream say that, and when a group shows: a group of no row shows if it is not certain.
    """

    groups: Relation
    counts: Relation
    #: The number of keys, which both have first, and in the groups those columns behind them that are 0 of no row.
    keys: int
    zeros: tuple[bool, ...]
    certain: Column
    #: Where the bucket stands among the keys, and how long after its end it changes no more; None: a window's groups.
    place: int | None
    buckets: TimeBuckets
    final_after: int
    emits: bool = False

    def __post_init__(self) -> None:
        require(len(self.zeros) == len(self.groups.schema) - self.keys, "a group of no row has a value in each column")

    def _schema(self) -> Schema:
        return (*self.groups.schema, self.certain)

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.groups, self.counts

    def with_inputs(self, inputs: tuple[Relation, ...]) -> CertifiedGroups:
        groups, counts = inputs
        return replace(self, groups=groups, counts=counts)


@dataclass(frozen=True, slots=True)
class FallBack(Relation):
    """Counters as long as their intervals are narrow enough; an exact count from the bucket after a wider one on.

    Rows of the exact count's streams begin there, so that it costs nothing before, and gives only these buckets.
    """

    counts: Relation
    #: The keys of the counters, and the count.
    exact: Relation
    buckets: TimeBuckets
    place: int
    results: Schema
    #: If buckets show once, how long after its end one does.
    emits_after: int | None = None

    def __post_init__(self) -> None:
        require(len(self.exact.schema) == len(self.counts.schema) - 4, "the exact count has the keys of the counters")

    def _schema(self) -> Schema:
        return self.counts.schema[: len(self.exact.schema) - 1] + self.results

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.counts, self.exact

    def with_inputs(self, inputs: tuple[Relation, ...]) -> FallBack:
        counts, exact = inputs
        return replace(self, counts=counts, exact=exact)

    def first_exact(self, at: int) -> int:
        """The number of the first bucket that is counted exactly, if an interval is found to be wide at an instant."""
        return (at + self.buckets.shift) // self.buckets.width + 1


@dataclass(frozen=True, slots=True)
class FallenBack(Relation):
    """A fall-back in a fragment: what says that an interval was wide goes to each cell of it."""

    node: FallBack
    counts: Relation
    exact: Relation
    wide: Relation

    def _schema(self) -> Schema:
        return self.node.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.counts, self.exact, self.wide

    def with_inputs(self, inputs: tuple[Relation, ...]) -> FallenBack:
        counts, exact, wide = inputs
        return replace(self, counts=counts, exact=exact, wide=wide)


#: The name of the column that says that an interval was wide.
WIDE = "_wide"


def result_columns(scope: str) -> Schema:
    """The columns of a count, of the ends of its interval, and of whether that is certain."""
    ends = [Column(scope, name, BIGINT) for name in ("_count", "_low", "_high")]
    return (*ends, Column(scope, "_certain", BOOLEAN))

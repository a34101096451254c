"""The theory gives a query synopses and their sizes, or says why there are none and what defeats any plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from penstock.register.arithmetic.query import ComparedAttribute, ConstantValue, QueryCondition


class BoundSide(Enum):
    """A constant bounds an attribute from above or from below."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True, order=True)
class BoxEdge:
    """A box ends here; `strict` if the end does not belong to it, which never holds of integers."""

    value: Fraction
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Corner:
    """A row joins a box of rows. One side of the box is the tightest limit that it sets to another stream's attribute.

    `side` BELOW: `of` is at least the greatest of `attribute + edge`, and of `limit`. ABOVE: at most the least of them.
    """

    of: ComparedAttribute
    side: BoundSide
    terms: tuple[tuple[ComparedAttribute, BoxEdge], ...]
    #: What the constants say of `of`, if anything: beyond it the row's own values make no difference.
    limit: BoxEdge | None


@dataclass(frozen=True, slots=True)
class BoxHole:
    """Another stream's attribute must not be `attribute + shift`, if that lies from `low` to `high`."""

    of: ComparedAttribute
    attribute: ComparedAttribute
    shift: Fraction
    low: BoxEdge | None
    high: BoxEdge | None


class Kept(Enum):
    """A synopsis keeps one of these per group of rows with equal `values`."""

    #: Nothing: a filter.
    NOTHING = "nothing"
    #: One row and a count per box.
    COUNTERS = "counters"
    #: The rows whose boxes are not covered by the boxes of the others.
    SKYLINE = "skyline"


@dataclass(frozen=True, slots=True)
class Synopsis:
    """A plan must keep this of one stream; it takes at most `size` entries, whatever arrives."""

    stream: str
    #: What rows must satisfy to be kept at all: the query's filters, and what joins imply of the stream by itself.
    filters: tuple[QueryCondition, ...]
    kept: Kept
    #: Attributes whose values are kept.
    values: tuple[ComparedAttribute, ...]
    #: The sides of the box.
    corners: tuple[Corner, ...]
    #: What `<>` leaves out of the box.
    holes: tuple[BoxHole, ...]
    size: int


@dataclass(frozen=True, slots=True)
class BoundedMemory:
    """The query runs in constant memory, with these synopses."""

    synopses: tuple[Synopsis, ...]
    #: No row can satisfy the conditions, so nothing is ever kept or answered.
    contradiction: bool = False
    #: Occurrences of a self-join that say nothing new, each with the one that stands for it (appendix C).
    folded: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """All synopses together have so many entries."""
        return sum(synopsis.size for synopsis in self.synopses)


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """A bound that would help. A dense attribute needs to be equal to a constant: it misses both sides."""

    attribute: ComparedAttribute
    side: BoundSide


class Reason(Enum):
    """One of the conditions of theorems 4.2 and 5.2 fails."""

    #: C1: a projected attribute takes infinitely many values.
    PROJECTED = "projected"
    #: C2, and C3 with duplicates: a join reads infinitely many values of an attribute.
    JOINED = "joined"
    #: C3 without duplicates: two comparisons of one stream pull in two directions, so that no row covers the others.
    ENTANGLED = "entangled"
    #: A join condition of which nothing is known reads infinitely many values of an attribute.
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Failure:
    """Memory has no bound: rows of `stream` must be kept because of these conditions and missing bounds."""

    reason: Reason
    stream: str
    #: PROJECTED: none. JOINED and OPAQUE: the join. ENTANGLED: the two comparisons.
    conditions: tuple[QueryCondition, ...]
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """A row of a (base) stream has a value for each attribute that the query mentions."""

    stream: str
    values: Mapping[str, ConstantValue]


@dataclass(frozen=True, slots=True)
class Family:
    """A family is N rows of one stream. After each of their 2^N subsets, any plan must be in a state of its own."""

    items: tuple[FamilyRow, ...]
    #: Given two sets of items, by index, rows that lead to new answers after one set but not after the other.
    separating: Callable[[frozenset[int], frozenset[int]], tuple[FamilyRow, ...]]


@dataclass(frozen=True, slots=True)
class LinearMemoryWitness:
    """Families of any size defeat every plan."""

    #: The (base) stream whose rows no plan may forget.
    stream: str
    family: Callable[[int], Family]


@dataclass(frozen=True, slots=True)
class UnboundedMemory:
    """No bound was found. A witness proves that there is none; self-joins and opaque conditions may lack one."""

    failure: Failure
    witness: LinearMemoryWitness | None

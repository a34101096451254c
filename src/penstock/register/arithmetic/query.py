"""The theory of bounded memory speaks of queries that are a conjunction of comparisons over unbounded streams.

Select-project-join queries of Arasu, Babcock, Babu, McAlister and Widom, *Characterizing Memory Requirements for
Queries over Continuous Data Streams*, section 2.2, with `<=`, `<>` and differences (`S.a <= T.b + 5`) added. Nothing
here knows of SQL.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias


class Domain(Enum):
    """An attribute has values of one of these kinds, as far as comparisons can tell."""

    #: Between two values lie finitely many others: integers, timestamps in microseconds, dates in days, and decimals,
    #: whose `scale` says how many digits stand after the point.
    INTEGER = "integer"
    #: Between two values lie infinitely many others: doubles.
    DENSE = "dense"
    #: Infinitely many values that are only equal or not: strings, binaries. (A boolean is an integer from 0 to 1.)
    OTHER = "other"


@dataclass(frozen=True, slots=True, order=True)
class ComparedAttribute:
    """An occurrence of a stream has this attribute."""

    stream: str
    name: str
    domain: Domain = Domain.INTEGER
    scale: int = 0

    def __post_init__(self) -> None:
        if self.scale < 0 or (self.scale and self.domain is not Domain.INTEGER):
            raise ValueError(f"{self} cannot have scale {self.scale}")

    def __str__(self) -> str:
        return f"{self.stream}.{self.name}"


class Op(Enum):
    """These are all comparisons; `>` and `>=` are two of them with their sides exchanged."""

    LT = "<"
    LE = "<="
    EQ = "="
    NE = "<>"


#: A constant: a number for an attribute that has an order, anything for one that has none.
ConstantValue: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right + offset`, where at least one side is an attribute.

    >>> a, b = ComparedAttribute("S", "a"), ComparedAttribute("T", "b")
    >>> print(Comparison(a, Op.LE, b, 5))
    S.a <= T.b + 5
    """

    left: ComparedAttribute | ConstantValue
    op: Op
    right: ComparedAttribute | ConstantValue
    offset: int | Fraction = 0

    def __post_init__(self) -> None:
        attributes = self.attributes
        if not attributes:
            raise ValueError(f"{self} compares constants")
        if len({attribute.domain for attribute in attributes}) > 1:
            raise ValueError(f"{self} compares attributes of two domains; say Opaque")
        if attributes[0].domain is Domain.OTHER and (self.offset or self.op in (Op.LT, Op.LE)):
            raise ValueError(f"{self} orders values that have no order; say Opaque")

    @property
    def attributes(self) -> tuple[ComparedAttribute, ...]:
        return tuple(side for side in (self.left, self.right) if isinstance(side, ComparedAttribute))

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(attribute.stream for attribute in self.attributes)

    def __str__(self) -> str:
        shift = f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else ""
        return f"{self.left} {self.op.value} {self.right}{shift}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition on some attributes of which nothing is known, such as `S.a * T.b = 7` or an order of strings.

    A bounded verdict is right whatever it says; an unbounded one that rests on it is not proved.
    """

    attributes: frozenset[ComparedAttribute]

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(attribute.stream for attribute in self.attributes)

    def __str__(self) -> str:
        return f"a condition on {', '.join(map(str, sorted(self.attributes)))}"


QueryCondition: TypeAlias = Comparison | Opaque


@dataclass(frozen=True, slots=True)
class StreamOccurrence:
    """An occurrence has a name of its own, and that of the stream, which may occur more than once (a self-join)."""

    name: str
    base: str


@dataclass(frozen=True, slots=True)
class ConjunctiveQuery:
    """`SELECT [DISTINCT] projected FROM streams WHERE conditions`, every stream over all its rows so far."""

    streams: tuple[StreamOccurrence, ...]
    conditions: tuple[QueryCondition, ...]
    projected: tuple[ComparedAttribute, ...]
    distinct: bool

    def __post_init__(self) -> None:
        names = [stream.name for stream in self.streams]
        if len(set(names)) < len(names):
            raise ValueError("two occurrences have one name")
        known: dict[tuple[str, str], ComparedAttribute] = {}
        for attribute in self.mentioned():
            if attribute.stream not in names:
                raise ValueError(f"{attribute} is of no stream of the query")
            if known.setdefault((attribute.stream, attribute.name), attribute) != attribute:
                raise ValueError(f"{attribute} has two domains")

    @staticmethod
    def over(
        streams: Iterable[str],
        conditions: Iterable[QueryCondition],
        projected: Iterable[ComparedAttribute],
        distinct: bool,
    ) -> ConjunctiveQuery:
        """Build a query in which no stream occurs twice."""
        return ConjunctiveQuery(
            tuple(StreamOccurrence(name, name) for name in streams), tuple(conditions), tuple(projected), distinct
        )

    def mentioned(self) -> Iterable[ComparedAttribute]:
        for condition in self.conditions:
            yield from condition.attributes
        yield from self.projected

    @property
    def attributes(self) -> tuple[ComparedAttribute, ...]:
        """The query mentions these attributes. Every occurrence of a stream has all that any of them has."""
        bases = {stream.name: stream.base for stream in self.streams}
        kinds = {(bases[a.stream], a.name): (a.domain, a.scale) for a in self.mentioned()}
        return tuple(
            ComparedAttribute(stream.name, name, *kind)
            for stream in self.streams
            for (base, name), kind in sorted(kinds.items(), key=lambda item: item[0])
            if base == stream.base
        )

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(condition for condition in self.conditions if isinstance(condition, Comparison))

    @property
    def joins_itself(self) -> bool:
        return len({stream.base for stream in self.streams}) < len(self.streams)

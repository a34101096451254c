"""A continuous join query as the theory sees it: streams, equalities, differences (004, section 2).

The paper's CJQ(S, P), with the differences between order attributes that windows and time ranges give. It knows
nothing of SQL: a predicate that is none of these is left out, which can only make a state look larger than it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute, JoinEquality


@dataclass(frozen=True, slots=True)
class PunctuatedStream:
    """A stream is an input of the join, with the attributes that predicates or schemes mention (more do no harm)."""

    name: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JoinDifference:
    """`left - right <= bound` over integers, such as times in microseconds; None stands for 0.

    `a.ts BETWEEN b.ts - x AND b.ts + y` is two of them. A window [RANGE w] on a is one for each other stream b:
    `b.ts - a.ts <= w`, since both rows have to be there at one instant.
    """

    left: JoinAttribute | None
    right: JoinAttribute | None
    bound: int

    def __str__(self) -> str:
        left, right = self.left or "0", self.right or "0"
        return f"{left} - {right} <= {self.bound}"


@dataclass(frozen=True, slots=True)
class FiniteAttribute:
    """The attribute has one of these values in every row that matters: `kind = 'bid'`, `kind IN (...)`.

    A range of integers is better said by two differences with 0.
    """

    attribute: JoinAttribute
    values: frozenset[Hashable]

    def __str__(self) -> str:
        return f"{self.attribute} in {{{', '.join(sorted(map(repr, self.values)))}}}"


@dataclass(frozen=True, slots=True)
class PunctuatedJoin:
    """The query joins some streams on a conjunction of predicates."""

    streams: tuple[PunctuatedStream, ...]
    equalities: tuple[JoinEquality, ...] = ()
    differences: tuple[JoinDifference, ...] = ()
    finite: tuple[FiniteAttribute, ...] = ()

    def __post_init__(self) -> None:
        names = [stream.name for stream in self.streams]
        if len(set(names)) != len(names):
            raise ValueError(f"two streams of one name among {', '.join(names)}")
        known = {JoinAttribute(stream.name, name) for stream in self.streams for name in stream.attributes}
        for predicate in self.predicates:
            if unknown := [at for at in attributes_of(predicate) if at not in known]:
                raise ValueError(f"{predicate}: the query has no attribute {unknown[0]}")

    @property
    def predicates(self) -> tuple[JoinEquality | JoinDifference | FiniteAttribute, ...]:
        return (*self.equalities, *self.differences, *self.finite)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self.streams)


def attributes_of(predicate: JoinEquality | JoinDifference | FiniteAttribute) -> tuple[JoinAttribute, ...]:
    match predicate:
        case JoinEquality(left, right):
            return (left, right)
        case JoinDifference(left, right):
            return tuple(at for at in (left, right) if at is not None)
        case FiniteAttribute(attribute):
            return (attribute,)

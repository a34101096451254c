"""A piece of state: which operator holds it, how large it may get, why, and on whose word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from penstock.algebra.copies import written
from penstock.algebra.expressions import Column
from penstock.closing.bounds import Bound
from penstock.closing.proof import Proof


class Theory(Enum):
    """Who says how large a piece of state may get."""

    WINDOWS = "windows"
    ARITHMETIC = "bounded memory"
    PUNCTUATION = "punctuations"
    K_CONSTRAINTS = "k-constraints"


#: All that is known. Who runs a query elsewhere leaves out what is not used there.
ALL_THEORIES = frozenset(Theory)


class StatefulOperator(Enum):
    """The operators that hold state."""

    WINDOW = "window"
    JOIN = "join"
    SEMI_JOIN = "semi-join"
    ANTI_JOIN = "anti-join"
    GROUP_BY = "group by"
    AGGREGATE_VALUES = "aggregate"
    DISTINCT = "distinct"
    SET_OPERATION = "set operation"
    RSTREAM = "rstream"
    #: What cannot be told apart because there was no answer.
    QUERY = "query"


#: One way in which a piece of state is bounded: how large it gets, why, and which theory says so.
TheoryBound: TypeAlias = tuple[Bound, Proof, Theory]


@dataclass(frozen=True, slots=True)
class State:
    """What one operator holds, of one occurrence of a stream or of what is computed below it."""

    operator: StatefulOperator
    #: The occurrence, or None where the rows are computed.
    stream: str | None
    bound: Bound
    by: Theory
    proof: Proof
    #: What a message points at: the scope of an occurrence, a grouping or a subquery.
    scope: str
    #: The columns whose values pile up, where it is unbounded.
    columns: tuple[Column, ...] = ()
    #: The declarations of the bound of which no run sees anything: it is safe by declaration only, and will grow.
    unseen: tuple[str, ...] = ()
    #: The declarations whose violations are rejected, though no punctuations say so.
    guarded: tuple[str, ...] = ()
    #: Keys such that entries in which they are NULL stay until a punctuation with NULL arrives, by sets of keys.
    awaiting_null: tuple[tuple[str, ...], ...] = ()
    #: Whether a theory bounds it where it is unbounded: another plan would do, and there is no witness.
    is_shortfall: bool = False
    #: Whether there is no plan for what is unbounded, be it allowed or not.
    has_no_plan: bool = False

    def as_written(self) -> State:
        """The same in the user's words, in which copies of an occurrence are the occurrence."""
        stream = None if self.stream is None else written(self.stream)
        columns = tuple(replace(column, scope=written(column.scope)) for column in self.columns)
        bound, proof = _bound(self.bound), _proof(self.proof)
        nulls = tuple(tuple(map(written, keys)) for keys in self.awaiting_null)
        own = replace(self, stream=stream, bound=bound, proof=proof, columns=columns, awaiting_null=nulls)
        return replace(own, scope=written(self.scope))

    @property
    def is_safe(self) -> bool:
        return self.bound.is_safe

    @property
    def because(self) -> str:
        return self.proof.claim

    @property
    def leans_on(self) -> tuple[str, ...]:
        return self.proof.declarations


def _bound(bound: Bound) -> Bound:
    return replace(bound, words=written(bound.words), terms=tuple(map(_bound, bound.terms)))


def _proof(proof: Proof) -> Proof:
    return replace(proof, claim=written(proof.claim), parts=tuple(map(_proof, proof.parts)))

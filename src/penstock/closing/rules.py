"""The rules by which a join drops rows, and the retention that they make up. `purging` derives them.

A rule says when no more row of its *target*, one of the join's inputs, joins what is there. Rules name inputs, evidence
and the join's variables by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Relation
from penstock.closing.monitors import Monitor


@dataclass(frozen=True, slots=True)
class Estimate:
    """A k that a monitor, of this number among the join's, finds while the query runs."""

    monitor: int


#: Of a constraint: as it was declared, or as it is found.
K = int | Estimate


@dataclass(frozen=True, slots=True)
class Static:
    """The target is a table: all its rows are there."""

    target: int


@dataclass(frozen=True, slots=True)
class InTime:
    """A row of the target that joins a row of the source comes at most `reach` later."""

    target: int
    source: int
    reach: K


@dataclass(frozen=True, slots=True)
class AfterRows:
    """RIDS(k): it is one of the next k rows of the target's stream, which `ticks` count."""

    target: int
    source: int
    k: K
    ticks: int


@dataclass(frozen=True, slots=True)
class ReferredRow:
    """RIDS(k) of a punctuation: the one row of the target with its values is one of the next k, or comes in time."""

    target: int
    k: int
    ticks: int | None


@dataclass(frozen=True, slots=True)
class ByPunctuation:
    """After a punctuation, one of the rows of `evidence`, its values do not come again."""

    target: int
    variables: tuple[int, ...]
    evidence: int
    #: The declaration, if a row that it had ruled out stops the run.
    stops: str | None = None
    #: What a punctuation refers to that is a row of the target's own stream: later nobody asks for it.
    referred: tuple[ReferredRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ByLifespan:
    """A punctuation with a lifespan: its values do not come again until that is over.

    So it ends the wait of a row that leaves its window before then.
    """

    target: int
    variables: tuple[int, ...]
    evidence: int
    lifespan: int


@dataclass(frozen=True, slots=True)
class ByKey:
    """UNIQUE: where the row with the values is there, no other comes."""

    target: int
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByNo:
    """UNIQUE: the row with the values has come and can be in no result, so nobody need wait for it (thesis 6.3).

    The target's No component, of which only the keys are kept: those of rows that are forgotten, and of rows that fail
    the target's filter, which `evidence` has. Keys are kept until the inputs of `awaited` bring no more rows that ask
    for them; if there are none, for a moment only: all others are told by RIDS or order (6.6.1, 6.8.5).
    """

    target: int
    variables: tuple[int, ...]
    evidence: int | None
    awaited: tuple[int, ...]
    #: By RIDS all others are told, but late; and CA says when they stop asking. So keys may be kept for them as well.
    late: tuple[AfterRows, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether keys may be kept for longer than a moment."""
        return bool(self.awaited or self.late)


@dataclass(frozen=True, slots=True)
class ByCluster:
    """CA(k): values that have come, and since then more than k others, do not come again.

    `evidence` has all rows of the stream, for which no filter counts; `ticks` count them. Without, k is a time.
    """

    target: int
    variables: tuple[int, ...]
    evidence: int
    k: K
    ticks: int | None


@dataclass(frozen=True, slots=True)
class ByOrder:
    """OA(k): no value comes that is smaller than one of a row that is more than k rows old; without `ticks`, a time."""

    target: int
    variables: tuple[int, ...]
    evidence: int
    k: K
    ticks: int | None


#: Rules that speak of values, and read evidence that has them.
OfValues = ByPunctuation | ByLifespan | ByNo | ByCluster | ByOrder
Rule = Static | InTime | AfterRows | ByPunctuation | ByLifespan | ByKey | ByNo | ByCluster | ByOrder


def k_of(rule: Rule) -> K | None:
    """The k of a rule that has one."""
    match rule:
        case InTime(reach=k) | AfterRows(k=k) | ByCluster(k=k) | ByOrder(k=k):
            return k
    return None


@dataclass(frozen=True, slots=True)
class JoinRetention:
    """How long a join keeps the rows of its inputs.

    A row of an input in `forgets` is dropped as soon as the rules say that it joins nothing new.
    """

    rules: tuple[Rule, ...]
    #: What the rules read besides the join's own inputs, such as punctuations.
    evidence: tuple[Relation, ...]
    forgets: tuple[int, ...]
    monitors: tuple[Monitor, ...] = ()
    #: The rules that lean on a k, if rows that are dropped by them alone are spilled (thesis 6.1.6).
    probable: tuple[Rule, ...] = ()

    def evidence_along(self, number: int, variables: Iterable[int]) -> list[Expr | None]:
        """The columns by which evidence is partitioned along these variables.

        Evidence that lacks a variable goes to all cells along it, and so does evidence that several rules read in
        different ways.
        """
        readers = [rule for rule in self.rules if isinstance(rule, OfValues) and rule.evidence == number]
        ways = {rule.variables for rule in readers}
        held = dict(zip(ways.pop(), self.evidence[number].schema, strict=True)) if len(ways) == 1 else {}
        return [held.get(variable) for variable in variables]

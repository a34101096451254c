"""The closers by which a join purges, as a run reads them, and the retention that they make. `closers/` derives them.

A rule says when no more row of its *target*, one of the join's inputs, joins what is there. Rules name inputs, evidence
and the join's variables by their numbers. What chaining asks of a rule (`chaining.py`) is the same for all kinds:

| attribute   | meaning                                                                                     |
| ----------- | ------------------------------------------------------------------------------------------- |
| `target`    | the input that it closes                                                                    |
| `sources`   | the inputs of which a row has to be bound                                                   |
| `variables` | those whose values have to be known                                                         |
| `is_sure`   | whether it needs no row of the target: a key closes an input once its row came, if it does  |
| `always`    | whether it applies in the end to each row, and not just to some                             |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Relation
from penstock.closing.monitors import Monitor
from penstock.closing.retention import Retention


@dataclass(frozen=True, slots=True)
class Estimate:
    """A k that a monitor, of this number among the join's, finds while the query runs."""

    monitor: int


#: Of a constraint: as it was declared, or as it is found.
K = int | Estimate


class _Closer:
    """What chaining asks of a rule, where it is as with most."""

    __slots__ = ()

    is_sure: ClassVar[bool] = True
    always: ClassVar[bool] = True

    @property
    def sources(self) -> tuple[int, ...]:
        return ()


class _OfRows(_Closer):
    """A rule that goes by a row of its source, whatever its values."""

    __slots__ = ()

    source: int

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.source,)

    @property
    def variables(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Static(_Closer):
    """The target is a table: all its rows are there."""

    target: int

    @property
    def variables(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class InTime(_OfRows):
    """A row of the target that joins a row of the source comes at most `reach` later."""

    target: int
    source: int
    reach: K


@dataclass(frozen=True, slots=True)
class AfterRows(_OfRows):
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
class ByPunctuation(_Closer):
    """After a punctuation, one of the rows of `evidence`, its values do not come again."""

    target: int
    variables: tuple[int, ...]
    evidence: int
    #: The declaration, if a row that it rejects stops the run.
    stops: str | None = None
    #: What a punctuation refers to that is a row of the target's own stream: later no row asks for it.
    referred: tuple[ReferredRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ByDeclaration(_Closer):
    """A punctuation of a scheme that does not say where its punctuations come from: no run ever sees one."""

    target: int
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByLifespan(_Closer):
    """A punctuation with a lifespan: its values do not come again until that is over.

    So it ends the wait of a row that leaves its window before then.
    """

    always: ClassVar[bool] = False

    target: int
    variables: tuple[int, ...]
    evidence: int
    lifespan: int


@dataclass(frozen=True, slots=True)
class ByKey(_Closer):
    """UNIQUE: where the row with the values is there, no other comes."""

    is_sure: ClassVar[bool] = False

    target: int
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByNo(_Closer):
    """UNIQUE: the row with the values has come and can be in no result, so no row need wait for it (thesis 6.3).

    The target's No component, of which only the keys are kept: those of rows that are forgotten, and of rows that fail
    the target's filter, which `evidence` has. Keys are kept until the inputs of `awaited` bring no more rows that ask
    for them; if there are none, for a moment only: of all others RIDS or order says enough (6.6.1, 6.8.5).
    """

    always: ClassVar[bool] = False

    target: int
    variables: tuple[int, ...]
    evidence: int | None
    awaited: tuple[int, ...]
    #: RIDS says enough of all others, but late, and CA when they stop asking. So keys may be kept for them as well.
    late: tuple[AfterRows, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether keys may be kept for longer than a moment."""
        return bool(self.awaited or self.late)


@dataclass(frozen=True, slots=True)
class ByCluster(_Closer):
    """CA(k): values that have come, and since then more than k others, do not come again.

    `evidence` has all rows of the stream, for which no filter counts; `ticks` count them. Without, k is a time.
    """

    is_sure: ClassVar[bool] = False

    target: int
    variables: tuple[int, ...]
    evidence: int
    k: K
    ticks: int | None


@dataclass(frozen=True, slots=True)
class ByOrder(_Closer):
    """OA(k): no value comes that is smaller than one of a row that is more than k rows old; without `ticks`, a time."""

    target: int
    variables: tuple[int, ...]
    evidence: int
    k: K
    ticks: int | None


#: Rules that speak of values, and read evidence that has them.
OfValues = ByPunctuation | ByLifespan | ByNo | ByCluster | ByOrder
#: Those that a run can execute.
Rule = Static | InTime | AfterRows | ByPunctuation | ByLifespan | ByKey | ByNo | ByCluster | ByOrder
#: All that close an input, whether a run can execute it or not.
Closer = Rule | ByDeclaration


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
    #: Of each input what is kept, and until what.
    retentions: tuple[Retention, ...] = ()
    #: What windows and the query say about times, whatever is declared: rows that are farther apart do not join.
    times: tuple[InTime, ...] = ()
    #: Of each rule until what a row waits that waits for it, in the words of its step of a chain.
    until: tuple[str, ...] = ()

    def evidence_along(self, number: int, variables: Iterable[int]) -> list[Expr | None]:
        """The columns by which evidence is partitioned along these variables. All its readers read it alike.

        Evidence that lacks a variable goes to all cells along it.
        """
        readers = (rule for rule in self.rules if isinstance(rule, OfValues) and rule.evidence == number)
        reader = next(readers, None)
        held = {} if reader is None else dict(zip(reader.variables, self.evidence[number].schema, strict=True))
        return [held.get(variable) for variable in variables]

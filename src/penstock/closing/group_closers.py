"""What closes groups, and grouping with its ends. How they are found is in `ending`.

A group has ended when each input of what is grouped is closed for its keys: no more row of the input comes that is of
the group. A *closer* says when an input is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Distinct, Relation, Schema, SetOp
from penstock.types import TimeUnit


@dataclass(frozen=True, slots=True)
class GroupInTime:
    """With the last instant that has the key's value; the key never falls as time goes on."""

    key: int
    expr: Expr
    timestamp: Column
    unit: TimeUnit = TimeUnit.MICROSECONDS


@dataclass(frozen=True, slots=True)
class AfterPunctuation:
    """With a punctuation, a row of `evidence`, of these keys; or so much later, if it is one of another input.

    Then it refers to what comes of this one. NULLs are equal here: a punctuation with NULL closes the group of NULL.
    """

    keys: tuple[int, ...]
    evidence: int
    reach: int = 0
    #: Those of the keys in which no punctuation can have NULL.
    never_null: frozenset[int] = frozenset()

    @property
    def told(self) -> AfterPunctuation:
        """The end by the same punctuations that is there at once."""
        return replace(self, reach=0, never_null=frozenset())


@dataclass(frozen=True, slots=True)
class AfterInput:
    """So much later than another input: what joins a row of that one comes no later."""

    source: int
    reach: int


@dataclass(frozen=True, slots=True)
class WithFirstRow:
    """With the group's first row: the input has just one that is of the group, by UNIQUE, for which NULLs are equal."""


@dataclass(frozen=True, slots=True)
class NeverNull:
    """From the beginning, for groups with NULL in one of these keys: no row of the input has NULL there."""

    keys: frozenset[int]


GroupCloser = GroupInTime | AfterPunctuation | AfterInput | WithFirstRow | NeverNull


@dataclass(frozen=True, slots=True)
class AfterJoin:
    """Keys for which the join below gives no more results, as one of its rules by punctuations tells."""

    keys: tuple[int, ...]
    rule: int


@dataclass(frozen=True, slots=True)
class GroupEnding(Relation):
    """GROUP BY, DISTINCT or a set operation, whose groups or rows end, or the values that its aggregates keep."""

    input: Aggregate | Distinct | SetOp
    #: For each stream of what is grouped what closes it, any of them. Without any, only the join below tells, if any.
    closers: tuple[tuple[GroupCloser, ...], ...]
    after_join: tuple[AfterJoin, ...]
    evidence: tuple[Scan, ...]
    #: Whether groups show when they close, and not before.
    emits: bool = False
    values: tuple[EndingValues, ...] = ()

    def _schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input, *self.evidence, *(scan for values in self.values for scan in values.groups.evidence))

    def with_inputs(self, inputs: tuple[Relation, ...]) -> GroupEnding:
        grouping, scans = inputs[0], [scan for scan in inputs[1:] if isinstance(scan, Scan)]
        assert isinstance(grouping, Aggregate | Distinct | SetOp)
        evidence, values = tuple(scans[: len(self.evidence)]), []
        del scans[: len(evidence)]
        for each in self.values:
            own = tuple(scans[: len(each.groups.evidence)])
            del scans[: len(own)]
            groups = each.groups.input.with_inputs(grouping.inputs)
            values.append(replace(each, groups=each.groups.with_inputs((groups, *own))))
        return replace(self, input=grouping, evidence=evidence, values=tuple(values))

    @property
    def closes_groups(self) -> bool:
        return bool(self.closers or self.after_join)

    def all_closers(self) -> Iterator[GroupCloser]:
        return (closer for own in self.closers for closer in own)


@dataclass(frozen=True, slots=True)
class EndingValues:
    """The values of a DISTINCT aggregate end, as groups by the keys and the value do: then it is enough to count them.

    `groups` is never run; it says what closes such a group.
    """

    aggregation: int
    groups: GroupEnding

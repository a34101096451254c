"""The ends of groups, and grouping with its ends. How they are found is in `ending`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.relations import Aggregate, Distinct, Relation, Schema
from penstock.plan.physical import Scan


@dataclass(frozen=True, slots=True)
class InTime:
    """A key that never falls as time goes on: what is below its value at the watermark is over."""

    key: int
    expr: Expr
    timestamp: Column


@dataclass(frozen=True, slots=True)
class AfterPunctuation:
    """Keys of which a punctuation, a row of `evidence`, says that they do not come again."""

    keys: tuple[int, ...]
    evidence: int


@dataclass(frozen=True, slots=True)
class AfterJoin:
    """Keys for which the join below gives no more results, as one of its rules by punctuations tells."""

    keys: tuple[int, ...]
    rule: int


End = InTime | AfterPunctuation | AfterJoin


@dataclass(frozen=True, slots=True)
class Ending(Relation):
    """GROUP BY, or DISTINCT, whose groups end."""

    input: Aggregate | Distinct
    ends: tuple[End, ...]
    evidence: tuple[Scan, ...]

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input, *self.evidence)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Ending:
        grouping, evidence = inputs[0], tuple(scan for scan in inputs[1:] if isinstance(scan, Scan))
        assert isinstance(grouping, Aggregate | Distinct)
        return replace(self, input=grouping, evidence=evidence)

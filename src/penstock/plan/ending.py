"""Groups that end: from some time on, or after a punctuation, no more row has their keys. Then nothing of them is kept.

What they showed stays in the result, since nothing will change it. The register asks the same of any relation
(`register/closing.py`); here it is answered for GROUP BY and DISTINCT over all rows of one stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.relations import Aggregate, Distinct, Relation, Schema, Stream, Unbounded, rewrite_relation
from penstock.catalog import Catalog, Punctuated, StreamDef
from penstock.plan.evidence import values_of
from penstock.plan.physical import Scan
from penstock.register.closing import never_falls


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


End = InTime | AfterPunctuation


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


def with_endings(relation: Relation, catalog: Catalog) -> Relation:
    """The physical relation with groups that end, where something says so."""
    return rewrite_relation(relation, lambda node: _ending(node, catalog))


def _ending(node: Relation, catalog: Catalog) -> Relation:
    match node:
        case Aggregate(Scan(spec=Unbounded()) as scan, keys, aggregations) if not any(a.distinct for a in aggregations):
            exprs = tuple(key.expr for key in keys)
        case Distinct(Scan(spec=Unbounded()) as scan):
            exprs = scan.schema
        case _:
            return node
    inside = {output.column: output.expr for output in scan.outputs}
    evidence: list[Scan] = []
    ends = tuple(_ends(scan.stream, tuple(substitute(expr, inside) for expr in exprs), catalog, evidence))
    assert isinstance(node, Aggregate | Distinct)
    return Ending(node, ends, tuple(evidence)) if ends else node


def _ends(stream: Stream, keys: tuple[Expr, ...], catalog: Catalog, evidence: list[Scan]) -> Iterator[End]:
    for number, key in enumerate(keys):
        if columns(key) == {stream.timestamp} and never_falls(key):
            yield InTime(number, key, stream.timestamp)
    definition = catalog.get(stream.name)
    assert isinstance(definition, StreamDef)
    for scheme in definition.constraints:
        if isinstance(scheme, Punctuated) and scheme.lifespan is None:
            named = {column.name.lower(): column for column in stream.schema}
            own = [named[name.lower()] for name in scheme.columns]
            punctuations = values_of(definition, scheme, catalog)
            if punctuations is not None and all(column in keys for column in own):
                evidence.append(punctuations)
                yield AfterPunctuation(tuple(keys.index(column) for column in own), len(evidence) - 1)

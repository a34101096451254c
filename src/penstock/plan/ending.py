"""Groups that end: from some time on, or after a punctuation, no more row has their keys. Then nothing of them is kept.

What they showed stays in the result, since nothing will change it. The register asks the same of any relation
(`register/closing.py`); here it is answered for GROUP BY and DISTINCT over all rows of one stream, and for GROUP BY
over a join that forgets: it knows for which values it gives no more results.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.expressions import Expr, columns, substitute
from penstock.algebra.relations import Aggregate, Distinct, Relation, Unbounded, rewrite_relation
from penstock.catalog import Catalog, Punctuated, StreamDef
from penstock.plan.ends import AfterJoin, AfterPunctuation, End, Ending, InTime
from penstock.plan.evidence import values_of
from penstock.plan.joins import is_monotone, join_variables
from penstock.plan.physical import Scan
from penstock.plan.rules import ByPunctuation, PurgingJoin
from penstock.register.closing import never_falls


def with_endings(relation: Relation, catalog: Catalog) -> Relation:
    """The physical relation with groups that end, where something says so."""
    return rewrite_relation(relation, lambda node: _ending(node, catalog))


def _ending(node: Relation, catalog: Catalog) -> Relation:
    evidence: list[Scan] = []
    if isinstance(node, Aggregate) and any(a.distinct for a in node.aggregations):
        return node  # the values of sets are kept apart from their groups
    match node:
        case Aggregate(PurgingJoin() as join, keys) if is_monotone(join):
            ends: tuple[End, ...] = tuple(_ends_of_join(join, tuple(key.expr for key in keys)))
        case Aggregate(Scan(spec=Unbounded()) as scan, keys):
            ends = tuple(_ends(scan, tuple(key.expr for key in keys), catalog, evidence))
        case Distinct(Scan(spec=Unbounded()) as scan):
            ends = tuple(_ends(scan, scan.schema, catalog, evidence))
        case _:
            return node
    return Ending(node, ends, tuple(evidence)) if ends else node


def _ends_of_join(join: PurgingJoin, keys: tuple[Expr, ...]) -> Iterator[AfterJoin]:
    variables = join_variables(join)
    for number, rule in enumerate(join.rules):
        if isinstance(rule, ByPunctuation):
            places = [next((n for n, key in enumerate(keys) if key in variables[v]), None) for v in rule.variables]
            if None not in places:
                yield AfterJoin(tuple(place for place in places if place is not None), number)


def _ends(scan: Scan, exprs: tuple[Expr, ...], catalog: Catalog, evidence: list[Scan]) -> Iterator[End]:
    stream = scan.stream
    inside = {output.column: output.expr for output in scan.outputs}
    keys = tuple(substitute(expr, inside) for expr in exprs)
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

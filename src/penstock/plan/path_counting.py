"""Counting along probe paths: what an aggregate reads of a join only as counts and sums is not listed row by row.

    SELECT a.g, COUNT(*), SUM(b.x) FROM a [...], b [...] WHERE a.k = b.k GROUP BY a.g

    a row of a finds one bucket of b, that of its k: rows, and the sum of their x       b: k ──▶ count, sum of x
    a row of b finds a bucket of a for each g that has its k, and the buckets' counts   a: k, g ──▶ count

Rows of an input that agree on what it is joined and grouped by are in the same results, so one of them stands for all
and counts multiply: an aggregate over a join is one over aggregates of its inputs (eager aggregation: Yan and Larson
1995). This is a join of buckets (`buckets`), whose values are these columns; a bucket goes with its last row.

Where at most one input has several rows with one key, a join has no more results than rows, and nothing is gained.
Where predicates remain that are tested on combinations, these have to be listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Aggregation, Join, Relation, rewrite_relation
from penstock.catalog import Catalog
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.plan.buckets import Buckets, ConstantJoin
from penstock.plan.keys import is_key
from penstock.types import Kind

_SUMS = (AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.AVG)


def with_path_counting(relation: Relation, catalog: Catalog, *, sums: bool) -> Relation:
    """The relation with buckets below aggregates of joins.

    With `sums` a bucket keeps partial aggregates of its rows; these are added up where the join runs. Else its rows
    have the same values of what is aggregated.
    """

    def counted(node: Relation) -> Relation:
        if isinstance(node, Aggregate) and type(node.input) is Join:
            return node.with_inputs((_counted(node, node.input, catalog, sums=sums),))
        return node

    return rewrite_relation(relation, counted)


def _counted(aggregate: Aggregate, join: Join, catalog: Catalog, *, sums: bool) -> Join:
    variables = join_variables(join)
    if not all(_is_indexed(expr, variables) for expr in join.on):
        return join
    held = [[v[n] for v in variables] for n in range(len(join.operands))]
    joined = [frozenset(column for column in own if column is not None) for own in held]
    pairs = list(zip(join.operands, joined, strict=True))
    if sum(not is_key(operand, own, catalog) for operand, own in pairs) < 2:
        return join
    grows = is_monotone(join)
    summed = [a for a in aggregate.aggregations if sums and _is_summed(a, join, grows=grows)]
    listed = frozenset(c for expr in _listed(aggregate, summed) for c in columns(expr))
    buckets = tuple(_buckets(operand, own, listed, summed, catalog) for operand, own in pairs)
    return ConstantJoin(join.operands, join.on, buckets) if any(buckets) else join


def _buckets(
    operand: Relation,
    joined: frozenset[Column],
    listed: frozenset[Column],
    summed: Sequence[Aggregation],
    catalog: Catalog,
) -> Buckets | None:
    """What stands for the rows of an input, if several of them may be alike."""
    compared = tuple(column for column in operand.schema if column in joined)
    values = tuple(column for column in operand.schema if column in joined or column in listed)
    if not isinstance(operand, Scan) or is_key(operand, frozenset(values), catalog):
        return None
    own = frozenset(operand.schema)
    totals = tuple(dict.fromkeys(a for a in summed if _read(a) <= own and not _read(a) <= frozenset(values)))
    return Buckets(values, (), (), (), compared, None, None, totals=totals)


def _listed(aggregate: Aggregate, summed: Sequence[Aggregation]) -> Iterator[Expr]:
    """What is read of each combination."""
    yield from (key.expr for key in aggregate.keys)
    yield from (a.argument for a in aggregate.aggregations if a.argument is not None and a not in summed)


def _is_summed(aggregation: Aggregation, join: Join, *, grows: bool) -> bool:
    """Whether an aggregate is one of sums over rows of one input; if rows go, of sums from which they can be taken."""
    argument, read = aggregation.argument, _read(aggregation)
    if argument is None or aggregation.distinct or not any(read <= frozenset(o.schema) for o in join.operands):
        return False
    if aggregation.function is AggregateFunction.COUNT:
        return bool(read)
    is_exact = aggregation.function in _SUMS and argument.type.kind is not Kind.DOUBLE
    return bool(read) and (grows or is_exact)


def _read(aggregation: Aggregation) -> frozenset[Column]:
    return frozenset() if aggregation.argument is None else frozenset(columns(aggregation.argument))


def _is_indexed(expr: Expr, variables: Sequence[tuple[Column | None, ...]]) -> bool:
    """Whether an equality is between the columns by which two inputs are joined."""
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    return any(expr.left in variable and expr.right in variable for variable in variables)

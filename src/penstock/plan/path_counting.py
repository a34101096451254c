"""Counting along probe paths: inputs of which an aggregate over a join reads at most sums are counted, and not listed.

    SELECT a.g, COUNT(*), SUM(c.x + 1) FROM a [...], b [...], c [...] WHERE a.k = b.k AND b.m = c.m GROUP BY a.g

    a: b by k ──▶ c by m, counted      a row of a gives one result for each row of b that it joins
    b: a by k ──▶ c by m, counted
    c: b by m ──▶ a by k               b binds the k by which a is probed

A combination stands for all that differ only in rows of counted inputs (eager aggregation: Yan and Larson 1995), and
counts as often as the product of their numbers (`kernels/path_counting.py`). A stage is counted if its input is, and no
later stage of the path takes a value from it. What an aggregate reads of an input falls into four kinds:

- its join variables: any of the rows that are counted has their values;
- *sums*, COUNT, SUM and AVG of what one input computes: these are exact, so they are added up along the path;
- aggregates that take each value *once*, MIN, MAX and DISTINCT: it is enough to know of a row when it begins and ceases
  to be in any combination. That is known of an input which has all join variables, where groups are of join variables,
  and where no row that had been in a result is forgotten before it leaves, or none ever leaves;
- anything else, and what other predicates than equalities read: then rows of the input are listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.partial_aggregates import has_partial
from penstock.algebra.physical import Scan
from penstock.algebra.relations import Aggregate, Aggregation, Output, PartitionRows, Relation, rewrite_relation
from penstock.algebra.user_functions import calls_user
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.plan.probe_paths import residual_of


def with_path_counting(relation: Relation) -> Relation:
    """The relation in which joins below aggregates count what these do not read row by row."""

    def counting(node: Relation) -> Relation:
        if isinstance(node, Aggregate) and isinstance(node.input, PhysicalJoin) and _finds_all(node.input):
            return _counting(node, node.input)
        return node

    return rewrite_relation(relation, counting)


def _finds_all(join: PhysicalJoin) -> bool:
    """Whether it is a join of rows, and not of buckets, or of rows that it does not keep."""
    return join.kind is JoinKind.JOIN and not join.buckets and join.stateless is None


def _counting(aggregate: Aggregate, join: PhysicalJoin) -> Aggregate:
    found = _Counting(aggregate, join)
    if not found.counted:
        return aggregate
    aggregate, join = _computed(aggregate, join, found)
    summed = tuple(a for a in aggregate.aggregations if a.column in found.summed)
    once = tuple(a for a in aggregate.aggregations if a.column in found.once)
    plain = (a.argument for a in aggregate.aggregations if a.argument is not None and a not in summed)
    read = _read((*(key.expr for key in aggregate.keys), *plain))
    shown = tuple(
        column
        for number, operand in enumerate(join.operands)
        for column in operand.schema
        if number not in found.counted or column in read
    )
    counting = replace(join, counted=found.counted, shown=shown, summed=summed, once=once)
    return Aggregate(counting, aggregate.keys, aggregate.aggregations)


class _Counting:
    """Which inputs of a join are counted, and the columns of the aggregates that are sums, or take each value once."""

    def __init__(self, aggregate: Aggregate, join: PhysicalJoin) -> None:
        self._join = join
        variables = join_variables(join)
        self._variables = frozenset(column for same in variables for column in same if column is not None)
        residual = residual_of(join)
        keys = [key.expr for key in aggregate.keys]
        counted = set(range(len(join.operands))) - self._owners((*residual, *keys))
        has_all = {n for n in counted if all(same[n] is not None for same in variables)}
        lasts = is_monotone(join) or not join.reduced
        takes_once = has_all if lasts and not residual and _read(keys) <= self._variables else set()
        self.summed: set[Column] = set()
        self.once: set[Column] = set()
        for each in aggregate.aggregations:
            owners = self._owners(() if each.argument is None else (each.argument,))
            if not owners <= counted or not owners:
                counted -= owners
            elif self._is_sum(each, owners):
                self.summed.add(each.column)
            elif owners <= takes_once and self._is_once(each, owners):
                self.once.add(each.column)
            else:
                counted -= owners
        #: What is listed after all needs no sums.
        own = {a.column: self._owners((a.argument,)) for a in aggregate.aggregations if a.argument is not None}
        self.summed = {column for column in self.summed if own[column] <= counted}
        self.once = {column for column in self.once if own[column] <= counted}
        self.counted = tuple(sorted(counted))

    def _owners(self, exprs: Iterable[Expr]) -> set[int]:
        """The inputs of which expressions read more than join variables."""
        read = _read(exprs) - self._variables
        return {n for n, operand in enumerate(self._join.operands) if read & frozenset(operand.schema)}

    def _is_sum(self, aggregation: Aggregation, owners: Collection[int]) -> bool:
        """Whether it adds up, or counts, values that one input has, or can compute."""
        operand, argument = self._operand(aggregation, owners), aggregation.argument
        computes = isinstance(operand, Scan) and not isinstance(operand.spec, PartitionRows)
        return operand is not None and has_partial(aggregation) and (computes or isinstance(argument, Column))

    def _is_once(self, aggregation: Aggregation, owners: Collection[int]) -> bool:
        """Whether it reads one input only, and it does not matter how often a value is there."""
        once = aggregation.distinct or aggregation.function in (AggregateFunction.MIN, AggregateFunction.MAX)
        return once and self._operand(aggregation, owners) is not None

    def _operand(self, aggregation: Aggregation, owners: Collection[int]) -> Relation | None:
        """The one input that an aggregate reads; None where a function is called, which may fail."""
        read = _read(() if aggregation.argument is None else (aggregation.argument,))
        found = [self._join.operands[n] for n in owners if read <= frozenset(self._join.operands[n].schema)]
        calls = aggregation.argument is None or calls_user(aggregation.argument)
        return None if calls or len(found) != 1 else found[0]


def _computed(aggregate: Aggregate, join: PhysicalJoin, found: _Counting) -> tuple[Aggregate, PhysicalJoin]:
    """Aggregate and join, whose scans compute what is added up."""
    operands, computed = list(join.operands), dict[Expr, Column]()
    for each in aggregate.aggregations:
        argument = each.argument
        if each.column not in found.summed or argument is None or isinstance(argument, Column) or argument in computed:
            continue
        number = next(n for n, operand in enumerate(operands) if columns(argument) <= frozenset(operand.schema))
        scan = operands[number]
        assert isinstance(scan, Scan)
        column = Column(scan.schema[0].scope, f"_argument{len(computed)}", argument.type)
        inside = {output.column: output.expr for output in scan.outputs}
        operands[number] = replace(scan, outputs=(*scan.outputs, Output(column, substitute(argument, inside))))
        computed[argument] = column
    aggregations = tuple(
        replace(a, argument=computed[a.argument]) if a.column in found.summed and a.argument in computed else a
        for a in aggregate.aggregations
    )
    below = join.with_inputs((*operands, *join.evidence)) if computed else join
    if not computed:
        return aggregate, join
    return Aggregate(below, aggregate.keys, aggregations), below


def _read(exprs: Iterable[Expr]) -> frozenset[Column]:
    return frozenset(column for expr in exprs for column in columns(expr))

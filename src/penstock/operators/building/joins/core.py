"""The core of a join: its inputs, paths and residual predicates, what it counts, and what tunes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.expressions import columns as columns_of
from penstock.algebra.partial_aggregates import partial_columns
from penstock.algebra.relations import Aggregation, Schema
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.kernels.aggregation import STATE_WIDTHS
from penstock.operators.building.nodes import StoredRelation
from penstock.operators.filters.filters import Tuning
from penstock.operators.gauges import Gauge
from penstock.operators.groups.aggregate import AggregationSpec
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.joins.path_counting import ColumnSum, Counted
from penstock.operators.joins.residuals import Residual, RowTest
from penstock.plan.caches import CacheChoice, cached_inputs
from penstock.plan.explain import operand_name
from penstock.plan.index_report import IndexReport
from penstock.plan.probe_paths import inputs_read, keys_of, paths_of, residual_of
from penstock.synopsis.indexed_inputs import JoinInput

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


def build_core(
    build: Builder,
    join: PhysicalJoin,
    columns: Schema,
    parts: Sequence[StoredRelation],
    *,
    insert_only: bool = False,
    indexed: Iterable[tuple[int, tuple[int, ...]]] = (),
) -> JoinCore:
    """The core of a join whose inputs are stored in these parts. It gives rows of these columns."""
    inputs = []
    variables = join_variables(join)
    for number, part in enumerate(parts):
        own = (variable[number] for variable in variables)
        positions = tuple(None if column is None else part.schema.index(column) for column in own)
        inputs.append(JoinInput(part.store, len(part.schema), positions))
    stored = tuple(column for part in parts for column in part.schema)
    residual = _residual(build, residual_of(join), [part.schema for part in parts])
    shown = tuple(map(stored.index, columns))
    core = JoinCore(
        build.scope("join"),
        tuple(inputs),
        residual,
        shown,
        paths_of(join),
        insert_only=insert_only,
        in_any_order=build.comes_early,
        indexed=indexed,
        counted=_counted(parts, join),
        keys=keys_of(join),
        cached=cached_inputs(join),
    )
    build.joins.append(core)
    build.gauges.top.probing = core.probe_counts
    build.gauges.top.indexes = partial(_index_reports, [part.schema for part in parts], core)
    if len(parts) > 2:  # of two inputs each has but one to probe
        retune = partial(_retune, core, build.gauges.top, tuple(map(operand_name, join.operands)))
        build.retuning.append(retune)
        if build.tuning is not None:
            retune(build.tuning)
    return core


def grows(join: PhysicalJoin) -> bool:
    """Whether rows of its inputs only arrive."""
    return all(map(is_monotone, join.operands))


def _retune(core: JoinCore, gauge: Gauge, inputs: tuple[str, ...], tuning: Tuning) -> None:
    """Lets tuners replace the paths and the caches of a join from now on."""
    core.tuner = gauge.join_tuner = tuning.join_tuner(gauge.name, inputs)
    if core.tuner is not None:
        core.tuner.adopt(core)
    core.cache_tuner = tuning.cache_tuner(gauge.name, inputs)
    gauge.caching = core.caching.used
    if core.cache_tuner is None:
        core.caching.use(CacheChoice())
        gauge.cache_decisions = tuple
    else:
        core.cache_tuner.adopt(core)
        gauge.cache_decisions = core.cache_tuner.report


def _index_reports(schemas: Sequence[Schema], core: JoinCore) -> tuple[IndexReport, ...]:
    """What the indexes of a join take."""
    return tuple(
        IndexReport(number, tuple(schemas[number][column].name for column in columns), buckets, size)
        for (number, columns), buckets, size in core.index_sizes()
    )


def _counted(parts: Sequence[StoredRelation], join: PhysicalJoin) -> Counted:
    """What a join counts of its inputs."""
    sums = tuple(_column_sum(parts, join, aggregation) for aggregation in join.summed)
    return Counted(frozenset(join.counted), len(join.left_out), sums, tuple(map(join.owner, join.once)))


def _column_sum(parts: Sequence[StoredRelation], join: PhysicalJoin, aggregation: Aggregation) -> ColumnSum:
    """What a join adds up of a column for an aggregate above."""
    column = aggregation.argument
    assert isinstance(column, Column)
    number = join.owner(aggregation)
    family = AggregationSpec(aggregation.function, column.type).family
    assert STATE_WIDTHS[family] == len(partial_columns(aggregation))
    return ColumnSum(number, parts[number].schema.index(column), family)


def _residual(build: Builder, exprs: tuple[Expr, ...], schemas: Sequence[Schema]) -> Residual | None:
    """The predicates that no index evaluates, with what makes the tests of some of them."""
    if not exprs:
        return None
    stored = tuple(column for schema in schemas for column in schema)
    filters = build.residual_filters()

    def test(numbers: tuple[int, ...]) -> RowTest:
        some = tuple(exprs[number] for number in numbers)
        read = tuple(column for column in dict.fromkeys(stored) if any(column in columns_of(expr) for expr in some))
        return RowTest(tuple(map(stored.index, read)), *filters(some, read))

    return Residual(inputs_read(exprs, schemas), test)

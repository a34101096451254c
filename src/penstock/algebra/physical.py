"""Physical relations: the normal form made ready to run.

Only columns that somebody reads are kept, as early as can be: a `Scan` filters and computes on a stream's own rows,
before its window stores them. Filters commute with time windows, and with windows of rows once the rows are numbered
(thesis 2.2.4). The right side of a semi-join is reduced to the distinct values that its predicates read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock import types
from penstock.algebra.bucket_counts import BucketCounts
from penstock.algebra.expressions import (
    Column,
    Comparator,
    Compare,
    Expr,
    IsNull,
    Not,
    columns,
    require,
    substitute,
)
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    Materialised,
    Output,
    PartitionRows,
    Project,
    Relation,
    Repeat,
    Rows,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Shared,
    Stream,
    Table,
    Window,
    WindowSpec,
)
from penstock.effort import kept


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of one key in so many; rows of any stream that have the same values are in it, or not."""

    by: Schema
    one_in: int


@dataclass(frozen=True, slots=True)
class Scan(Relation):
    """What `outputs` compute of those rows of a stream's window for which `where` is true.

    Only these are stored. A window of rows numbers the stream's rows before the filter, so that each row that passes
    leaves with the n-th row after it, whether that one passes or not.
    """

    stream: Stream
    spec: WindowSpec
    where: tuple[Expr, ...]
    outputs: tuple[Output, ...]
    #: The rows that are read at all, if not all are.
    sample: Sample | None = None

    def _schema(self) -> Schema:
        return tuple(output.column for output in self.outputs)

    @property
    def counts(self) -> bool:
        """Whether rows that it does not keep are counted."""
        return isinstance(self.spec, Rows | PartitionRows)


@dataclass(frozen=True, slots=True)
class Received(Relation):
    """The deltas that another fragment sends."""

    fragment: int
    columns: Schema
    #: Whether rows only ever come.
    is_monotone: bool = False

    def _schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True, slots=True)
class Keep(Relation):
    """Just these columns, in this order. Unlike a Project it may keep none."""

    input: Relation
    columns: Schema

    def __post_init__(self) -> None:
        require(set(self.columns) <= set(self.input.schema), "cannot keep a column that is not there")

    def _schema(self) -> Schema:
        return self.columns

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Keep:
        (below,) = inputs
        return Keep(below, self.columns)


Needed = frozenset[Column]


def physical(relation: Relation) -> Relation:
    """The relation ready to run, with just its own columns."""
    return _exactly(_prune(relation, frozenset(relation.schema)), relation.schema)


def _exactly(relation: Relation, schema: Schema) -> Relation:
    return relation if relation.schema == schema else Keep(relation, schema)


def _prune(relation: Relation, needed: Needed) -> Relation:
    match relation:
        case Window():
            return _scan(relation, (), needed)
        case Select(Window() as window, predicates):
            return _scan(window, predicates, needed)
        case Select(below, predicates):
            return Select(_prune(below, needed | _read(predicates)), predicates)
        case Table(name, occurrence, schema):
            return Table(name, occurrence, tuple(column for column in schema if column in needed))
        case Materialised(below):
            own = tuple(column for column in relation.schema if column in needed)
            return _exactly(_prune(below, frozenset(own)), own)
        case Shared():
            return _shared(relation, needed)
        case Project(below, outputs):
            return _project(below, tuple(output for output in outputs if output.column in needed))
        case Join(operands, on):
            return _join(operands, on, needed)
        case AntiJoin() | SemiJoin():
            return _semi_join(relation, needed)
        case Aggregate():
            return _aggregate(relation, needed)
        case BucketCounts():
            return relation.with_inputs(tuple(map(physical, relation.inputs)))
        case LinkMonitor():
            return relation.with_inputs(tuple(_sampled(below, relation) for below in relation.inputs))
        case Keep(below, ()):
            return _project(below, ())
        case Repeat(below, times):
            return Repeat(_prune(below, needed | {times}), times)
        case Distinct(below):
            return Distinct(physical(below))
        case SetOp(SetOperator.UNION, True):
            return _union_all(relation, needed)
        case SetOp(op, all_, left, right, schema):
            return SetOp(op, all_, physical(left), physical(right), schema)
    raise AssertionError(f"no physical form of {relation}")


def _read(exprs: tuple[Expr, ...]) -> Needed:
    return frozenset(column for expr in exprs for column in columns(expr))


def _scan(window: Window, where: tuple[Expr, ...], needed: Needed) -> Scan:
    by = window.spec.by if isinstance(window.spec, PartitionRows) else ()
    outputs = tuple(Output(column, column) for column in window.schema if column in needed or column in by)
    return Scan(window.stream, window.spec, where, outputs)


def _project(below: Relation, outputs: tuple[Output, ...]) -> Relation:
    pruned = _prune(below, _read(tuple(output.expr for output in outputs)))
    if isinstance(pruned, Scan) and not isinstance(pruned.spec, PartitionRows):
        inside = {output.column: output.expr for output in pruned.outputs}
        return replace(pruned, outputs=tuple(Output(o.column, substitute(o.expr, inside)) for o in outputs))
    return Project(pruned, outputs) if outputs else Keep(pruned, ())


def _shared(relation: Shared, needed: Needed) -> Relation:
    """With the columns that are read. Readers that need the same share what is computed for them."""
    outputs = tuple(output for output in relation.outputs if output.column in needed) or relation.outputs[:1]
    read = _read(tuple(output.expr for output in outputs))
    return Shared(kept(("pruned", read), (relation.input,), lambda: _prune(relation.input, read)), outputs)


def _union_all(relation: SetOp, needed: Needed) -> Relation:
    """Rows are counted, not compared: columns that nobody reads go on both sides."""
    places = [place for place, column in enumerate(relation.columns) if column in needed] or [0]

    def side(below: Relation) -> Relation:
        own = tuple(below.schema[place] for place in places)
        return _exactly(_prune(below, frozenset(own)), own)

    schema = tuple(relation.columns[place] for place in places)
    return SetOp(relation.op, relation.all, side(relation.left), side(relation.right), schema)


def _join(operands: tuple[Relation, ...], on: tuple[Expr, ...], needed: Needed) -> Join:
    indexable = _indexable(operands, on, needed)
    return replace(indexable, operands=tuple(_with_partners(operand, indexable.on) for operand in indexable.operands))


def _indexable(operands: tuple[Relation, ...], on: tuple[Expr, ...], needed: Needed) -> Join:
    """Sides of equalities that are expressions of one input become columns of it, so that they can be indexed."""
    computed: list[list[Output]] = [[] for _ in operands]

    def as_column(expr: Expr) -> Expr:
        owner = _owner(expr, operands)
        if isinstance(expr, Column) or owner is None:
            return expr
        known = next((output for output in computed[owner] if output.expr == expr), None)
        if known is None:
            scope = operands[owner].schema[0].scope
            known = Output(Column(scope, f"_key{len(computed[owner])}", expr.type), expr)
            computed[owner].append(known)
        return known.column

    on = tuple(Compare(Comparator.EQ, *map(as_column, c.parts)) if _is_cross_equality(c, operands) else c for c in on)
    read = needed | _read(on)
    return Join(tuple(_computing(o, tuple(extra), read) for o, extra in zip(operands, computed, strict=True)), on)


def _computing(operand: Relation, extra: tuple[Output, ...], read: Needed) -> Relation:
    if not extra:
        return _prune(operand, read & frozenset(operand.schema))
    own = tuple(Output(column, column) for column in operand.schema if column in read)
    return _project(operand, own + extra)


def _is_cross_equality(expr: Expr, operands: tuple[Relation, ...]) -> bool:
    if not isinstance(expr, Compare) or expr.op is not Comparator.EQ:
        return False
    owners = (_owner(expr.left, operands), _owner(expr.right, operands))
    return None not in owners and owners[0] != owners[1]


def _owner(expr: Expr, operands: tuple[Relation, ...]) -> int | None:
    """The one operand whose columns an expression reads."""
    read = columns(expr)
    owners = [i for i, operand in enumerate(operands) if read & frozenset(operand.schema)]
    return owners[0] if len(owners) == 1 else None


def _semi_join(relation: SemiJoin | AntiJoin, needed: Needed) -> Relation:
    """A row without a match is in the result of an anti-join, so only the right side may go without such rows."""
    joined = _indexable((relation.left, relation.right), relation.on, needed)
    (left, right), on = joined.operands, joined.on
    matched = tuple(c for c in right.schema if c in _read(on))
    distinct = Distinct(_exactly(_where_known(right, _compared(matched, on)), matched))
    if isinstance(relation, AntiJoin):
        return AntiJoin(left, distinct, on)
    return SemiJoin(_with_partners(left, on), distinct, on)


def _with_partners(relation: Relation, on: tuple[Expr, ...]) -> Relation:
    """An input of a join; of groups, distinct values and unions without those that match nothing."""
    below = relation
    while isinstance(below, Keep | Project | Select) and not isinstance(below, Shared):
        below = below.input
    is_computed = isinstance(below, SetOp | Distinct | Aggregate)
    return _where_known(relation, _compared(relation.schema, on)) if is_computed else relation


def _compared(schema: Iterable[Column], on: tuple[Expr, ...]) -> tuple[Column, ...]:
    return tuple(column for column in schema if any(_needs(expr, column) for expr in on))


def _needs(expr: Expr, column: Column) -> bool:
    """Whether a predicate is a comparison with a column, and so is true of no row in which that is NULL."""
    return isinstance(expr, Compare) and expr.op is not Comparator.SAME and column in expr.parts


def _where_known(relation: Relation, compared: tuple[Column, ...]) -> Relation:
    """The rows without NULL in these columns. Others match nothing, so no value of theirs is ever closed."""
    own = tuple(column for column in compared if column in relation.schema)
    match relation:
        case _ if not own or isinstance(relation, Shared):
            return relation
        case Scan(outputs=outputs) if not relation.counts:
            inside = {output.column: output.expr for output in outputs}
            tests = tuple(Not(IsNull(inside[column])) for column in own)
            return replace(relation, where=relation.where + tuple(test for test in tests if test not in relation.where))
        case Join(operands, on):
            return Join(tuple(_where_known(operand, own) for operand in operands), on)
        case SemiJoin() | AntiJoin():
            return replace(relation, left=_where_known(relation.left, own))
        case SetOp(left=left, right=right):
            places = [place for place, column in enumerate(relation.columns) if column in own]
            sides = (_where_known(side, tuple(side.schema[place] for place in places)) for side in (left, right))
            return relation.with_inputs(tuple(sides))
        case Project(below, outputs):
            plain = tuple(o.expr for o in outputs if o.column in own and isinstance(o.expr, Column))
            return relation.with_inputs((_where_known(below, plain),))
        case Aggregate(below, keys):
            grouped = tuple(key.expr for key in keys if key.column in own and isinstance(key.expr, Column))
            return relation.with_inputs((_where_known(below, grouped),))
        case Keep(below) | Select(below) | Distinct(below):
            return relation.with_inputs((_where_known(below, own),))
    # A window of rows, a table, and what is computed: those end by themselves, or by their own rules.
    return relation


def _sampled(relation: Relation, monitor: LinkMonitor) -> Relation:
    """A sample of what a monitor compares."""
    scan = physical(relation)
    require(isinstance(scan, Scan), "a monitor reads streams")
    assert isinstance(scan, Scan)
    by = tuple(output.expr for output in scan.outputs[: monitor.matched] if isinstance(output.expr, Column))
    return replace(scan, sample=Sample(by, monitor.one_in)) if by and monitor.one_in > 1 else scan


def _aggregate(relation: Aggregate, needed: Needed) -> Aggregate:
    aggregations = tuple(a for a in relation.aggregations if a.column in needed)
    if not relation.keys and not aggregations:
        # The one row must stay, whatever is in it.
        column = Column(relation.schema[0].scope, "_one", types.BIGINT)
        aggregations = (Aggregation(column, AggregateFunction.COUNT, None),)
    arguments = tuple(a.argument for a in aggregations if a.argument is not None)
    read = _read(tuple(key.expr for key in relation.keys) + arguments)
    return Aggregate(_prune(relation.input, read), relation.keys, aggregations)

"""Joins and semi-joins that the theory of bounded memory bounds keep buckets in place of rows (002).

The register says which inputs those are (`register/constant_synopses.py`). Here its synopses become values that a run
time reads. What is not done yet: columns that are compared with a table's values inside of EXISTS and not kept. Such a
join stays as it is, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from penstock.algebra.anti_join_choices import without_choices
from penstock.algebra.buckets import BoxSide, Buckets, DifferenceLimit, Hole, Space
from penstock.algebra.expressions import (
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    columns,
    conjunction,
)
from penstock.algebra.physical import Keep, Scan, physical
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    Output,
    Project,
    Relation,
    Select,
    SemiJoin,
    Shared,
    streams,
    walk_relations,
)
from penstock.catalog import Catalog
from penstock.closing.blocks import Block, Operand, block_of
from penstock.closing.contents import content
from penstock.closing.physical_join import JoinKind, PhysicalJoin, with_physical_joins
from penstock.register import arithmetic
from penstock.register.arithmetic import BoundSide, BoxEdge, ComparedAttribute, Comparison, Corner, Kept, Op, Synopsis
from penstock.register.arithmetic.closure import ZERO, Closure
from penstock.register.constant_synopses import NARROW, ConstantSynopses
from penstock.register.join_context import JoinContext, constant_synopses
from penstock.register.overflow import KnownEnds
from penstock.register.predicate_outcomes import PredicateOutcomes, outcomes_of
from penstock.types import BOOLEAN, Kind, Type, decimal

AnyJoin = Join | SemiJoin | AntiJoin

#: Of each input of a join the occurrences of streams that it reads: in the normal form and in a plan.
Occurrences = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Synopses:
    """Of each input of a join its buckets, or None, and what else must be true of rows that count.

    `summed` if there is something that only an aggregate right above reads, by its sum, count or extremes.
    """

    buckets: tuple[Buckets | None, ...]
    where: tuple[tuple[Expr, ...], ...]
    summed: bool


#: The numbers that kernels can reckon with.
LEAST, MOST = -(1 << 63), (1 << 63) - 1

#: Where comparisons contradict each other no row counts.
NOTHING = Buckets((), (), (), (DifferenceLimit(None, None, -1),), (), None, 0)


def with_constant_synopses(relation: Relation, catalog: Catalog) -> Relation:
    """The physical form of a relation in normal form, with buckets where they bound a join."""
    found = dict(_found(relation, JoinContext.of(relation), catalog))

    in_chains = without_choices(relation, lambda join: _inputs(join) in found)
    return _rewritten(with_physical_joins(physical(in_chains)), found)


def _found(relation: Relation, above: JoinContext, catalog: Catalog) -> Iterator[tuple[Occurrences, Synopses]]:
    is_kept = isinstance(relation, AnyJoin) and not any(map(_reads_shared, relation.inputs))
    if isinstance(relation, AnyJoin) and is_kept and (synopses := _synopses(relation, above, catalog)) is not None:
        yield _inputs(relation), synopses
    for below in relation.inputs:
        yield from _found(below, above.through(relation), catalog)


def _reads_shared(relation: Relation) -> bool:
    """Whether rows come from a fragment with several readers, which computes no columns for the buckets of one."""
    return any(isinstance(node, Shared) for node in walk_relations(relation))


def _inputs(join: AnyJoin) -> Occurrences:
    return tuple(tuple(stream.occurrence for stream in streams(operand)) for operand in join.inputs)


def _rewritten(relation: Relation, found: Mapping[Occurrences, Synopses], above: Aggregate | None = None) -> Relation:
    own = relation if isinstance(relation, Aggregate) else None
    inputs = tuple(_rewritten(below, found, own) for below in relation.inputs)
    relation = relation.with_inputs(inputs) if inputs != relation.inputs else relation
    if not isinstance(relation, PhysicalJoin):
        return relation
    synopses = found.get(tuple(tuple(_occurrences(operand)) for operand in relation.operands))
    if synopses is None or (synopses.summed and above is None):
        return relation
    return _with_buckets(relation, synopses, above)


def _occurrences(relation: Relation) -> Iterator[str]:
    return (node.stream.occurrence for node in walk_relations(relation) if isinstance(node, Scan))


def _with_buckets(join: PhysicalJoin, synopses: Synopses, above: Aggregate | None) -> Relation:
    """The join with buckets. The right side of a semi-join is without duplicates as it is, if it is kept in buckets."""
    inputs = list(join.operands)
    if join.kind is not JoinKind.JOIN and isinstance(inputs[1], Distinct) and synopses.buckets[1] is not None:
        inputs[1] = inputs[1].input
    made = _kept(inputs, synopses, above)
    if made is None:
        return join
    operands, buckets = made
    counting = replace(join, operands=tuple(operands), buckets=tuple(buckets))
    return counting if counting.schema == join.schema or counting.has_totals else Keep(counting, join.schema)


def _kept(
    operands: Sequence[Relation], synopses: Synopses, above: Aggregate | None
) -> tuple[list[Relation], list[Buckets | None]] | None:
    """Inputs with the columns that their buckets read, and the buckets."""
    found: list[Relation] = []
    buckets: list[Buckets | None] = []
    for operand, known, where in zip(operands, synopses.buckets, synopses.where, strict=True):
        kept = known
        if known is not None:
            # A value that nobody reads any more, nor computes of, tells nothing apart.
            there = {*operand.schema, *known.added, *_computed_of(operand)}
            if not all(columns(s.of) <= frozenset(operands[s.table].schema) for s in known.intervals):
                return None
            values = tuple(column for column in known.values if column in there)
            kept = replace(known, values=values, totals=tuple(_totals(above, operand, values)))
        widened = operand if kept is None else _with_columns(operand, kept, where)
        if widened is None:
            return None
        found.append(widened)
        buckets.append(kept)
    return found, buckets


def _computed_of(operand: Relation) -> frozenset[Column]:
    """The columns of which an input computes others, such as keys that it is joined by."""
    while isinstance(operand, Keep):
        operand = operand.input
    outputs = operand.outputs if isinstance(operand, Scan | Project) else ()
    return frozenset(column for output in outputs if output.expr != output.column for column in columns(output.expr))


def _totals(above: Aggregate | None, operand: Relation, values: tuple[Column, ...]) -> Iterator[Aggregation]:
    """The aggregates of an input's values that its buckets do not keep."""
    for aggregation in above.aggregations if above is not None else ():
        read = frozenset() if aggregation.argument is None else columns(aggregation.argument)
        if read and read <= frozenset(operand.schema) and not read <= frozenset(values):
            yield aggregation


def _with_columns(operand: Relation, kept: Buckets, where: tuple[Expr, ...]) -> Relation | None:
    """An input that has the columns that buckets read, and satisfies these predicates, if it can be had."""
    if isinstance(operand, Keep):
        return _with_columns(operand.input, kept, where)
    if isinstance(operand, Scan):
        more = [column for column in operand.stream.schema if column in kept.columns and column not in operand.schema]
        outputs = (*operand.outputs, *(Output(column, column) for column in more), *kept.computed)
        return replace(operand, where=(*operand.where, *where), outputs=outputs)
    looked_at = kept.columns.union(*map(columns, where))
    if isinstance(operand, Project):
        more = [column for column in operand.input.schema if column in looked_at and column not in operand.schema]
        operand = Project(operand.input, (*operand.outputs, *(Output(column, column) for column in more)))
    if not looked_at <= frozenset(operand.schema):
        return None
    operand = Select(operand, where) if where else operand
    return Project(operand, (*(Output(c, c) for c in operand.schema), *kept.computed)) if kept.computed else operand


def _synopses(join: Join | SemiJoin | AntiJoin, above: JoinContext, catalog: Catalog) -> Synopses | None:
    """What to keep of each input; None if there is one that has no bound at all, or one that is not yet used."""
    block = block_of(join)
    is_held = [operand.is_static or content(operand.relation, catalog).is_safe for operand in block.operands]
    if all(is_held) or sum(not operand.is_static for operand in block.operands) < 2:
        return None
    theory = constant_synopses(join, above)
    buckets: list[Buckets | None] = []
    where: list[tuple[Expr, ...]] = []
    for operand, held in zip(block.operands, is_held, strict=True):
        found = (None, ()) if held else _Reading(join, above, block, theory, operand).buckets()
        if found is None:
            return None
        buckets.append(found[0])
        where.append(found[1])
    return Synopses(tuple(buckets), tuple(where), bool(above.summed))


class _Reading:
    """Reads the synopsis of one input."""

    def __init__(
        self,
        join: Join | SemiJoin | AntiJoin,
        above: JoinContext,
        block: Block,
        theory: ConstantSynopses,
        operand: Operand,
    ) -> None:
        self._join, self._above, self._theory = join, above, theory
        self._own = frozenset(operand.relation.schema)
        self._scope = operand.relation.schema[0].scope
        #: A left row of an anti-join that matches nothing shows, so that it must not be left out.
        self._shows = isinstance(join, AntiJoin) and operand is block.operands[0]
        self._block, self._input = block, operand
        self._operands = [frozenset(each.relation.schema) for each in block.operands]
        self._synopsis = theory.synopsis(operand)
        self._values = theory.values(operand)
        self._bound = theory.bound(operand)
        self._ends = KnownEnds(join, block.predicates)

    def buckets(self) -> tuple[Buckets, tuple[Expr, ...]] | None:
        synopsis, closure = self._synopsis, self._theory.closure
        if closure is None:
            # Values are not kept either, but what is read of rows that show is no partial aggregate.
            return replace(NOTHING, values=tuple(sorted(self._above.columns & self._own, key=str))), ()
        further = self._further()
        if synopsis is None or self._bound is None or further is None:
            return None
        attributes = list(dict.fromkeys([*(c.of for c in synopsis.corners), *(h.of for h in synopsis.holes)]))
        is_skyline = synopsis.kept is Kept.SKYLINE
        reckoned = [own for corner in synopsis.corners for own, _ in corner.terms]
        if not is_skyline:
            reckoned += [hole.attribute for hole in synopsis.holes]
        if not all(self._is_whole(corner.of) for corner in synopsis.corners) or not all(map(self._fits, reckoned)):
            return None
        within, where = self._filters(synopsis)
        sides = tuple(self._side(corner, attributes.index(corner.of)) for corner in synopsis.corners)
        holes = tuple(self._hole(hole, attributes.index(hole.of)) for hole in synopsis.holes)
        kept = Buckets(
            (*sorted(self._values, key=str), *further.values),
            sides,
            holes,
            (*within, *map(_true, further.true)),
            (*sorted(self._compared(sides, holes, within), key=str), *further.true),
            self._space(closure, attributes) if is_skyline else None,
            self._bound[0].size,
            (*further.computed, *self._narrowed(reckoned)),
            further.intervals,
        )
        if not all(LEAST <= number <= MOST for number in kept.numbers):
            return None
        where = (*where, *further.where, *self._alone(), *self._overflowing())
        return (self._counting(kept, where), ()) if self._shows and where else (kept, where)

    def _further(self) -> PredicateOutcomes | None:
        """What is asked of a row that values and boxes do not say; None if it cannot be told."""
        summed = [read for read in map(columns, self._above.summed) if not read <= self._own]
        if not self._above.columns.union(*summed) & self._own <= self._values:
            return None
        unseen = [p for p in self._crossing() if not self._is_seen(p) and not columns(p) & self._own <= self._values]
        return outcomes_of(self._block, self._input, unseen, self._values, self._theory.split(self._input))

    def _counting(self, kept: Buckets, where: tuple[Expr, ...]) -> Buckets:
        """Buckets of all rows, of which those that do not satisfy predicates count for nothing."""
        counts = Column(self._scope, "_counts", BOOLEAN)
        return replace(
            kept,
            within=(*kept.within, _true(counts)),
            compared=(*kept.compared, counts),
            computed=(*kept.computed, Output(counts, conjunction(where))),
        )

    def _alone(self) -> Iterator[Expr]:
        """The predicates of a semi-join that speak of this input alone."""
        return (p for p in self._join.on if columns(p) and columns(p) <= self._own)

    def _crossing(self) -> Iterator[Expr]:
        """The predicates that compare a row with others."""
        return (p for p in self._join.on if columns(p) & self._own and columns(p) - self._own)

    def _is_seen(self, predicate: Expr) -> bool:
        """Whether a predicate holds just when the theory's comparison does.

        Where a sum overflows it is NULL, and the comparison is not. So each side must be of one input, for which that
        can be found out when a row comes, or never overflow.
        """
        return self._theory.compares(predicate) and all(
            not self._is_torn(part) or self._ends.fits(part) for part in predicate.parts
        )

    def _is_torn(self, part: Expr) -> bool:
        """Whether a side of a comparison is of several inputs."""
        return sum(bool(columns(part) & own) for own in self._operands) > 1

    def _compared(
        self, sides: Iterable[BoxSide], holes: Iterable[Hole], within: Iterable[DifferenceLimit]
    ) -> frozenset[Column]:
        terms = (column for side in sides for column, _ in side.terms)
        ends = (end for each in within for end in (each.left, each.right) if end is not None)
        seen = [part for p in self._crossing() if self._is_seen(p) for part in p.parts]
        read = (columns(part) for part in seen if isinstance(part, Column) or self._is_torn(part))
        own = self._own.intersection(frozenset[Column]().union(*read))
        return frozenset((*terms, *ends, *own, *(hole.column for hole in holes)))

    def _overflowing(self) -> Iterator[Expr]:
        """That no side of a comparison is NULL though its columns are not."""
        for predicate in self._crossing():
            for part in predicate.parts:
                is_own = columns(part) and columns(part) <= self._own and not isinstance(part, Column)
                if is_own and self._is_seen(predicate):
                    yield Not(IsNull(part))

    def _filters(self, synopsis: Synopsis) -> tuple[tuple[DifferenceLimit, ...], tuple[Expr, ...]]:
        """What comparisons with others imply of the rows: of numbers as differences, of the rest as predicates.

        What is written of the rows themselves has been seen to below the join.
        """
        within, where = [], []
        written = self._theory.query.conditions
        for condition in synopsis.filters:
            if not isinstance(condition, Comparison) or condition in written:
                continue
            if all(map(self._has_codes, condition.attributes)):
                within.append(self._difference(condition))
            else:
                where.append(self._predicate(condition))
        return tuple(within), tuple(where)

    def _difference(self, comparison: Comparison) -> DifferenceLimit:
        """Induced comparisons over integers are `<=`."""
        assert comparison.op is Op.LE
        scale = comparison.attributes[0].scale
        left, right, limit = None, None, Fraction(comparison.offset)
        if isinstance(comparison.left, ComparedAttribute):
            left = self._theory.column(comparison.left)
        else:
            limit -= _number(comparison.left)
        if isinstance(comparison.right, ComparedAttribute):
            right = self._theory.column(comparison.right)
        else:
            limit += _number(comparison.right)
        return DifferenceLimit(left, right, _code(limit, scale))

    def _predicate(self, comparison: Comparison) -> Expr:
        assert not comparison.offset, "values that are no whole numbers are compared without sums"
        type_ = self._theory.column(comparison.attributes[0]).type
        ops = {Op.LT: Comparator.LT, Op.LE: Comparator.LE, Op.EQ: Comparator.EQ, Op.NE: Comparator.NE}
        left, right = (self._operand(side, type_) for side in (comparison.left, comparison.right))
        return Compare(ops[comparison.op], left, right)

    def _operand(self, side: object, type_: Type) -> Expr:
        if isinstance(side, ComparedAttribute):
            return self._theory.column(side)
        if isinstance(side, Fraction):
            number = Decimal(side.numerator) / Decimal(side.denominator)
            return Literal(number if type_.kind is Kind.DECIMAL else float(side), type_)
        return Literal(side, type_)  # type: ignore[arg-type]  # a constant of the query

    def _side(self, corner: Corner, of: int) -> BoxSide:
        scale = corner.of.scale
        terms = tuple((self._narrow(a), _code(edge.value, scale)) for a, edge in corner.terms)
        return BoxSide(of, corner.side is BoundSide.ABOVE, terms, _end(corner.limit, scale))

    def _hole(self, hole: arithmetic.BoxHole, of: int) -> Hole:
        scale = hole.of.scale
        if not self._fits(hole.attribute):
            return Hole(of, self._theory.column(hole.attribute), 0, None, None)
        return Hole(
            of, self._narrow(hole.attribute), _code(hole.shift, scale), _end(hole.low, scale), _end(hole.high, scale)
        )

    def _space(self, closure: Closure, attributes: list[ComparedAttribute]) -> Space:
        """Of attributes that have no order, nothing is said but that they may have any value."""
        nodes = [closure.node(attribute) for attribute in attributes]
        ordered = [self._is_whole(attribute) for attribute in attributes]

        def limit(left: int, right: int) -> int | None:
            known = closure.matrix[left][right]
            scale = closure.attributes[(left or right) - 1].scale
            return None if known is None else _code(closure.number(known), scale)

        lows = [limit(ZERO, node) if is_ordered else None for node, is_ordered in zip(nodes, ordered, strict=True)]
        highs = [limit(node, ZERO) if is_ordered else None for node, is_ordered in zip(nodes, ordered, strict=True)]
        alike = [(u, v) for u, v in _pairs(nodes) if attributes[u].scale == attributes[v].scale]
        pairs = [(u, v) for u, v in alike if ordered[u] and ordered[v]]
        differences = [(u, v, limit(nodes[u], nodes[v])) for u, v in pairs]
        return Space(
            tuple(None if low is None else -low for low in lows),
            tuple(highs),
            tuple((u, v, known) for u, v, known in differences if known is not None),
        )

    def _is_whole(self, attribute: ComparedAttribute) -> bool:
        """Whether its values are in order, and finitely many between two of them."""
        kind = self._theory.column(attribute).type.kind
        return kind in _WHOLE or kind is Kind.DECIMAL

    def _has_codes(self, attribute: ComparedAttribute) -> bool:
        """Whether the codes of an attribute are in the order of its values, and none lies between two."""
        precision = self._theory.column(attribute).type.precision
        return self._is_whole(attribute) and (precision is None or precision <= NARROW)

    def _fits(self, attribute: ComparedAttribute) -> bool:
        """Whether it has such codes, or constants keep its values where a narrower type has them."""
        closure = self._theory.closure
        if self._has_codes(attribute) or closure is None or not self._is_whole(attribute):
            return self._has_codes(attribute)
        node, most = closure.node(attribute), 10**NARROW
        ends = closure.above(node), closure.below(node)
        return all(end is not None and closure.number(end) * 10**attribute.scale < most for end in ends)

    def _narrow(self, attribute: ComparedAttribute) -> Column:
        """The column of an attribute, or of the same values in a type that has codes."""
        column = self._theory.column(attribute)
        if self._has_codes(attribute):
            return column
        return Column(column.scope, f"_narrow_{column.name}", decimal(NARROW, attribute.scale))

    def _narrowed(self, attributes: Iterable[ComparedAttribute]) -> Iterator[Output]:
        for attribute in dict.fromkeys(attributes):
            narrow, column = self._narrow(attribute), self._theory.column(attribute)
            if narrow != column:
                yield Output(narrow, Cast(column, narrow.type))


_WHOLE = frozenset({Kind.INT, Kind.BIGINT, Kind.TIMESTAMP, Kind.DATE, Kind.BOOLEAN})


def _true(column: Column) -> DifferenceLimit:
    """That a BOOLEAN is TRUE."""
    return DifferenceLimit(None, column, -1)


def _pairs(nodes: list[int]) -> Iterable[tuple[int, int]]:
    return ((u, v) for u in range(len(nodes)) for v in range(len(nodes)) if u != v)


def _number(constant: object) -> Fraction:
    assert isinstance(constant, int | Fraction)
    return Fraction(constant)


def _code(value: Fraction, scale: int) -> int:
    """A number of a DECIMAL without its point."""
    code = value * 10**scale
    assert code.denominator == 1, "limits of whole numbers are whole"
    return int(code)


def _end(edge: BoxEdge | None, scale: int) -> int | None:
    return None if edge is None else _code(edge.value, scale)

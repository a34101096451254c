"""Blocks as queries of the theory of bounded memory: rows that are alike are kept once, with a count (002).

Every operand that changes is a stream of the theory; only what is read above the join is projected. Columns with
finitely many values that the theory cannot count, as those of a static table, are as good as constants: they split a
query into finitely many, so they are left out, and the size has no number then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isfinite

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, PredicateView, classify
from penstock.algebra.printing import window_text
from penstock.algebra.relations import Relation
from penstock.closing.blocks import Block, Operand
from penstock.closing.bounds import NONE, Bound, BoundKind, entries
from penstock.closing.finite import Finite, finite, intervals
from penstock.closing.proof import Proof
from penstock.register import arithmetic
from penstock.register.arithmetic import (
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    ConstantValue,
    Domain,
    Op,
    Opaque,
    QueryCondition,
)
from penstock.register.arithmetic.closure import Closure, close
from penstock.register.arithmetic.folding import fold
from penstock.register.arithmetic.judge import findings
from penstock.register.arithmetic.synopsis import synopsis
from penstock.types import BOOLEAN, Kind


@dataclass(frozen=True, slots=True)
class Needs:
    """What is read of a join's rows, and whether only once of each."""

    projected: frozenset[Column]
    #: Expressions of which only sums are read.
    summed: tuple[Expr, ...]
    distinct: bool


_FOLDED = "a homomorphism, where appendix C of bounded memory fails"


class ConstantSynopses:
    """What the theory says of a block: of all its operands at once, or with duplicates of each by itself."""

    def __init__(self, relation: Relation, block: Block, needs: Needs) -> None:
        self._translation = _Translation(relation, block, needs)
        self.query = self._translation.query
        self.judgement = arithmetic.judge(self.query)

    def bound(self, operand: Operand) -> tuple[Bound, Proof] | None:
        """How many entries stand for all rows of an operand, if they are finitely many."""
        claim = f"rows of {operand.label} that are alike are counted together"
        rule = "theorem 5.2 of bounded memory" if self.query.distinct else "theorem 4.2 of bounded memory"
        if isinstance(self.judgement, arithmetic.BoundedMemory):
            if self.judgement.contradiction:
                return NONE, Proof("no row can ever be part of a result", "a closure of comparisons without solution")
            stands = dict(self.judgement.folded)
            if operand.name in stands:
                return NONE, Proof(f"{stands[operand.name]} stands for {operand.label}", _FOLDED)
            if stands and len(self.judgement.synopses) == 1:
                return NONE, Proof(f"{operand.label} stands for all that it joins", _FOLDED)
            sizes = {synopsis.stream: synopsis.size for synopsis in self.judgement.synopses}
            return self._counted(sizes[operand.name]), Proof(claim, rule)
        if self.query.distinct or operand.name in self._failing:
            return None
        return Bound(BoundKind.CONSTANT, f"finitely many buckets of {operand.label}"), Proof(claim, rule)

    def synopsis(self, operand: Operand) -> arithmetic.Synopsis | None:
        """What to keep of an operand that has a bound: a row of it, or its count, per values and box.

        None also for an occurrence of a self-join that another stands for: it is not to be joined at all.
        """
        closure = self.closure
        if closure is None or self.bound(operand) is None or fold(self.query)[1]:
            return None
        stream = next(stream for stream in self.query.streams if stream.name == operand.name)
        return synopsis(self.query, closure, stream)

    @cached_property
    def closure(self) -> Closure | None:
        """What all comparisons imply, if they do not contradict each other."""
        return close(self.query)

    def values(self, operand: Operand) -> frozenset[Column]:
        """The columns of an operand that take finitely many values, by whatever reason, and are read."""
        projected = frozenset(self.column(a) for a in self.query.projected if a.stream == operand.name)
        opaque = (a for c in self.query.conditions if isinstance(c, Opaque) for a in c.attributes)
        looked_at = frozenset(self.column(a) for a in opaque if a.stream == operand.name)
        return projected | looked_at | self.split(operand)

    def split(self, operand: Operand) -> frozenset[Column]:
        """The columns of an operand with finitely many values that the theory does not count."""
        return self._translation.split & frozenset(operand.relation.schema)

    def column(self, attribute: ComparedAttribute) -> Column:
        return self._translation.columns[attribute]

    def compares(self, predicate: Expr) -> bool:
        """Whether the theory sees all that a predicate says, and not just of which columns it is."""
        return predicate in self._translation.compared

    def _counted(self, size: int) -> Bound:
        if self._translation.split:
            return Bound(BoundKind.CONSTANT, "finitely many buckets")
        return entries(size, "bucket")

    @cached_property
    def _failing(self) -> frozenset[str]:
        """The streams whose rows differ in infinitely many ways: with duplicates each counts by itself."""
        small, _ = fold(self.query)
        closure = close(small)
        found = findings(small, closure) if closure is not None else ()
        return frozenset(finding.failure.stream for finding in found)


_DOMAINS = {
    Kind.INT: Domain.INTEGER,
    Kind.BIGINT: Domain.INTEGER,
    Kind.TIMESTAMP: Domain.INTEGER,
    Kind.DATE: Domain.INTEGER,
    Kind.BOOLEAN: Domain.INTEGER,
    Kind.DECIMAL: Domain.INTEGER,
    Kind.DOUBLE: Domain.DENSE,
}
#: Digits of a DECIMAL that fits one word.
NARROW = 18
_OPS = {Comparator.LT: Op.LT, Comparator.LE: Op.LE, Comparator.EQ: Op.EQ, Comparator.NE: Op.NE}


class _Translation:
    def __init__(self, relation: Relation, block: Block, needs: Needs) -> None:
        self._operands = {
            column: operand for operand in block.operands if not operand.is_static for column in operand.relation.schema
        }
        self._fixed = frozenset(_uncounted(finite(relation), block.predicates))
        #: Operands of which the theory does not see every condition: they must not be folded onto one another.
        self._obscure: set[str] = set()
        #: The predicates that are comparisons of the theory.
        self.compared: set[Expr] = set()
        conditions = tuple(self._conditions(block.predicates))
        wanted = needs.projected | self._torn_apart(needs.summed)
        projected = [c for c in self._operands if c in wanted and c not in self._fixed]
        booleans = {c for c in self._operands if c.type == BOOLEAN} & (set(projected) | _read(block.predicates))
        # What is compared is not NULL.
        sure = _read(self.compared)
        conditions += tuple(
            between for c in booleans - self._fixed for between in _truth_values(self._attribute(c), c in sure)
        )
        self.query = ConjunctiveQuery(
            tuple(arithmetic.StreamOccurrence(o.name, self._base(o)) for o in block.operands if not o.is_static),
            conditions,
            tuple(self._attribute(column) for column in projected),
            needs.distinct,
        )
        #: What splits the query into finitely many cases, nobody knows how many.
        self.split = self._fixed & (wanted | _read(block.predicates))
        self.columns = {self._attribute(column): column for column in self._operands}

    def _attribute(self, column: Column) -> ComparedAttribute:
        """Occurrences of one stream have the same names; what is computed may have a name from several scopes."""
        operand = self._operands[column]
        name = str(column) if operand.window is None else column.name
        return ComparedAttribute(
            operand.name, name, _DOMAINS.get(column.type.kind, Domain.OTHER), column.type.scale or 0
        )

    def _torn_apart(self, summed: Iterable[Expr]) -> frozenset[Column]:
        """The columns of sums that read several operands: those have no parts to keep."""
        several = [expr for expr in summed if len({self._operands.get(c) for c in columns(expr)}) > 1]
        return _read(several)

    def _conditions(self, predicates: Iterable[Expr]) -> Iterator[QueryCondition]:
        """What predicates say; a filter that says nothing here has done its work when a row comes in."""
        for predicate in predicates:
            view = classify(predicate)
            # A comparison with finitely many values splits the others into finitely many intervals.
            plain = columns(predicate) <= self._operands.keys() - self._fixed
            comparison = (self._comparison(view) or self._plain_comparison(predicate)) if plain else None
            if comparison is not None:
                self.compared.add(predicate)
                yield comparison
                continue
            read = [column for column in columns(predicate) if column in self._operands]
            self._obscure |= {self._operands[column].name for column in read}
            # For each of finitely many values, what is said of one operand alone is a filter. What is said of several
            # is a comparison of them still.
            open_ = [column for column in read if column not in self._fixed]
            if len({self._operands[column].name for column in open_}) > 1:
                yield Opaque(frozenset(self._attribute(column) for column in open_))

    def _plain_comparison(self, predicate: Expr) -> Comparison | None:
        """What has no view, for there are no sums of it: an order of decimals, and values that differ.

        Decimals that do not fit one word have no order at run time.
        """
        match predicate:
            case Compare(op, Column() as left, Column() as right) if left.type == right.type and left != right:
                is_decimal = left.type.kind is Kind.DECIMAL
                is_wide = is_decimal and (left.type.precision or 0) > NARROW
                if not is_wide and (op is Comparator.NE or (is_decimal and op is not Comparator.SAME)):
                    return _compared(self._attribute(left), op, self._attribute(right), 0)
        return None

    def _comparison(self, view: PredicateView | None) -> Comparison | None:
        match view:
            case ColumnEquality(left, right):
                return _compared(self._attribute(left), Comparator.EQ, self._attribute(right), 0)
            case ColumnDifference(left, right, op, constant):
                return _compared(self._attribute(left), op, self._attribute(right), constant)
            case ColumnBound(column, op, value) if not (isinstance(value, float) and not isfinite(value)):
                return _compared(self._attribute(column), op, _constant(value), 0)
        return None

    def _base(self, operand: Operand) -> str:
        """The name that occurrences share which have the same rows."""
        if operand.window is None or operand.name in self._obscure:
            return f"#{operand.name}"
        return f"{operand.window.stream.name} {window_text(operand.window.spec)}"


def _compared(
    left: ComparedAttribute, op: Comparator, right: ComparedAttribute | arithmetic.ConstantValue, offset: int
) -> Comparison | None:
    """`left op right + offset`, where the theory has such a comparison."""
    if isinstance(right, ComparedAttribute) and right.domain is not left.domain:
        return None
    if left.domain is Domain.OTHER and (offset or op not in (Comparator.EQ, Comparator.NE)):
        return None
    if op in _OPS:
        return Comparison(left, _OPS[op], right, offset)
    return Comparison(right, _OPS[op.mirrored], left, -offset)


def _constant(value: object) -> ConstantValue:
    match value:
        case bool():
            return int(value)
        case float() | Decimal():
            return Fraction(value)
    return value


def _uncounted(known: Finite, predicates: tuple[Expr, ...]) -> Iterator[Column]:
    """Columns that are finite for another reason than an interval of whole numbers, which the theory counts itself."""
    counted = {c for c, (low, high) in intervals(predicates).items() if low is not None and high is not None}
    yield from (column for column in known if column not in counted and column.type != BOOLEAN)


def _truth_values(attribute: ComparedAttribute, is_sure: bool) -> Iterator[Comparison]:
    """From FALSE to TRUE, and below them NULL."""
    yield Comparison(0 if is_sure else -1, Op.LE, attribute)
    yield Comparison(attribute, Op.LE, 1)


def _read(exprs: Iterable[Expr]) -> frozenset[Column]:
    return frozenset(column for expr in exprs for column in columns(expr))

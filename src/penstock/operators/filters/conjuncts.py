"""The conjuncts of a predicate by what they cost for a row: comparisons, arithmetic, and all that is dear.

Only top-level conjuncts commute, so only these are told apart. *Cheap* ones, below some 10 ns a row, are evaluated
together: to measure them one by one costs more than an order of theirs can save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Negate,
    Not,
    Or,
    conjuncts,
)
from penstock.synopsis.codes import is_interned
from penstock.types import BIGINT, INT, Kind, Type

_Operand = Callable[[Expr], bool]

#: Options of an IN up to which it is as cheap as comparisons are.
FEW_OPTIONS = 16


@dataclass(frozen=True, slots=True)
class Conjuncts:
    """The conjuncts of a predicate, each class in the order in which they are written."""

    #: Comparisons, null tests and small INs of plain columns and constants, and what AND, OR and NOT make of them.
    cheap: tuple[Expr, ...]
    #: The same over arithmetic.
    computed: tuple[Expr, ...]
    #: All others: functions, LIKE, large INs, casts, orders of strings.
    dear: tuple[Expr, ...]

    @classmethod
    def of(cls, exprs: Iterable[Expr]) -> Conjuncts:
        """Tells the conjuncts of some predicates apart.

        >>> from penstock.algebra.expressions import Like, Operator
        >>> from penstock.types import STRING
        >>> x, name = Column("s", "x", BIGINT), Column("s", "name", STRING)
        >>> small = Compare(Comparator.LT, x, Literal(5, BIGINT))
        >>> odd = Compare(Comparator.LT, Arithmetic(Operator.ADD, x, x), Literal(5, BIGINT))
        >>> found = Conjuncts.of([Like(name, "a%"), And((small, odd))])
        >>> found.cheap == (small,), found.computed == (odd,), found.dear == (Like(name, "a%"),)
        (True, True, True)
        """
        parts = [part for expr in exprs for part in conjuncts(expr)]
        cheap = [part for part in parts if _is_test(part, _is_plain)]
        computed = [part for part in parts if _is_test(part, _is_computed) and part not in cheap]
        return cls(tuple(cheap), tuple(computed), tuple(p for p in parts if p not in cheap and p not in computed))


def _is_test(expr: Expr, is_operand: _Operand) -> bool:
    match expr:
        case Compare(op, left, right):
            return _is_compared_by_code(left.type, op) and is_operand(left) and is_operand(right)
        case IsNull(arg):
            return is_operand(arg)
        case In(arg, options):
            few = len(options) <= FEW_OPTIONS and all(isinstance(option, Literal) for option in options)
            return few and is_operand(arg)
        case And(args) | Or(args):
            return all(_is_test(arg, is_operand) for arg in args)
        case Not(arg):
            return _is_test(arg, is_operand)
        case Column() | Literal():
            return True
    return False


def _is_compared_by_code(type_: Type, op: Comparator) -> bool:
    """Whether values are compared as numbers. Strings have codes that are equal where they are, but in no order."""
    if type_.kind in (Kind.STRING, Kind.BINARY):
        return op in (Comparator.EQ, Comparator.NE, Comparator.SAME)
    return not is_interned(type_)


def _is_plain(expr: Expr) -> bool:
    """Whether it is a column or a constant, but for a cast that changes no code."""
    match expr:
        case Column() | Literal():
            return not (expr.type.kind is Kind.DECIMAL and is_interned(expr.type))
        case Cast(arg) if arg.type == INT and expr.type == BIGINT:
            return _is_plain(arg)
    return False


def _is_computed(expr: Expr) -> bool:
    """Whether it is arithmetic of machine words."""
    match expr:
        case Arithmetic(_, left, right):
            return expr.type.kind is not Kind.DECIMAL and _is_computed(left) and _is_computed(right)
        case Negate(arg):
            return expr.type.kind is not Kind.DECIMAL and _is_computed(arg)
    return _is_plain(expr)

"""The conjuncts of a predicate by what they cost for a row: cheap, computed, and dear.

Only top-level conjuncts commute, so only these are told apart. Cheap and computed ones, below some 10 ns a row, are not
worth an order of their own: to measure them one by one costs more than any order can save.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    IsNull,
    Literal,
    Negate,
    Not,
    Or,
    conjuncts,
)
from penstock.algebra.relations import Schema
from penstock.operators.filters.clauses import Clauses, split
from penstock.synopsis.codes import is_interned
from penstock.types import BIGINT, INT, Kind, Type


@dataclass(frozen=True, slots=True)
class Conjuncts:
    """The conjuncts of a predicate, each class in the order in which they are written."""

    #: Tests of plain columns and constants, for one kernel.
    cheap: Clauses
    #: Comparisons of what arithmetic makes of numbers, for numpy.
    computed: tuple[Expr, ...]
    #: All others: user functions, LIKE, large INs, functions and orders of strings, wide decimals.
    dear: tuple[Expr, ...]

    @classmethod
    def of(cls, exprs: Iterable[Expr], schema: Schema) -> Conjuncts:
        """Tells the conjuncts of some predicates over a schema apart.

        >>> from penstock.algebra.expressions import Like, Operator
        >>> from penstock.types import STRING
        >>> x, name = Column("s", "x", BIGINT), Column("s", "name", STRING)
        >>> small = Compare(Comparator.LT, x, Literal(5, BIGINT))
        >>> odd = Compare(Comparator.LT, Arithmetic(Operator.ADD, x, x), Literal(5, BIGINT))
        >>> found = Conjuncts.of([Like(name, "a%"), And((small, odd))], (x, name))
        >>> len(found.cheap), found.computed == (odd,), found.dear == (Like(name, "a%"),)
        (1, True, True)
        """
        parts = [part for expr in exprs for part in conjuncts(expr)]
        cheap, others = split(parts, schema)
        computed = tuple(part for part in others if _is_computed(part))
        return cls(cheap, computed, tuple(part for part in others if part not in computed))


def _is_computed(expr: Expr) -> bool:
    match expr:
        case Compare(op, left, right):
            return _is_compared_by_code(left.type, op) and _is_number(left) and _is_number(right)
        case IsNull(arg):
            return _is_number(arg)
        case And(args) | Or(args):
            return all(map(_is_computed, args))
        case Not(arg):
            return _is_computed(arg)
        case Column() | Literal():
            return True
    return False


def _is_compared_by_code(type_: Type, op: Comparator) -> bool:
    """Whether values are compared as numbers. Strings have codes that are equal where they are, but in no order."""
    if type_.kind in (Kind.STRING, Kind.BINARY):
        return op in (Comparator.EQ, Comparator.NE, Comparator.SAME)
    return not is_interned(type_)


def _is_number(expr: Expr) -> bool:
    """Whether it is a column, a constant, or arithmetic of machine words."""
    match expr:
        case Column() | Literal():
            return not (expr.type.kind is Kind.DECIMAL and is_interned(expr.type))
        case Cast(arg) if arg.type == INT and expr.type == BIGINT:
            return _is_number(arg)
        case Arithmetic(_, left, right):
            return expr.type.kind is not Kind.DECIMAL and _is_number(left) and _is_number(right)
        case Negate(arg):
            return expr.type.kind is not Kind.DECIMAL and _is_number(arg)
    return False

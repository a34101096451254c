"""Random expressions of every kind over `columns.SCHEMA`.

`of` gives an expression of a type that is asked for, `anything` one of the type that its parts happen to give.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache, partial

from hypothesis import strategies as st

from penstock.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Operator,
    Or,
    arithmetic_type,
    can_cast,
)
from penstock.algebra.functions import FUNCTIONS, TRUNCATION_UNITS
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    decimal,
)
from tests.operators.columns import PRICE, VALUES, WIDE, columns_of, decimals, or_null

TYPES = tuple(VALUES)
NUMBERS = tuple(type_ for type_ in TYPES if type_.is_numeric)
PATTERNS = ["", "%", "_", "a%", "%b%", "a_", "\\%", "a\\", "%%_", "_\\_%", "\n", "%é%"]

#: For each function the types that it takes; a call for each is tested.
SIGNATURES: dict[str, tuple[tuple[Type, ...], ...]] = {
    **dict.fromkeys(("ABS", "CEIL", "FLOOR"), tuple((type_,) for type_ in NUMBERS)),
    "ROUND": ((DOUBLE,), (DOUBLE, INT)),
    **dict.fromkeys(("SQRT", "EXP", "LN"), ((DOUBLE,),)),
    "POWER": ((DOUBLE, DOUBLE),),
    **dict.fromkeys(("GREATEST", "LEAST"), tuple((type_,) * count for type_ in TYPES for count in (2, 3))),
    "COALESCE": tuple((type_,) * count for type_ in TYPES for count in (1, 3)),
    **dict.fromkeys(("UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM", "REVERSE"), ((STRING,),)),
    "LENGTH": ((STRING,), (BINARY,)),
    "CONCAT": ((STRING,), (STRING, STRING), (STRING,) * 3),
    "SUBSTRING": ((STRING, INT), (STRING, INT, INT)),
    "REPLACE": ((STRING,) * 3,),
    **dict.fromkeys(("CONTAINS", "STARTSWITH", "ENDSWITH", "INSTR"), ((STRING, STRING),)),
    **dict.fromkeys(("UNIX_MICROS", "UNIX_MILLIS", "UNIX_SECONDS", "HOUR", "MINUTE", "SECOND"), ((TIMESTAMP,),)),
    **dict.fromkeys(("TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "TIMESTAMP_SECONDS"), ((BIGINT,),)),
    "DATE_TRUNC": ((STRING, TIMESTAMP),),
    "RLIKE": ((STRING, STRING),),
    "REGEXP_EXTRACT": ((STRING, STRING, INT),),
    "TO_TIMESTAMP": ((STRING, STRING),),
    "DATE_FORMAT": ((TIMESTAMP, STRING),),
    **dict.fromkeys(("YEAR", "MONTH", "DAY"), ((TIMESTAMP,), (DATE,))),
}
#: The same as pairs, without the types that a function widens before it takes them.
CALLS = tuple(
    (name, types)
    for name, signatures in SIGNATURES.items()
    for types in signatures
    if (fit := FUNCTIONS[name].rule(types)) and fit[0] == types
)

PATTERNS = ("(a)", "^a(b|c)?$", r"(\w+)\s", r"([^a-c]{2,3})", r"(\d*)\.?$", "a|(b)", r"\b(.)", r"(é|日)+?", "(x*)y")
FORMATS = ("yyyy-MM-dd HH:mm:ss.SSSSSS", "d.M.yyyy", "yyyyMMdd'T'HHmmss", "HH 'o''clock' m:s", "SSS", "yy/MM")

#: The pairs of types that can be added, multiplied and so on.
OPERATIONS = tuple(
    (op, left, right) for op in Operator for left in TYPES for right in TYPES if arithmetic_type(op, left, right)
)
CASTS = tuple((source, target) for source in (*TYPES, NULL) for target in TYPES if can_cast(source, target))


def _columns(types: tuple[Type, ...]) -> tuple[Expr, ...]:
    return tuple(columns_of(type_)[0] for type_ in types)


def leaves(type_: Type) -> st.SearchStrategy[Expr]:
    literals = or_null(VALUES[type_] if type_ in VALUES else decimals(type_)).map(lambda value: Literal(value, type_))
    own = columns_of(type_)
    return st.one_of(st.sampled_from(own), st.sampled_from(own), literals) if own else literals


@st.composite
def of(draw: st.DrawFn, type_: Type, depth: int = 2) -> Expr:
    """An expression of a type."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaves(type_))
    return draw(draw(st.sampled_from(_makers(type_)))(depth - 1))


@st.composite
def anything(draw: st.DrawFn, depth: int = 2) -> Expr:
    """An expression of any type, and often of a DECIMAL type that no column has."""
    if depth > 0 and draw(st.booleans()):
        return draw(arithmetic(draw(st.sampled_from(Operator)), *draw(_DECIMAL_PAIRS), depth - 1))
    return draw(of(draw(st.sampled_from(TYPES)), depth))


_DECIMAL_PAIRS = st.tuples(*[st.sampled_from([PRICE, WIDE, decimal(1, 0), decimal(20, 0), decimal(9, 9)])] * 2)


@cache
def _makers(type_: Type) -> list[Callable[[int], st.SearchStrategy[Expr]]]:
    """What makes expressions of a type from expressions of some depth."""
    makers: list[Callable[[int], st.SearchStrategy[Expr]]] = [partial(case, type_)]
    makers += [partial(calls, name, types) for name, types in CALLS if Call(name, _columns(types)).type == type_]
    makers += [partial(arithmetic, *operation) for operation in OPERATIONS if arithmetic_type(*operation) == type_]
    makers += [partial(cast, source, type_) for source, target in CASTS if target == type_ and source != NULL]
    makers += [predicates] * len(makers) if type_ == BOOLEAN else []
    makers += [partial(negation, type_)] if type_.is_numeric or type_ == INTERVAL else []
    return makers


def arithmetic(op: Operator, left: Type, right: Type, depth: int) -> st.SearchStrategy[Expr]:
    return st.builds(Arithmetic, st.just(op), of(left, depth), of(right, depth))


def negation(type_: Type, depth: int) -> st.SearchStrategy[Expr]:
    return of(type_, depth).map(Negate)


def case(type_: Type, depth: int) -> st.SearchStrategy[Expr]:
    branches = st.lists(st.tuples(of(BOOLEAN, depth), of(type_, depth)), min_size=1, max_size=2)
    return st.builds(lambda pairs, other: Case(*zip(*pairs, strict=True), other), branches, of(type_, depth))


def cast(source: Type, target: Type, depth: int) -> st.SearchStrategy[Expr]:
    if source.kind is not Kind.DECIMAL:
        return of(source, depth).map(lambda expr: Cast(expr, target))
    if target != STRING:
        return anything(depth).filter(lambda expr: can_cast(expr.type, target)).map(lambda expr: Cast(expr, target))
    # The sum has no sign if it is zero: the reference prints the opposite of 0 as -0.
    zero = Literal(Decimal(0), decimal(1, 0))
    return of(source, depth).map(lambda expr: Cast(Arithmetic(Operator.ADD, expr, zero), STRING))


@st.composite
def calls(draw: st.DrawFn, name: str, types: tuple[Type, ...], depth: int) -> Expr:
    args = [draw(of(type_, depth)) for type_ in types]
    if name == "DATE_TRUNC":
        args[0] = Literal(draw(or_null(st.sampled_from(TRUNCATION_UNITS))), STRING)
    if name in ("RLIKE", "REGEXP_EXTRACT"):
        args[1] = Literal(draw(or_null(st.sampled_from(PATTERNS))), STRING)
    if name == "REGEXP_EXTRACT":
        args[2] = Literal(draw(st.integers(0, 1)), INT)
    if name in ("TO_TIMESTAMP", "DATE_FORMAT"):
        form = draw(or_null(st.sampled_from(FORMATS)))
        args[1] = Literal(form, STRING)
        if name == "TO_TIMESTAMP" and form is not None and draw(st.booleans()):
            args[0] = Call("DATE_FORMAT", (draw(leaves(TIMESTAMP)), Literal(form, STRING)))
    return Call(name, tuple(args))


def predicates(depth: int) -> st.SearchStrategy[Expr]:
    return st.sampled_from([(make, type_) for make in _PREDICATES for type_ in TYPES]).flatmap(
        lambda chosen: chosen[0](of(chosen[1], depth), of(BOOLEAN, depth))
    )


def _several(values: st.SearchStrategy[Expr], least: int) -> st.SearchStrategy[tuple[Expr, ...]]:
    return st.lists(values, min_size=least, max_size=least + 2).map(tuple)


_Exprs = st.SearchStrategy[Expr]
_PREDICATES: tuple[Callable[[_Exprs, _Exprs], _Exprs], ...] = (
    lambda value, truth: _several(truth, 2).map(And),
    lambda value, truth: _several(truth, 2).map(Or),
    lambda value, truth: truth.map(Not),
    lambda value, truth: value.map(IsNull),
    lambda value, truth: st.builds(Compare, st.sampled_from(Comparator), value, value),
    lambda value, truth: st.builds(In, value, _several(value, 1)),
    lambda value, truth: st.builds(Like, of(STRING, 1), st.sampled_from(PATTERNS), st.sampled_from(["\\", "a", "%"])),
)

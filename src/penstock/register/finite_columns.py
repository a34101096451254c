"""Columns of which the few values are known: those of a list, and those of a table.

They are as good as constants (`register/constant_synopses.py`): of a row that is compared with such a column, only the
outcome for each of its values counts. What is equal to such a column has its values, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, In, Literal, Or, columns, substitute
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.types import BOOLEAN, INT, INT_RANGE, Kind, Type

#: With more cases than these a predicate is not examined case by case.
MOST_CASES = 64

#: The values of columns.
ValuesOfColumns = Mapping[Column, tuple[Literal, ...]]


def listed(predicates: Sequence[Expr]) -> ValuesOfColumns:
    """The columns whose values predicates list, and what is equal to them, with these values.

    >>> from penstock.types import BIGINT
    >>> a, b = Column("s", "a", BIGINT), Column("t", "b", BIGINT)
    >>> few = In(a, (Literal(1, BIGINT), Literal(5, BIGINT)))
    >>> [literal.value for literal in listed([few, Compare(Comparator.EQ, a, b)])[b]]
    [1, 5]
    """
    found: dict[Column, tuple[Literal, ...]] = {}
    for predicate in predicates:
        for column, values in _of_predicate(predicate).items():
            if column not in found or len(values) < len(found[column]):
                found[column] = values
    for same in equal_columns(predicates):
        shortest = min((found[column] for column in same if column in found), key=len, default=None)
        for column in same if shortest is not None else ():
            values = _of_type(shortest or (), column.type)
            if column not in found or len(values) < len(found[column]):
                found[column] = values
    return found


def equal_columns(predicates: Iterable[Expr]) -> list[set[Column]]:
    """The classes of columns that predicates make equal."""
    classes: list[set[Column]] = []
    for view in map(classify, predicates):
        if isinstance(view, ColumnEquality):
            touching = [same for same in classes if view.left in same or view.right in same]
            classes = [same for same in classes if same not in touching]
            classes.append({view.left, view.right}.union(*touching))
    return classes


def cases(predicate: Expr, own: frozenset[Column], known: ValuesOfColumns) -> tuple[Expr, ...] | None:
    """What a predicate says of one's own columns, for each combination of the others' values, if these are known."""
    others = sorted(columns(predicate) - own, key=str)
    if not all(column in known for column in others):
        return None
    combinations = list(product(*(known[column] for column in others)))
    if len(combinations) > MOST_CASES:
        return None
    return tuple(substitute(predicate, dict(zip(others, values, strict=True))) for values in combinations)


def against(
    predicate: Expr, own: frozenset[Column], tables: Mapping[int, frozenset[Column]], same: Iterable[set[Column]]
) -> tuple[Expr, int, Expr] | None:
    """The sides of a comparison of one's own columns with those of one of some tables, and the table.

    What is equal to a table's column stands for it: all that ever counts of it are the table's values.
    """
    match predicate:
        case Compare(op, left, right) if op is not Comparator.SAME:
            for mine, theirs in ((left, right), (right, left)):
                if columns(mine) and columns(mine) <= own and columns(theirs) and not columns(theirs) & own:
                    return next(_in_table(op, mine, theirs, tables, list(same)), None)
    return None


def _in_table(
    op: Comparator, mine: Expr, theirs: Expr, tables: Mapping[int, frozenset[Column]], same: list[set[Column]]
) -> Iterator[tuple[Expr, int, Expr]]:
    if op not in (Comparator.EQ, Comparator.NE) and mine.type.kind in _UNORDERED:
        return
    for number, schema in tables.items():
        stands = {column: found for column in columns(theirs) if (found := of_table(column, schema, same)) is not None}
        # The codes of values that nobody stores may be given to others.
        is_stored = isinstance(theirs, Column) or theirs.type.kind not in _UNORDERED
        if len(stands) == len(columns(theirs)) and is_stored:
            yield mine, number, substitute(theirs, stands)


#: Whose codes are in no order, or too long for one word.
_UNORDERED = frozenset({Kind.STRING, Kind.BINARY, Kind.DECIMAL})


def of_table(column: Column, schema: frozenset[Column], same: Iterable[set[Column]]) -> Column | None:
    """A table's column that a column is, or is equal to, with values of the same type."""
    if column in schema:
        return column
    equals = (other for each in same if column in each for other in sorted(each & schema, key=str))
    return next((other for other in equals if other.type == column.type), None)


def _of_predicate(predicate: Expr) -> dict[Column, tuple[Literal, ...]]:
    match predicate:
        case In(Column() as column, options):
            literals = tuple(option for option in options if isinstance(option, Literal))
            return {column: literals} if len(literals) == len(options) else {}
        case Compare(Comparator.EQ, Column() as column, Literal() as value):
            return {column: (value,)}
        case Compare(Comparator.EQ, Literal() as value, Column() as column):
            return {column: (value,)}
        case Or(args):
            branches = [_of_predicate(arg) for arg in args]
            shared = set(branches[0]).intersection(*branches[1:])
            return {
                column: tuple(dict.fromkeys(value for branch in branches for value in branch[column]))
                for column in shared
            }
    return {}


def _of_type(values: Iterable[Literal], type_: Type) -> tuple[Literal, ...]:
    """The values that a column of another integer type can have."""
    found = []
    for value in values:
        number = value.value
        if value.type == type_:
            found.append(value)
        elif isinstance(number, int) and BOOLEAN not in (value.type, type_):
            low, high = INT_RANGE
            found += [Literal(number, type_)] if type_ != INT or low <= number <= high else []
    return tuple(found)

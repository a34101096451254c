"""Constraints over streams: definition 1 of 001, over tuple variables instead of vectors of variables.

For all rows `each` for which the premise is true there are rows `some` for which the conclusion is true. Conditions are
equalities of cells, bounds of differences of times, and congruences of them. A condition is true only of values: NULL
equals nothing, itself included, so `x.a = x.a` says that x has an a. Times are whole numbers from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.algebra.expressions import Value, require

#: In place of a row's name: the instant 0.
ORIGIN = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple variable, or a row that is known to exist."""

    stream: str
    name: str

    def __str__(self) -> str:
        return f"{self.stream} {self.name}"


@dataclass(frozen=True, slots=True)
class Cell:
    row: str
    column: str

    def __str__(self) -> str:
        return f"{self.row}.{self.column}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is written in a condition. Different constants are different values."""

    value: Value

    def __str__(self) -> str:
        return repr(self.value)


Term: TypeAlias = Cell | Constant


@dataclass(frozen=True, slots=True)
class Equal:
    """Both have a value, and it is the same."""

    left: Cell
    right: Term

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The time of `later` is at most so much after that of `earlier`; a negative `most` puts it before."""

    later: str
    earlier: str
    most: int

    def __str__(self) -> str:
        if self.earlier == ORIGIN:
            return f"{_time(self.later)} <= {self.most}"
        if self.later == ORIGIN:
            return f"{_time(self.earlier)} >= {-self.most}"
        if self.most == 0:
            return f"{_time(self.later)} <= {_time(self.earlier)}"
        return f"{_time(self.later)} - {_time(self.earlier)} <= {self.most}"

    @property
    def negated(self) -> AtMost:
        """The condition that is true where this one is false: time is discrete."""
        return AtMost(self.earlier, self.later, -self.most - 1)


@dataclass(frozen=True, slots=True)
class Congruent:
    """The time of `left` minus that of `right` leaves the residue when it is divided by the modulus."""

    left: str
    right: str
    modulus: int
    residue: int

    def __post_init__(self) -> None:
        require(self.modulus > 0 and 0 <= self.residue < self.modulus, f"no congruence: {self.residue}")

    def __str__(self) -> str:
        left = _time(self.left) if self.right == ORIGIN else f"({_time(self.left)} - {_time(self.right)})"
        return f"{left} % {self.modulus} = {self.residue}"


TimeCondition: TypeAlias = AtMost | Congruent
Condition: TypeAlias = Equal | AtMost | Congruent


def _time(row: str) -> str:
    return f"{row}.time" if row != ORIGIN else "0"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One promise; `name` is the declaration that makes it."""

    name: str
    each: tuple[Row, ...]
    premise: tuple[Condition, ...]
    some: tuple[Row, ...]
    conclusion: tuple[Condition, ...]

    def __str__(self) -> str:
        premise = f" where {conditions_text(self.premise)}" if self.premise else ""
        conclusion = conditions_text(self.conclusion) if self.conclusion else "true"
        exists = f"exists {', '.join(map(str, self.some))} where " if self.some else ""
        return f"{self.name}: for {', '.join(map(str, self.each))}{premise} then {exists}{conclusion}"


#: What no row satisfies: a conclusion that is this refutes its premise.
FALSE = AtMost(ORIGIN, ORIGIN, -1)


def conditions_text(conditions: Iterable[Condition]) -> str:
    return " and ".join("false" if condition == FALSE else str(condition) for condition in conditions)


def renamed(condition: Condition, names: Mapping[str, str]) -> Condition:
    """The condition about other rows; a name that is not mentioned stays.

    >>> str(renamed(AtMost("x", "y", 5), {"x": "bid1"}))
    'bid1.time - y.time <= 5'
    """
    match condition:
        case Equal(left, right):
            return Equal(_renamed_cell(left, names), _renamed_cell(right, names) if isinstance(right, Cell) else right)
        case AtMost(later, earlier, most):
            return AtMost(names.get(later, later), names.get(earlier, earlier), most)
        case Congruent(left, right, modulus, residue):
            return Congruent(names.get(left, left), names.get(right, right), modulus, residue)


def _renamed_cell(cell: Cell, names: Mapping[str, str]) -> Cell:
    return Cell(names.get(cell.row, cell.row), cell.column)


def rows_of(condition: Condition) -> frozenset[str]:
    """The names of the rows that a condition is about."""
    match condition:
        case Equal(left, right):
            return frozenset({left.row} | ({right.row} if isinstance(right, Cell) else set()))
        case AtMost(one, other, _):
            return frozenset({one, other} - {ORIGIN})
        case Congruent(one, other, _, _):
            return frozenset({one, other} - {ORIGIN})

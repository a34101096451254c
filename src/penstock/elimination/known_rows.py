"""The rows that a chase supposes to exist, and what it knows of their cells and times.

Cells are equal by union and find. A cell that no equality mentions may be NULL, and in the least model it is: so a
condition on data is true in the least model just where it follows from what is known.
"""

from __future__ import annotations

from penstock.elimination.constraints import Cell, Condition, Constant, Equal, Row, Term
from penstock.elimination.times import Times


class KnownRows:
    """Rows by their names, in the order in which they were found."""

    __slots__ = ("ages", "constants", "has_clash", "have_value", "of_stream", "parents", "rows", "times")

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        #: How many rows were there before each.
        self.ages: dict[str, int] = {}
        self.of_stream: dict[str, tuple[str, ...]] = {}
        self.times = Times()
        self.parents: dict[Term, Term] = {}
        #: The representatives of cells that are not NULL.
        self.have_value: set[Term] = set()
        self.constants: dict[Term, Constant] = {}
        self.has_clash = False

    def copy(self) -> KnownRows:
        other = KnownRows()
        other.rows, other.of_stream = dict(self.rows), dict(self.of_stream)
        other.ages, other.times = dict(self.ages), self.times.copy()
        other.parents, other.have_value = dict(self.parents), set(self.have_value)
        other.constants, other.has_clash = dict(self.constants), self.has_clash
        return other

    @property
    def are_impossible(self) -> bool:
        return self.has_clash or self.times.is_contradictory

    def add_row(self, row: Row) -> None:
        self.ages[row.name] = len(self.rows)
        self.rows[row.name] = row
        self.of_stream[row.stream] = (*self.of_stream.get(row.stream, ()), row.name)
        self.times.add_row(row.name)

    def add(self, condition: Condition) -> None:
        if isinstance(condition, Equal):
            self._equate(condition.left, condition.right)
        else:
            self.times.add(condition)

    def implies(self, condition: Condition) -> bool:
        if isinstance(condition, Equal):
            return self.are_equal(condition.left, condition.right)
        return self.times.implies(condition)

    def are_equal(self, left: Cell, right: Term) -> bool:
        """Whether two cells must be equal; in the least model no others are."""
        found = self.find(left)
        if found not in self.have_value:
            return False
        if isinstance(right, Constant):
            return self.constants.get(found) == right
        return found == self.find(right)

    def find(self, term: Term) -> Term:
        while (parent := self.parents.get(term, term)) != term:
            term = parent
        return term

    def value(self, cell: Cell) -> Term | None:
        """What stands for a cell's value, and None for NULL."""
        found = self.find(cell)
        return self.constants.get(found, found) if found in self.have_value else None

    def _equate(self, left: Term, right: Term) -> None:
        for term in (left, right):
            if isinstance(term, Constant):
                self.constants.setdefault(self.find(term), term)
        one, other = self.find(left), self.find(right)
        if one != other:
            self.parents[other] = one
            self.have_value.discard(other)
            constant = self.constants.pop(other, None)
            if constant is not None:
                self.has_clash |= self.constants.setdefault(one, constant) != constant
        self.have_value.add(one)

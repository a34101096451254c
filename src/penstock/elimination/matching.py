"""Where the premise of a constraint holds among known rows, and whether its conclusion does: a backtracking join."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.effort import spend
from penstock.elimination.constraints import Cell, Condition, Constant, Constraint, Equal, Row, rows_of
from penstock.elimination.known_rows import KnownRows
from penstock.elimination.times import satisfied


@dataclass(frozen=True, slots=True)
class Pattern:
    """Rows to be found, and after each one the conditions that can be examined then."""

    rows: tuple[Row, ...]
    conditions: tuple[tuple[Condition, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Row], conditions: Iterable[Condition]) -> Pattern:
        names = [row.name for row in rows]
        by_depth: list[list[Condition]] = [[] for _ in range(len(rows) + 1)]
        for condition in conditions:
            own = [names.index(name) + 1 for name in rows_of(condition) if name in names]
            by_depth[max(own, default=0)].append(condition)
        return cls(tuple(rows), tuple(map(tuple, by_depth)))

    def matches(
        self, known: KnownRows, times: Mapping[str, int], names: Mapping[str, str] | None = None
    ) -> Iterator[dict[str, str]]:
        """The rows that the variables may stand for, in the least model with these times."""
        bound = dict(names or {})
        if all(_holds(condition, known, times, bound) for condition in self.conditions[0]):
            yield from self._from(0, bound, known, times)

    def _from(
        self, depth: int, bound: dict[str, str], known: KnownRows, times: Mapping[str, int]
    ) -> Iterator[dict[str, str]]:
        if depth == len(self.rows):
            yield dict(bound)
            return
        variable = self.rows[depth]
        for name in tuple(known.of_stream.get(variable.stream, ())):
            spend()
            bound[variable.name] = name
            if all(_holds(condition, known, times, bound) for condition in self.conditions[depth + 1]):
                yield from self._from(depth + 1, bound, known, times)
        bound.pop(variable.name, None)


@dataclass(frozen=True, slots=True)
class Rule:
    """A constraint with its two patterns."""

    constraint: Constraint
    premise: Pattern
    conclusion: Pattern

    @classmethod
    def of(cls, constraint: Constraint) -> Rule:
        premise = Pattern.of(constraint.each, constraint.premise)
        return cls(constraint, premise, Pattern.of(constraint.some, constraint.conclusion))

    def broken(self, known: KnownRows, times: Mapping[str, int]) -> Iterator[dict[str, str]]:
        """Where the least model with these times breaks the constraint."""
        for names in self.premise.matches(known, times):
            if next(self.conclusion.matches(known, times, names), None) is None:
                yield names


def _holds(condition: Condition, known: KnownRows, times: Mapping[str, int], names: Mapping[str, str]) -> bool:
    if isinstance(condition, Equal):
        left = Cell(names.get(condition.left.row, condition.left.row), condition.left.column)
        right = condition.right
        if not isinstance(right, Constant):
            right = Cell(names.get(right.row, right.row), right.column)
        return known.are_equal(left, right)
    return satisfied(condition, times, names)

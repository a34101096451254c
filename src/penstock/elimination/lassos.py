"""Counter-models out of what a chase has found: the least model of its rows, or one that repeats a part of them.

```text
  x ──▶ b ──▶ a ──▶ b' ──▶ a' ──▶ ...       a' has the same data as a, and follows from it a while later
  └─ once ──┘ └─ again and again ─┘         so guess that what lies between comes again with that period
```

A guess is a guess: the model checker decides. For constraints without data variables of their own (definition 1 of
001) there are finitely many rows but for their times, so such a repetition comes if the chase does not end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.elimination.constraints import Cell, Condition, Constant, Constraint, Equal, Term
from penstock.elimination.known_rows import KnownRows
from penstock.elimination.model_checker import breaks
from penstock.elimination.models import Model, ModelRow, Unnamed

#: How many guesses are checked per question.
MOST_GUESSES = 12

Parents = Mapping[str, tuple[str, ...]]


class Lassos:
    def __init__(self, theory: Sequence[Constraint], goal: Constraint) -> None:
        self._theory = theory
        self._goal = goal
        self.columns = _columns((*theory, goal))
        self._guesses = 0

    def least_model(self, known: KnownRows, times: Mapping[str, int]) -> Model:
        return Model(tuple(self._rows(known, times, known.rows, {})))

    def repeated(self, known: KnownRows, times: Mapping[str, int], parents: Parents) -> Model | None:
        """A periodic counter-model that passes the check, guessed from the newest row."""
        newest = next(reversed(known.rows))
        for start in self._ancestors(newest, parents):
            period = times[newest] - times[start]
            if period > 0 and self._data(start, known) == self._data(newest, known):
                return self._guess(known, times, parents, start, newest)
        return None

    def _guess(
        self, known: KnownRows, times: Mapping[str, int], parents: Parents, start: str, again: str
    ) -> Model | None:
        if self._guesses >= MOST_GUESSES:
            return None
        self._guesses += 1
        period = times[again] - times[start]
        kept = [row for row in known.rows if again not in (row, *self._ancestors(row, parents))]
        periods = {row: period for row in kept if start in (row, *self._ancestors(row, parents))}
        model = Model(tuple(self._rows(known, times, kept, periods)))
        return model if breaks(model, self._theory, self._goal) else None

    def _ancestors(self, row: str, parents: Parents) -> Iterator[str]:
        """The rows that a row follows from, nearest first."""
        pending, seen = list(parents.get(row, ())), set[str]()
        while pending:
            name = pending.pop(0)
            if name not in seen:
                seen.add(name)
                yield name
                pending += parents.get(name, ())

    def _data(self, name: str, known: KnownRows) -> tuple[str, tuple[Term | None, ...]]:
        stream = known.rows[name].stream
        return stream, tuple(known.value(Cell(name, column)) for column in self.columns.get(stream, ()))

    def _rows(
        self,
        known: KnownRows,
        times: Mapping[str, int],
        names: Sequence[str] | Mapping[str, object],
        periods: Mapping[str, int],
    ) -> Iterator[ModelRow]:
        numbers: dict[Term, Unnamed] = {}
        seen = set()
        for name in names:
            stream = known.rows[name].stream
            cells: list[tuple[str, Constant | Unnamed]] = []
            for column in self.columns.get(stream, ()):
                value = known.value(Cell(name, column))
                if isinstance(value, Constant):
                    cells.append((column, value))
                elif value is not None:
                    cells.append((column, numbers.setdefault(value, Unnamed(len(numbers) + 1))))
            row = ModelRow(stream, times[name], tuple(cells), periods.get(name, 0))
            if row not in seen:
                seen.add(row)
                yield row


def _columns(constraints: Sequence[Constraint]) -> dict[str, tuple[str, ...]]:
    """The columns of each stream that constraints mention."""
    found: dict[str, dict[str, None]] = {}
    for constraint in constraints:
        streams = {row.name: row.stream for row in (*constraint.each, *constraint.some)}
        for condition in (*constraint.premise, *constraint.conclusion):
            for cell in _cells(condition):
                found.setdefault(streams[cell.row], {})[cell.column] = None
    return {stream: tuple(columns) for stream, columns in found.items()}


def _cells(condition: Condition) -> Iterator[Cell]:
    if isinstance(condition, Equal):
        yield condition.left
        if isinstance(condition.right, Cell):
            yield condition.right

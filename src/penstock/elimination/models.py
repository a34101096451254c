"""Counter-models: streams that satisfy a theory and break a constraint, as values.

A model is a set of rows. A row with a period comes again and again, for ever: with such rows a model is an ultimately
periodic, infinite one. Cells hold constants of the theory, values of no importance but that they differ, or NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.elimination.constraints import Constant


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Some value, which differs from those with other numbers and from all constants."""

    number: int

    def __str__(self) -> str:
        return f"#{self.number}"


@dataclass(frozen=True, slots=True)
class ModelRow:
    stream: str
    time: int
    #: The cells that are not NULL.
    cells: tuple[tuple[str, Constant | Unnamed], ...]
    #: How long after it the same row comes again; 0 if it does not.
    period: int = 0

    def cell(self, column: str) -> Constant | Unnamed | None:
        return next((value for name, value in self.cells if name == column), None)


@dataclass(frozen=True, slots=True)
class Model:
    rows: tuple[ModelRow, ...]

    @property
    def is_finite(self) -> bool:
        return not any(row.period for row in self.rows)

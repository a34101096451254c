"""Code owners: what stores codes of interned values says which, and a sweep forgets the values of all others.

A sweep happens between two steps of the machines that share a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.algebra.relations import Schema
from penstock.synopsis.codes import is_interned
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints

#: Gives a column of all rows that an operator stores, in any order.
HeldColumn = Callable[[int], Ints]


class CodeOwner(Protocol):
    """An operator or a part of one that stores rows, or other codes."""

    def mark(self, marks: Marks) -> None:
        """Marks the codes of all interned values that it stores."""


def sweep(dictionary: Dictionary, owners: Iterable[CodeOwner]) -> None:
    """Forgets values whose codes no owner stores, if enough are new since the last time."""
    if not dictionary.is_sweep_due:
        return
    marks = dictionary.marks()
    for owner in owners:
        owner.mark(marks)
    dictionary.sweep(marks)


class RowCodeOwner:
    """Stored rows of a schema: which of their words are codes follows from its types."""

    def __init__(self, held_column: HeldColumn, schema: Schema) -> None:
        self._held_column = held_column
        self._interned = [number for number, column in enumerate(schema) if is_interned(column.type)]

    def mark(self, marks: Marks) -> None:
        for column in self._interned:
            marks.add(self._held_column(column))

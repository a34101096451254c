"""Sweeps: values that nobody stores any more are forgotten, between two steps of the machines that share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.algebra.relations import Schema
from penstock.synopsis.codes import is_interned
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints

#: Gives a column of all rows that somebody stores, in any order.
HeldColumn = Callable[[int], Ints]


class Holder(Protocol):
    """Who stores rows, or other codes."""

    def mark(self, marks: Marks) -> None:
        """Marks the codes of all interned values that it stores."""


def sweep(dictionary: Dictionary, holders: Iterable[Holder]) -> None:
    """Forgets what no holder stores, if enough has come since the last time. Nobody else may have codes."""
    if not dictionary.is_sweep_due:
        return
    marks = dictionary.marks()
    for holder in holders:
        holder.mark(marks)
    dictionary.sweep(marks)


class RowCodeOwner:
    """Stored rows of a schema: which of their words are codes follows from its types."""

    def __init__(self, held_column: HeldColumn, schema: Schema) -> None:
        self._held_column = held_column
        self._interned = [number for number, column in enumerate(schema) if is_interned(column.type)]

    def mark(self, marks: Marks) -> None:
        for column in self._interned:
            marks.add(self._held_column(column))

"""Names in scope: which column a name in a query stands for.

A scope has an item for each occurrence in FROM. A name that no item has is looked for in the query around, if this is
a subquery that may refer to it. Names are compared without regard to case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.algebra.expressions import Column
from penstock.catalog import LeftOut


class UniqueNames:
    """Gives out names for occurrences and subqueries that are unique in one query: b, b_2, b_3."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._occurrences = 0

    def count_occurrence(self) -> int:
        self._occurrences += 1
        return self._occurrences

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name.lower())
        return name


@dataclass(frozen=True, slots=True)
class Item:
    """What one entry of FROM offers: a qualifier, and columns under the names that the user sees."""

    qualifier: str
    columns: tuple[tuple[str, Column], ...]
    virtual: frozenset[str] = frozenset()
    #: Columns that its data has and no query can read.
    left_out: tuple[LeftOut, ...] = ()

    def named(self, name: str) -> list[Column]:
        return [column for visible, column in self.columns if visible.lower() == name.lower()]


@dataclass(slots=True)
class Scope:
    items: list[Item] = field(default_factory=list)
    outer: Scope | None = None
    #: Why this subquery may not refer to the query around it, if it may not.
    closed_because: str | None = None
    #: The columns of JOIN ... USING, which `*` shows before the first item of their chain of joins, and those of the
    #: right sides, which it does not show again.
    using: dict[Item, list[Column]] = field(default_factory=dict)
    merged: set[Column] = field(default_factory=set)
    #: An item could not be bound, so a name that is not found may be one of its.
    incomplete: bool = False

    def item(self, qualifier: str) -> Item | None:
        return next((item for item in self.items if item.qualifier.lower() == qualifier.lower()), None)

    def find(self, qualifier: str | None, name: str) -> list[Column]:
        """The columns that a name may stand for in this scope alone."""
        if qualifier is not None:
            item = self.item(qualifier)
            return item.named(name) if item else []
        return [column for item in self.items for column in item.named(name) if column not in self.merged]

    def is_virtual(self, qualifier: str | None, name: str) -> bool:
        items = self.items if qualifier is None else [item for item in [self.item(qualifier)] if item]
        return any(name.lower() in item.virtual for item in items)

    def left_out(self, qualifier: str | None, name: str) -> LeftOut | None:
        """Why a column cannot be read that the data has."""
        items = self.items if qualifier is None else [item for item in [self.item(qualifier)] if item]
        return next((each for i in items for each in i.left_out if each.name.lower() == name.lower()), None)

    def visible(self, qualifier: str | None = None) -> Iterator[tuple[str, Column]]:
        """What `*`, or `qualifier.*`, stands for."""
        if qualifier is not None:
            item = self.item(qualifier)
            yield from item.columns if item else ()
            return
        shown = {column: name for item in self.items for name, column in item.columns if column not in self.merged}
        for item in self.items:
            own = [*self.using.get(item, ()), *(column for _, column in item.columns)]
            yield from ((shown.pop(column), column) for column in own if column in shown)

    def names(self, qualifier: str | None = None) -> list[str]:
        return [name for name, _ in self.visible(qualifier)]

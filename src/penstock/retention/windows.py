"""What retention asks of a window: that rows can be purged from its middle, and spilled ones brought back.

The windows themselves are operators; a purge sees them only through these interfaces.
"""

from __future__ import annotations

from typing import Protocol

from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import RowStore


class WindowOperator(Protocol):
    """A window turns arriving rows into events of rows that enter and leave it."""

    store: RowStore

    def step(self, arrived: Deltas, until: int) -> Events:
        """Takes rows of instants before `until`, in order, and gives the events of all instants before it.

        Only a window that counts its rows takes rows of weight 0, which it does not store.
        """


class PurgeableWindow(WindowOperator, Protocol):
    """A window whose rows may be dropped before they leave it."""

    def forget(self, slots: Ints) -> None:
        """Drops rows that have arrived. They have no event when they would have left."""

    def oldest(self) -> int:
        """The slot of a row that no other arrived before, or -1 if that is not known."""


class RecallableWindow(PurgeableWindow, Protocol):
    """A window to which dropped rows may be brought back."""

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        """Stores dropped rows again. Gives their slots, and the events of those that leave again.

        These are the events before `until`, the end of this step, which the others have had.
        """

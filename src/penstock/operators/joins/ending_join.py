"""Joins whose rows end (`closing/row_endings.py`): when nothing changes any more that concerns a row, it is dropped.

Rows are to `Endings` what groups are: entries that it examines when there are twice as many as it left. Results
come first, so that no row is dropped that one of this step needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.operators.joins.mjoin import JoinCore
from penstock.synopsis.deltas import NEVER, Deltas
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import RowStore


class ForgettingStore(Protocol):
    """A window or a bag that drops rows."""

    store: RowStore

    def forget(self, slots: Ints) -> None: ...


class StoredRows:
    """The rows that a join keeps of one input, as entries that end."""

    def __init__(self, core: JoinCore, number: int, rows: ForgettingStore, drop: Callable[[Ints], None]) -> None:
        """`drop` is notified of rows that go."""
        self._core, self._number, self._rows, self._drop = core, number, rows, drop

    def state_rows(self) -> int:
        return len(self._rows.store)

    def forget(self, closing: Callable[[Ints], Ints]) -> Deltas | None:
        store = self._rows.store
        held = store.staying()
        gone = held[closing(store.whole(held)) != NEVER]
        if len(gone):
            # Rows with NULL where they would join are stored, but not in the join.
            self._core.forget(self._number, gone[self._core.visibility(self._number)[gone] != 0])
            self._drop(gone)
            self._rows.forget(gone)
        return None

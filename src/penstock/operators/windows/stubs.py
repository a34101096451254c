"""Stubs and stores (thesis 2.3.1): machines that read the same window, each at its own pace, store its rows once.

The store runs ahead with the fastest machine. What the others have not seen yet is kept as events, and a row stays
until it has gone for all of them. So a query that waits for a slow stream holds no other query up, and the rows that
are kept for it are those that it would keep by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

import numpy as np

from penstock.operators.windows.reorder import Reorder
from penstock.plan.sharing import NOTHING_SHARED, SharedScan, Sharing
from penstock.retention.sweep import Holder
from penstock.retention.windows import WindowOperator
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.events import Events, one_after_the_other
from penstock.synopsis.store import RowStore


class SharedWindow:
    """A window whose store all stubs read."""

    def __init__(self, reorder: Reorder, window: WindowOperator) -> None:
        self._reorder = reorder
        self._window = window
        self._closed = 0
        #: The events that some stub has not seen yet, in the order of time.
        self._unseen: deque[Events] = deque()
        self._stubs: list[Stub] = []

    @property
    def store(self) -> RowStore:
        return self._window.store

    def stub(self) -> Stub:
        stub = Stub(self)
        self._stubs.append(stub)
        return stub

    def advance(self, arrived: Deltas, until: int) -> None:
        """Takes rows that arrived, and goes on to `until`.

        None is earlier than what is closed: no machine closes an instant that one of its streams may still add to.
        """
        rows = self._reorder.step(arrived, max(until, self._closed))
        if until > self._closed:
            self._closed = until
            events = self._window.step(rows, until)
            self._unseen.append(events)
            self._keep(events)

    def _keep(self, events: Events) -> None:
        """Rows that go stay for those who have not seen it. Those that were in no bag go at once."""
        leaving = self.store.withdraw()
        fleeting = leaving[~np.isin(leaving, events.slots[events.signs < 0])]
        self.store.release(fleeting)

    def between(self, start: int, end: int) -> Events:
        """The events of the instants from `start` on and before `end`."""
        parts = []
        for events in self._unseen:
            first, last = np.searchsorted(events.ts, (start, end), side="left").tolist()
            parts.append(events.take(slice(first, last)))
        return one_after_the_other(parts)

    def end_step(self) -> None:
        """Slots of rows that have gone for all stubs are free again."""
        slowest = min(stub.seen for stub in self._stubs)
        while self._unseen and not self._forget(slowest):
            pass
        self.store.end_step()

    def _forget(self, slowest: int) -> bool:
        """Forgets the oldest events that all have seen. Says whether some are left that not all have seen."""
        events = self._unseen.popleft()
        count = int(np.searchsorted(events.ts, slowest, side="left"))
        seen = events.take(slice(0, count))
        self.store.release(seen.slots[seen.signs < 0])
        if count < len(events):
            self._unseen.appendleft(events.take(slice(count, None)))
        return count < len(events)


class Stub:
    """What one machine sees of a shared window."""

    def __init__(self, window: SharedWindow) -> None:
        self._window = window
        #: The first instant whose events it has not seen.
        self.seen = 0

    def step(self, arrived: Deltas, until: int) -> Events:
        """Hands on what arrived through its machine, and gives the events up to `until`."""
        self._window.advance(arrived, until)
        events = self._window.between(self.seen, until)
        self.seen = until
        return events


class SharedStores:
    """What queries that run together have in common: windows, and the dictionary of the values that are in them."""

    def __init__(self, sharing: Sharing = NOTHING_SHARED) -> None:
        self.sharing = sharing
        self.dictionary = Dictionary()
        #: All that has codes of the dictionary.
        self.holders: list[Holder] = []
        self._windows: dict[Hashable, SharedWindow] = {}

    def window(self, shared: SharedScan, make: Callable[[], SharedWindow]) -> SharedWindow:
        """The window, which the first who asks for it makes."""
        if shared.contents not in self._windows:
            self._windows[shared.contents] = make()
        return self._windows[shared.contents]

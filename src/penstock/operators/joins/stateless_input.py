"""Joins with tables: an arriving row of the stateless input meets the tables' rows, and is not kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.operators.blocks import Blocks
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events
from penstock.synopsis.memory import Ints
from penstock.synopsis.store import RowStore


class _Found(NamedTuple):
    """A block of combinations: which of the changes each is of, the slots of its rows, its time and its row."""

    by: Ints
    slots: Ints
    ts: Ints
    rows: Ints


class StatelessInput:
    """The input of a join whose rows are stored for the time of a step only. The others hold tables."""

    def __init__(self, core: JoinCore, number: int, store: RowStore) -> None:
        self._core, self._number, self._store = core, number, store

    def join(self, changes: Deltas, tables: list[Events]) -> Iterator[_Found]:
        """What changes find in tables, whose own rows may come in this step. Rows that go find what they found."""
        own = self._store.put(np.ascontiguousarray(changes.rows), changes.ts)
        came = Events(changes.ts, np.ones(len(own), np.int64), own)
        events = [*tables[: self._number], came, *tables[self._number :]]
        entered = [self._core.enter(number, each) for number, each in enumerate(events)]
        change = np.empty(self._store.capacity, np.int64)
        change[own] = np.arange(len(own))
        for found in self._core.blocks(entered):
            deltas = found.deltas()
            yield _Found(change[found.slots[:, self._number]], found.slots, deltas.ts, found.rows)
        self._core.forget(self._number, entered[self._number].slots)
        self._store.release(own)
        self._store.end_step()


def joined(rows: StatelessInput, changes: Deltas, tables: list[Events]) -> Blocks:
    """Join: each combination as often as its row comes."""
    for found in rows.join(changes, tables):
        yield Deltas(found.ts, changes.weight[found.by], found.rows)


def shown(rows: StatelessInput, changes: Deltas, table: Events, wants_match: bool) -> Deltas:
    """SemiJoin and AntiJoin: the changes that have a match in the table, or none."""
    has_match = np.zeros(len(changes), np.bool_)
    for found in rows.join(changes, [table]):
        has_match[found.by] = True
    return changes.take(has_match == wants_match)


def matched(rows: StatelessInput, changes: Deltas, table: Events, operator: SemiJoinOperator) -> Blocks:
    """SemiJoin and AntiJoin of a table, of whose rows the changes are matches."""
    matches = (
        Deltas(found.ts, changes.weight[found.by], found.slots[:, :1].copy()) for found in rows.join(changes, [table])
    )
    return operator.shown(table, matches)

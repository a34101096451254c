"""Semi-joins and anti-joins: the rows of the first input that have a match in the second, or have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from penstock.kernels.matching import match
from penstock.operators.blocks import Blocks, whole_instants
from penstock.operators.joins.combinations import Combinations
from penstock.operators.joins.mjoin import JoinCore
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events, Some
from penstock.synopsis.memory import Ints, Scope
from penstock.synopsis.store import BySlot

_ALL = slice(None)


class SemiJoinOperator:
    """SemiJoin and AntiJoin: the rows of the first input that have a match in the second, or have none.

    If rows only arrive (`grows`), what has one match needs no other: it is then looked for no more.
    """

    def __init__(self, memory: Scope, core: JoinCore, wants_match: bool, *, grows: bool = False) -> None:
        self._memory = memory
        self._core = core
        self._wants_match = wants_match
        self._decided = BySlot(memory, "decided", core.inputs[0].store) if grows else None

    def step(self, events: list[Events]) -> Blocks:
        entered = [self._core.enter(i, e) for i, e in enumerate(events)]
        yield from self.shown(events[0], self.matches(entered))

    def matches(
        self,
        entered: list[Events],
        kept: Callable[[Combinations], Some] = lambda found: _ALL,
        observe: Callable[[Ints], None] = lambda slots: None,
    ) -> Blocks:
        """The matches of left rows by their slots, of combinations that are `kept`, whose slots somebody observes."""
        decided = None if self._decided is None else self._decided.array()
        if decided is not None:
            decided[entered[0].slots] = 0
        for found in self._core.blocks(entered, decided=decided):
            some = found.take(kept(found))
            observe(some.slots)
            matches = some.matches()
            if decided is not None:
                decided[matches.rows[:, 0]] = 1
            yield matches

    def shown(self, left: Events, matches: Iterable[Deltas]) -> Blocks:
        """What shows when these rows of the first input come and go, and these matches of them."""
        start, before = 0, None
        for block in whole_instants(matches):
            if before is not None and len(before):
                end = int(np.searchsorted(left.ts, before.ts[-1], side="right"))
                yield self._shown(left.take(slice(start, end)), before)
                start = end
            before = block
        assert before is not None
        yield self._shown(left.take(slice(start, None)), before)

    def _shown(self, left: Events, matches: Deltas) -> Deltas:
        store = self._core.inputs[0].store
        ts = np.concatenate((left.ts, matches.ts))
        kinds = np.repeat(np.array([0, 1], np.int64), (len(left), len(matches)))
        order = np.argsort(ts, kind="stable")
        shown = match(
            self._wants_match,
            ts[order],
            kinds[order],
            np.concatenate((left.signs, matches.weight))[order],
            np.concatenate((left.slots, matches.rows[:, 0]))[order],
            self.state(),
        )
        return Events(*shown).deltas(store)

    def forget(self, slots: Ints) -> None:
        """Rows of the left input show, or do not, as they did, and are counted no more."""
        self.state()[slots] = 0

    def bring_back(self, slots: Ints) -> None:
        """Rows of the left input that were forgotten when they had no match are counted again."""
        self.state()[slots] = 1, 0, 0, 0
        if self._decided is not None:
            self._decided.array()[slots] = 0

    def state(self) -> Ints:
        """Of each slot of the left input what `kernels.matching` keeps."""
        return self._memory.array("matches", self._core.inputs[0].store.capacity, 4)

"""The purging join: an n-way join, semi-join or anti-join that drops rows which can be in no new result.

One method decides the order of a step. Each stage assumes that those before it are done for all inputs:

    evidence ──▶ learn ─────────┐   punctuations and clocks of this step are known, monitors have seen all arrivals
                                ▼
    arrivals ──▶ admit ──▶ window ──▶ reject ──▶ index      per input, in the order that admission asks for
                                │
    spilled ◀──▶ bring back ────┤   rows on disk that join an arrival are in the join again
                                ▼
                              notify    rows that waited for a key which has arrived are candidates
                                ▼
                              join ──▶ results, but for those of rows whose wait had timed out
                                ▼
                              purge     candidates are examined, and dropped or spilled

Results come before the purge, so that no row is dropped that a result of this step needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.operators.blocks import Blocks
from penstock.operators.joins.combinations import Combinations
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.joins.semi_join import SemiJoinOperator
from penstock.retention.admission import Admission
from penstock.retention.purge import Purge
from penstock.retention.spill import with_leaving
from penstock.retention.windows import PurgeableWindow, RecallableWindow
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.events import Events, Some
from penstock.synopsis.memory import Ints


class InputStep(NamedTuple):
    """What happens to one input in a step: in its window, of that what is not rejected, and of that what may join."""

    events: Events
    allowed: Events
    entered: Events


def _entered(stepped: Mapping[int, InputStep]) -> list[Events]:
    return [stepped[number].entered for number in range(len(stepped))]


class PurgingJoin:
    """A join with the windows of the inputs that it purges; the other inputs are windows of their own."""

    def __init__(
        self, core: JoinCore, windows: Mapping[int, PurgeableWindow], purge: Purge, admission: Admission
    ) -> None:
        self._core, self._windows, self.purge, self._admission = core, windows, purge, admission
        #: By purged input, how many rows entered or left its window in the last step.
        self.window_events: dict[int, int] = {}

    def step(
        self, evidence: Sequence[Deltas], arrivals: Mapping[int, Deltas], others: Mapping[int, Events], until: int
    ) -> Blocks:
        """The results of the instants before `until`, in blocks; rows are purged when the last one is taken.

        `arrivals` are the rows of the purged inputs, before their windows; `others` the events of all other inputs.
        """
        purge, core = self.purge, self._core
        purge.learn(evidence, {**arrivals, **others}, until)
        stepped: dict[int, InputStep] = {}
        for number in self._admission.order:
            if number in arrivals:
                admitted = self._admission.admit_rows(number, arrivals[number])
                events = self._windows[number].step(admitted, until)
                self.window_events[number] = len(events)
            else:
                events = others[number]
            allowed = purge.rejection.allowed(number, events)
            stepped[number] = InputStep(events, allowed, core.enter(number, allowed))
        for number, leaving in purge.bring_back(_entered(stepped), until).items():
            own = stepped[number]
            entered = core.follow(number, with_leaving(own.entered, leaving))
            stepped[number] = InputStep(with_leaving(own.events, leaving), own.allowed, entered)
        in_join = _entered(stepped)
        purge.notify(in_join)
        yield from self._results(stepped[0].allowed, in_join)
        purge.step([stepped[number].events for number in range(len(stepped))], in_join)

    def _results(self, left: Events, entered: list[Events]) -> Blocks:
        """What shows. The purge is notified of the combinations that are found: rows that are in one may be done."""
        for found in self._core.blocks(entered, lists=self.purge.asks_for_rows):
            results = found.deltas()
            self.purge.gave(int(results.weight[results.weight > 0].sum()))
            self.purge.found(found.slots)
            yield results.take(self.purge.wait_timeout.in_time(found.slots, results.ts))


class PurgingSemiJoin(PurgingJoin):
    """A semi-join or an anti-join. A left row is dropped when it has a match, which it keeps, or can get none."""

    def __init__(
        self, core: JoinCore, semi_join: SemiJoinOperator, windows: Mapping[int, PurgeableWindow], purge: Purge
    ) -> None:
        # A left row that matches nothing may show, so no row is turned away.
        super().__init__(core, windows, purge, Admission(purge.node, core, some=()))
        self._semi_join = semi_join

    def _results(self, left: Events, entered: list[Events]) -> Blocks:
        matches = self._semi_join.matches(entered, self._in_time, self.purge.found)
        yield from self._semi_join.shown(left, matches)

    def _in_time(self, found: Combinations) -> Some:
        return self.purge.wait_timeout.in_time(found.slots, found.deltas().ts)


class CountedWindow:
    """The left window of a semi-join: a row that it drops is counted no more."""

    def __init__(self, window: RecallableWindow, semi_join: SemiJoinOperator) -> None:
        self.store, self.step, self.oldest = window.store, window.step, window.oldest
        self._window, self._semi_join = window, semi_join

    def forget(self, slots: Ints) -> None:
        self._semi_join.forget(slots)
        self._window.forget(slots)

    def bring_back(self, rows: Ints, starts: Ints, until: int) -> tuple[Ints, Events]:
        slots, leaving = self._window.bring_back(rows, starts, until)
        self._semi_join.bring_back(slots)
        return slots, leaving

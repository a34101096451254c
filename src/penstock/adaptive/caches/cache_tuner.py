"""The tuner of a join's caches: A-Caching (thesis 5.5.5) between the parts of a step, which declines most of the time.

    watch ──▶ profile ──▶ try ──▶ compare ──▶ use
      ▲          │                   │         │
      └──────────┴───────────────────┴─────────┘     not worth it; not faster; costs more than it saves

While it watches, the join runs its plain kernel, and what it counts anyway says what each candidate could save at
best, if it never missed. Only candidates that are then worth it are profiled, for a few parts; what is selected is
tried, and has to be faster by the clock than the same join without it, in the parts that follow. What is declined is
considered again after twice as many parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.adaptive.caches.cache_states import CacheStates, State
from penstock.adaptive.caches.cost_model import Estimate, estimate, scaled, whole_cost
from penstock.adaptive.caches.memory import budget, by_priority
from penstock.adaptive.caches.selection import selected, value
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import Adaptive
from penstock.plan.cache_decisions import CacheDecision, Verdict
from penstock.plan.caches import NO_CACHES, Cache, CacheChoice, CacheCounts
from penstock.plan.join_choice import JoinChoice
from penstock.plan.probe_paths import ProbeCounts

#: Parts after which candidates are looked at: first, and again; it doubles when they are declined, up to a limit.
FIRST_WATCH, INTERVAL, LONGEST = 4, 16, 1024
#: Parts in which caches and filters get warm, and those that are timed.
WARM, TIMED = 3, 3
#: The part of all probing that a choice has to save, by its estimates.
MARGIN = 0.1
#: The fewest rows that are looked at: parts with fewer count as one.
ROWS = 1 << 10
#: The fewest lookups that say how often a cache misses, and the most parts that they are waited for.
LOOKUPS, LONG_PROFILE = 64, 12


class Phase(Enum):
    WATCH = "watch"
    PROFILE = "profile"
    TRY = "try"
    COMPARE = "compare"
    USE = "use"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a join counted in a part, and since its start."""

    probes: ProbeCounts
    caches: Mapping[Cache, CacheCounts]
    time: int

    @property
    def events(self) -> int:
        """Rows that began to probe, or looked a cache up at once."""
        hits = sum(own.hits for cache, own in self.caches.items() if cache.first == 0)
        return sum(line[0] for line in self.probes.probes) + hits

    def since(self, before: Measured) -> Measured:
        caches = {cache: own.since(before.caches.get(cache, CacheCounts())) for cache, own in self.caches.items()}
        return Measured(self.probes.since(before.probes), caches, self.time - before.time)


class CacheTuner:
    """Chooses the caches of one join."""

    def __init__(self, settings: Adaptive, place: str = "", inputs: tuple[str, ...] = ()) -> None:
        """`inputs` are the names of the join's inputs."""
        self._settings, self.place, self._inputs = settings, place, inputs
        self.decisions: deque[CacheDecision] = deque(maxlen=settings.plan_log)
        #: Decisions since the start, and those that were reported.
        self.decided = self._reported = 0
        self._states = CacheStates()
        #: The choice of the join whose candidates the states are of.
        self._paths: JoinChoice | None = None
        self._interval = INTERVAL
        self._before: Measured | None = None
        self._parts = 0
        self._watch(FIRST_WATCH)
        #: The choice that is tried, and what a row took with it, and without it.
        self._chosen = NO_CACHES
        self._tried_estimates: Mapping[Cache, Estimate] = {}
        self._tried_times: list[float] = []
        self._plain_times: list[float] = []

    def adopt(self, join: JoinCore) -> None:
        """Begins with a join that was just built, without caches."""
        self._before = None
        self._restart(join)

    def between(self, join: JoinCore) -> None:
        """Goes on after a part of a step."""
        if join.choice is not self._paths:
            self._restart(join)
        if self._phase is Phase.WATCH and self._is_asleep(join):
            return
        seen = self._seen(join)
        if seen is None:
            return
        self._parts += 1
        match self._phase:
            case Phase.WATCH:
                self._observed(join, seen)
            case Phase.PROFILE:
                self._profiled(join, seen)
            case Phase.TRY:
                self._tried(join, seen)
            case Phase.COMPARE:
                self._compared(join, seen)
            case Phase.USE:
                self._used(join, seen)

    def report(self) -> tuple[dict[str, Any], ...]:
        """The decisions that are new since the last report, as JSON."""
        new = min(len(self.decisions), self.decided - self._reported)
        self._reported = self.decided
        return tuple(each.as_json(self._inputs) for each in list(self.decisions)[len(self.decisions) - new :])

    def _seen(self, join: JoinCore) -> Measured | None:
        now = _measured(join)
        if self._before is None:
            self._before = now
        seen = now.since(self._before)
        if seen.events < ROWS:
            return None
        self._before = now
        return seen

    def _restart(self, join: JoinCore) -> None:
        """Takes the candidates of other paths. What was used is not, and what was profiled says nothing any more."""
        if join.caching.choice != NO_CACHES:
            self._use(join, NO_CACHES)
        self._paths, self._states = join.choice, CacheStates()
        self._watch(FIRST_WATCH)

    def _is_asleep(self, join: JoinCore) -> bool:
        """Whether it only waits: of so many parts the last is looked at, so that the others cost nothing."""
        self._asleep -= 1
        if self._asleep == 0:
            self._before = _measured(join)
        return self._asleep >= 0

    def _watch(self, parts: int) -> None:
        self._phase, self._asleep, self._parts = Phase.WATCH, parts, 0

    def _begin(self, phase: Phase) -> None:
        self._phase, self._parts = phase, 0

    def _use(self, join: JoinCore, choice: CacheChoice) -> None:
        """Uses caches from now on. What they count begins anew."""
        join.caching.use(choice)
        self._before = _measured(join)

    def _observed(self, join: JoinCore, seen: Measured) -> None:
        """If a candidate could save enough, even if it never missed, it is profiled."""
        if not self._states.states:
            self._states.renew(join.caching.candidates())
        best = {cache: estimate(seen.probes, cache, 0.0) for cache in self._states.states}
        worth = selected(best)
        if value(worth, best) <= MARGIN * whole_cost(seen.probes):
            self._watch(self._interval)
            return
        self._states.reopen()
        self._profile(join, best)

    def _profile(self, join: JoinCore, best: Mapping[Cache, Estimate]) -> None:
        """Profiles what could save something, at each stage the one that could save most, beside what is used."""
        used = self._states.of(State.USED)
        at: dict[tuple[int, int], Cache] = {(cache.pipeline, cache.first): cache for cache in used}
        hopeful = [cache for cache in self._states.of(State.PROFILED) if best[cache].benefit > 0]
        for cache in sorted(hopeful, key=lambda each: -best[each].net):
            if not any(cache.within(other) for other in used):
                at.setdefault((cache.pipeline, cache.first), cache)
        profiled = tuple(cache for cache in at.values() if cache not in used)
        self._use(join, CacheChoice(used, profiled, self._memory(join)))
        self._begin(Phase.PROFILE)

    def _memory(self, join: JoinCore) -> int:
        rows = sum(source.store.rows.nbytes for source in join.inputs)
        return budget(rows, self._settings.cache_memory)

    def _profiled(self, join: JoinCore, seen: Measured) -> None:
        few = any(own.lookups < LOOKUPS for own in seen.caches.values())
        if self._parts <= WARM or (few and self._parts < LONG_PROFILE):
            return
        estimates = self._estimates(seen)
        was_used = self._states.of(State.USED)
        self._states.settle(estimates)
        used = self._states.of(State.USED)
        saved = value(used, estimates)
        if not used or saved <= MARGIN * whole_cost(seen.probes):
            self._decline(join, seen, estimates, Verdict.NOT_WORTH_IT)
            return
        self._chosen = CacheChoice(by_priority(used, estimates), (), self._memory(join))
        self._use(join, self._chosen)
        self._tried_times, self._plain_times = [], []
        if {*used} == {*was_used}:
            self._begin(Phase.USE)
        else:
            self._decide(join, seen, estimates, Verdict.TRIED)
            self._begin(Phase.TRY)

    def _tried(self, join: JoinCore, seen: Measured) -> None:
        if self._parts > WARM:
            self._tried_times.append(seen.time / seen.events)
        if len(self._tried_times) == TIMED:
            self._tried_estimates = self._estimates(seen)
            self._use(join, NO_CACHES)
            self._begin(Phase.COMPARE)

    def _compared(self, join: JoinCore, seen: Measured) -> None:
        """Uses what was tried if it was faster; of each the part counts that was disturbed least."""
        self._plain_times.append(seen.time / seen.events)
        if len(self._plain_times) < TIMED:
            return
        if min(self._tried_times) >= min(self._plain_times):
            self._decline(join, seen, self._tried_estimates, Verdict.NOT_FASTER)
            return
        self._interval = INTERVAL
        self._use(join, self._chosen)
        self._decide(join, seen, self._tried_estimates, Verdict.USED)
        self._begin(Phase.USE)

    def _used(self, join: JoinCore, seen: Measured) -> None:
        """Leaves at once what costs more than it saves; what is not in use is looked at after an interval."""
        estimates = self._estimates(seen)
        if self._parts > WARM and self._states.react(estimates):
            if not self._states.of(State.USED):
                self._decline(join, seen, estimates, Verdict.HURTS)
                return
            left = self._states.of(State.USED)
            self._use(join, CacheChoice(by_priority(left, estimates), (), self._memory(join)))
            self._decide(join, seen, estimates, Verdict.HURTS)
        memory = self._memory(join)
        if memory < join.caching.choice.memory:
            self._use(join, CacheChoice(join.caching.choice.used, (), memory))
        if self._parts >= 8 * self._interval:
            counts = scaled(seen.probes, {c: 1 - _rate(seen.caches[c]) for c in self._states.of(State.USED)})
            best = {cache: estimate(counts, cache, 0.0) for cache in self._states.states}
            self._states.reopen()
            self._profile(join, best)

    def _estimates(self, seen: Measured) -> dict[Cache, Estimate]:
        """What each cache saves that was looked up in a part, by how often it missed, or would have."""
        used = self._states.of(State.USED)
        misses = {cache: 1 - _rate(own) for cache, own in seen.caches.items()}
        counts = scaled(seen.probes, {cache: miss for cache, miss in misses.items() if cache in used})
        return {cache: estimate(counts, cache, miss) for cache, miss in misses.items()}

    def _decline(self, join: JoinCore, seen: Measured, estimates: Mapping[Cache, Estimate], why: Verdict) -> None:
        self._use(join, NO_CACHES)
        self._states.states = dict.fromkeys(self._states.states, State.UNUSED)
        self._interval = min(LONGEST, 2 * self._interval)
        self._decide(join, seen, estimates, why)
        self._watch(self._interval)

    def _decide(self, join: JoinCore, seen: Measured, estimates: Mapping[Cache, Estimate], verdict: Verdict) -> None:
        rows = sum(line[0] for line in join.probe_counts().probes)
        whole = whole_cost(seen.probes)
        lines = tuple((cache, own.miss, own.benefit / whole, own.cost / whole) for cache, own in estimates.items())
        self.decisions.append(
            CacheDecision(self.place, self.decided, rows, verdict.value, join.caching.choice.used, lines)
        )
        self.decided += 1


def _measured(join: JoinCore) -> Measured:
    return Measured(join.probe_counts(), join.caching.counts(), join.probing_time)


def _rate(counts: CacheCounts) -> float:
    return counts.hits / counts.lookups if counts.lookups else 0.0

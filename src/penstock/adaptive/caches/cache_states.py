"""Adaptive cache selection (thesis 5.5.5, figure 5.9): candidates are used, profiled or unused.

              all that begin                           selected
    new ──────────────────────▶ profiled ────────────────────────────────▶ used
                                  ▲   │ not selected                         │
        re-optimization interval  │   ▼                                      │ costs more than it saves: at once
                                unused ◀─────────────────────────────────────┘

Three refinements make it cheap: what hurts is dropped at once, and only what might help waits for the next interval;
a cache in use is profiled anew only if one within it is not in use, since nothing else hides anything; and candidates
are selected again only if what one of them saves or costs has changed by a fifth.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from penstock.adaptive.caches.cost_model import Estimate
from penstock.adaptive.caches.hierarchy import sharing
from penstock.adaptive.caches.selection import selected, value
from penstock.plan.caches import Cache

#: Estimates that change by less than this part do not ask for another selection.
THRESHOLD = 0.2


class State(Enum):
    USED = "used"
    PROFILED = "profiled"
    UNUSED = "unused"


class CacheStates:
    """The state of each candidate, and the estimates on which the last selection rests."""

    def __init__(self, candidates: Collection[Cache] = (), threshold: float = THRESHOLD) -> None:
        self._threshold = threshold
        self.states: dict[Cache, State] = {}
        self._known: dict[Cache, Estimate] = {}
        self._used_before: frozenset[Cache] = frozenset()
        self.renew(candidates)

    def of(self, state: State) -> tuple[Cache, ...]:
        """The candidates in a state."""
        return tuple(cache for cache, own in self.states.items() if own is state)

    def renew(self, candidates: Collection[Cache]) -> None:
        """Takes the candidates of other probe paths: new ones begin as profiled."""
        self.states = {cache: self.states.get(cache, State.PROFILED) for cache in candidates}
        self._known = {cache: own for cache, own in self._known.items() if cache in self.states}

    def react(self, estimates: Mapping[Cache, Estimate]) -> bool:
        """Leaves caches in use whose store costs more than they save. Says whether there were any."""
        used = [cache for cache in self.of(State.USED) if cache in estimates]
        hurting = [cache for group in sharing(used).values() if value(group, estimates) < 0 for cache in group]
        self.states.update(dict.fromkeys(hurting, State.UNUSED))
        return bool(hurting)

    def reopen(self) -> tuple[Cache, ...]:
        """Begins a re-optimization: gives what is to be profiled now.

        A cache that is used hides the stream of lookups of those within it; others can be profiled beside it.
        """
        unused = self.of(State.UNUSED)
        self._used_before = frozenset(self.of(State.USED))
        hiding = [u for u in self._used_before if any(c.within(u) for c in unused)]
        self.states.update(dict.fromkeys((*unused, *hiding), State.PROFILED))
        return self.of(State.PROFILED)

    def settle(self, estimates: Mapping[Cache, Estimate]) -> bool:
        """Ends it, with estimates of what is used or was profiled. Says whether candidates were selected anew.

        Candidates without an estimate are not worth one, and are unused.
        """
        known = {cache: own for cache, own in estimates.items() if cache in self.states}
        changed = known.keys() != self._known.keys() or any(
            own.differs_from(self._known[cache], self._threshold) for cache, own in known.items()
        )
        if changed:
            self._known = known
            chosen: Collection[Cache] = selected(known)
        else:
            chosen = self._used_before
        self.states = {cache: State.USED if cache in chosen else State.UNUSED for cache in self.states}
        return changed

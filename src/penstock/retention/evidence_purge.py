"""The purge of evidence that grows old: clusters that are closed, and punctuations whose lifespan is over.

They are looked through when there are twice as many as were left the last time, so that this costs little per row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.closing.join_variables import inputs_with_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import ByCluster, ByLifespan
from penstock.kernels.purge import TIME
from penstock.retention.closing_state import ClosingState
from penstock.retention.monitors import Monitors
from penstock.retention.no_components import NoComponents
from penstock.retention.punctuation_purge import PunctuationPurge
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints, Memory

#: So few are not looked through.
FEW = 1024


class EvidencePurge:
    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PhysicalJoin,
        core: IndexedInputs,
        closing_state: ClosingState,
        monitors: Monitors,
        no: NoComponents,
        punctuations: PunctuationPurge,
    ) -> None:
        self._core, self._closing, self._monitors = core, closing_state, monitors
        self._no, self._punctuations = no, punctuations
        self._held = inputs_with_variables(node)
        self._clusters = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByCluster)}
        self._living = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByLifespan)}
        self._left = {n: memory.array(f"{name}.left{n}", 1) for n in (*self._clusters, *self._living)}

    def forget(self) -> None:
        """Drops closed clusters that no stored row waits for, and punctuations that hold no more."""
        for number, cluster in self._clusters.items():
            if self._monitors.lets_go:
                self._left[number][0] = 0
            if self._are_many(number):
                slots, keys, since = self._closing.evidence[number].entries()
                self._drop(number, slots[self._is_closed(number, cluster, since) & ~self._is_asked_for(cluster, keys)])
        for number, rule in self._living.items():
            if self._are_many(number):
                slots, _, since = self._closing.evidence[number].entries()
                self._drop(number, slots[since + rule.lifespan < self._closing.clocks[TIME]])

    def _are_many(self, number: int) -> bool:
        return len(self._closing.evidence[number]) > max(FEW, 2 * int(self._left[number][0]))

    def _drop(self, number: int, slots: Ints) -> None:
        self._closing.evidence[number].forget(slots)
        self._left[number][0] = len(self._closing.evidence[number])

    def _is_closed(self, number: int, cluster: ByCluster, since: Ints) -> NDArray[np.bool_]:
        limit = self._monitors.limit(cluster.k)
        limit = self._monitors.most(cluster.k) if limit is None else limit
        closed: NDArray[np.bool_] = since + limit < self._closing.clocks[self._closing.clock_of(number)]
        return closed

    def _is_asked_for(self, cluster: ByCluster, keys: Ints) -> NDArray[np.bool_]:
        asked = self._no.asks(cluster, keys) | self._punctuations.wait_for(cluster, keys)
        for holder in set.intersection(*(self._held[v] for v in cluster.variables)) - {cluster.target}:
            asked |= self._core.holds(holder, cluster.variables, keys)
        return asked

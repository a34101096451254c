"""Who looks at a run: the metrics of a step are computed once, for all who want them, and not at all if nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from penstock.engines.metrics import OperatorMetrics


class Observer(Protocol):
    """Somebody who is given the metrics of steps."""

    @property
    def is_due(self) -> bool:
        """Returns whether the metrics of this step are wanted."""

    def take(self, lines: Sequence[OperatorMetrics]) -> None:
        """Takes the metrics of a step; also of steps for which only others asked."""


#: Gives the metrics of the last step of a query.
Metrics = Callable[[], Iterable[OperatorMetrics]]


class Observers:
    """All observers of a run."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._all = list(observers)
        #: What gives the metrics of steps that nobody has seen yet.
        self._missed: dict[Metrics, None] = {}

    def add(self, observer: Observer) -> None:
        self._all.append(observer)

    def stepped(self, metrics: Metrics) -> None:
        """Hands on the metrics of a step that is complete, if they are wanted, and those of other queries with them.

        They count since they were last computed.
        """
        self._missed[metrics] = None
        if any(observer.is_due for observer in self._all):
            self.waits()

    def waits(self) -> None:
        """Hands on the metrics of last steps that nobody wanted then: now the run waits for input, or ends."""
        missed, self._missed = self._missed, {}
        for metrics in missed:
            self.take(list(metrics()))

    def take(self, lines: Sequence[OperatorMetrics]) -> None:
        """Hands on metrics that are there already."""
        for observer in self._all:
            observer.take(lines)

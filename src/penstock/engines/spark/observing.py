"""Observing queries that users start themselves: `dataframe()` gives a DataFrame, and who starts it is not asked.

A listener of the session is notified of every micro-batch of every query, and hands what it finds under the name of an
observation to the history of that name. Histories live as long as whoever reads them.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.engines.spark.metrics import NOTES, History


class Observer(StreamingQueryListener):
    """Is notified of the micro-batches of a session's queries."""

    def __init__(self) -> None:
        self._histories: WeakValueDictionary[str, History] = WeakValueDictionary()

    def history(self, query: str) -> tuple[str, History]:
        """Returns a new history, and the name of the observation that fills it: no other that is read has it."""
        name, number = f"{NOTES} {query}", 1
        while name in self._histories:
            number += 1
            name = f"{NOTES} {query} {number}"
        made = self._histories[name] = History(name)
        return name, made

    def onQueryProgress(self, event: Any) -> None:
        for name in event.progress.observedMetrics:
            history = self._histories.get(name)
            if history is not None:
                history.take(event.progress)

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...


_observers: WeakKeyDictionary[SparkSession, Observer] = WeakKeyDictionary()


def observer(spark: SparkSession) -> Observer:
    """Returns the observer of a session, which begins to listen when it is first asked for."""
    if spark not in _observers:
        _observers[spark] = Observer()
        spark.streams.addListener(_observers[spark])
    return _observers[spark]

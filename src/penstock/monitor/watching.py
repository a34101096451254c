"""Queries over `sysstream` in a program: what they say is kept until the program asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.handed import Handed
from penstock.engines.metrics import OperatorMetrics
from penstock.engines.watching import Watch
from penstock.monitor.bounds import live_bounds
from penstock.monitor.publishing import SysStream
from penstock.plan.fragments import Plan
from penstock.register import Verdict
from penstock.sql.system_streams import SYSSTREAM


class Watching:
    """The queries of a session that read `sysstream`, and the changes that nobody has asked for yet."""

    def __init__(self) -> None:
        self._sysstream = SysStream()
        self._changes: dict[str, list[Any]] = {}
        #: The plans whose bounds are published, by the names of their queries.
        self._proved: dict[str, Plan] = {}

    def add(self, query: Query, catalog: Catalog, handed: Mapping[str, Handed]) -> None:
        """Lets a query read from now on; it takes the place of one of the same name."""
        watch = Watch(query, catalog, SYSSTREAM, handed)
        others = [each for each in self._sysstream.watches if each.query.name != query.name]
        self._sysstream.watches = [*others, watch]
        self._changes[query.name] = []

    def take(self, verdict: Verdict, plan: Plan, lines: Sequence[OperatorMetrics]) -> None:
        """Publishes the metrics of steps of a query, which has that verdict and runs by that plan."""
        if self._proved.get(verdict.name) is not plan:
            self._proved[verdict.name] = plan
            self._sysstream.prove({verdict.name: live_bounds(verdict, plan)})
        self._sysstream.take(lines)
        self._step()

    def changes(self, name: str) -> Iterator[Any]:
        """Yields the changes of a query, up to the present, that were not asked for before."""
        self._step(is_last=True)
        found, self._changes[name] = self._changes[name], []
        yield from found

    def _step(self, *, is_last: bool = False) -> None:
        for query, rows in self._sysstream.changes(is_last=is_last):
            self._changes[query.name].append(rows)

"""The monitor of a link: which of the sampled children have no parent, or share one, and how often that was so.

The table is of fixed size (`kernels/link_monitor.py`). Rows come sampled: scans pick them (`kernels/sampling.py`).
"""

from __future__ import annotations

import numpy as np

from penstock.algebra.link_monitor import LinkMonitor
from penstock.kernels import link_monitor
from penstock.kernels.hashing import row_hashes
from penstock.plan.constraint_report import ConstraintReport
from penstock.retention.monitors import HINT, Violation
from penstock.synopsis.codes import is_interned
from penstock.synopsis.deltas import Bools, Deltas, is_null, part_of_rows
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Scope


class LinkMonitorOperator:
    """Takes parents and children of the sample, and gives the keys of children that broke an assertion."""

    def __init__(self, memory: Scope, node: LinkMonitor, dictionary: Dictionary) -> None:
        self._node, self._dictionary = node, dictionary
        self._parents = memory.array("parents", link_monitor.BUCKETS, link_monitor.BUCKET)
        self._children = memory.array("children", link_monitor.BUCKETS, link_monitor.BUCKET)
        self._counts = memory.array("counts", link_monitor.PROMISES)
        self._interned = [is_interned(column.type) for column in node.parent.schema]

    def step(self, parents: Deltas, children: Deltas) -> Deltas:
        """What broke, in the order of time; parents without a value to compare are nobody's."""
        node = self._node
        width = len(node.child.schema)
        parents = parents.take(~self._lacking(parents.rows, node.matched))
        ts = np.concatenate((parents.ts, children.ts))
        is_child = np.repeat(np.array([0, 1]), [len(parents), len(children)])
        hashes = np.concatenate((self._hashes(parents.rows, node.matched), self._hashes(children.rows, width)))
        order = np.lexsort((is_child, ts))
        broken = np.empty(len(ts), np.int64)
        any_ = link_monitor.ANY
        count = link_monitor.watch(
            ts[order],
            is_child[order],
            hashes[order],
            -any_ if node.least is None else node.least,
            any_ if node.most is None else node.most,
            any_ if node.delay is None else node.delay,
            int(node.one_child),
            sum(1 << number for number, promise in enumerate(node.promises) if promise.is_watched),
            self._parents,
            self._children,
            self._counts,
            broken,
        )
        numbers = order[broken[:count]]
        self._stop_if_broken(int(ts[numbers[0]]) if count else 0)
        keys = part_of_rows(children.rows, range(node.matched, width), width)
        own = np.zeros((count, keys.shape[1]), np.int64)
        is_own = numbers >= len(parents)
        own[is_own] = keys[numbers[is_own] - len(parents)]
        return Deltas(ts[numbers], np.ones(count, np.int64), own)

    def _stop_if_broken(self, at: int) -> None:
        for promise, count in zip(self._node.promises, self._counts.tolist(), strict=False):
            if promise.stops and count:
                raise Violation(f"a row at {at} breaks {promise}", HINT)

    def state_rows(self) -> int:
        """The rows that it remembers."""
        times = [table[:, link_monitor.TIME : -1 : link_monitor.ENTRY] for table in (self._parents, self._children)]
        return sum(int(np.count_nonzero(each)) for each in times)

    def reports(self) -> list[ConstraintReport]:
        """Of each promise how often it was broken in the sample."""
        return [
            ConstraintReport(str(promise), None, used=True, violations=int(count))
            for promise, count in zip(self._node.promises, self._counts[: link_monitor.PROMISES].tolist(), strict=True)
        ]

    def _hashes(self, rows: Ints, columns: int) -> Ints:
        own = part_of_rows(rows, range(self._node.matched), columns)
        for place, interned in enumerate(self._interned):
            if interned:
                hashes = self._dictionary.hashes()
                own[:, place] = hashes[own[:, place]] if len(hashes) else 0  # none has a value
        return row_hashes(own, np.arange(len(own)), np.arange(own.shape[1]))

    def _lacking(self, rows: Ints, columns: int) -> Bools:
        lacking = np.zeros(len(rows), np.bool_)
        for place in range(self._node.matched):
            lacking |= is_null(rows, place, columns)
        return lacking

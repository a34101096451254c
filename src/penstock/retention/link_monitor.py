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
from penstock.synopsis.deltas import Bools, Deltas, assemble, is_null, part_of_rows, row_width
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Scope

#: Violations that are found at once, at most.
_BLOCK = 1 << 12


class LinkMonitorOperator:
    """Takes parents and children of the sample, and gives the keys of rows that broke an assertion, and since when."""

    def __init__(self, memory: Scope, node: LinkMonitor, dictionary: Dictionary) -> None:
        self._node, self._dictionary = node, dictionary
        self._parents = memory.array("parents", link_monitor.BUCKETS, link_monitor.BUCKET)
        self._children = memory.array("children", link_monitor.BUCKETS, link_monitor.BUCKET)
        entries, words = link_monitor.BUCKETS * link_monitor.ENTRIES, row_width(len(node.keys))
        self._parent_keys = memory.array("parent_keys", entries, words)
        self._child_keys = memory.array("child_keys", entries, words)
        self._counts = memory.array("counts", link_monitor.PROMISES)
        self._interned = [is_interned(column.type) for column in node.parent.schema[: node.matched]]
        any_ = link_monitor.ANY
        watched = sum(1 << number for number, promise in enumerate(node.promises) if promise.is_watched)
        self._shape = np.array(
            [
                -any_ if node.least is None else node.least,
                any_ if node.most is None else node.most,
                any_ if node.delay is None else node.delay,
                int(node.one_child),
                watched,
                int(node.has_parent_keys),
            ]
        )

    def step(self, parents: Deltas, children: Deltas) -> Deltas:
        """What broke, in the order of time; parents without a value to compare are nobody's."""
        parents = self._widened(parents)
        parents = parents.take(~self._lacking(parents.rows))
        ts = np.concatenate((parents.ts, children.ts))
        rows = np.concatenate((parents.rows, children.rows))
        is_child = np.repeat(np.array([0, 1]), [len(parents), len(children)])
        order = np.lexsort((is_child, ts))
        ts, rows = ts[order], rows[order]
        keys = part_of_rows(rows, range(self._node.matched, self._width), self._width)
        arrived = (ts, is_child[order], self._hashes(rows), keys)
        found, done = [np.empty((0, link_monitor.KEYS + keys.shape[1]), np.int64)], 0
        while done < len(ts):
            out = np.empty((_BLOCK, found[0].shape[1]), np.int64)
            tables = (self._parents, self._parent_keys, self._children, self._child_keys)
            done, count = link_monitor.watch(*arrived, done, self._shape, *tables, self._counts, out)
            found.append(out[:count])
        broken = np.concatenate(found)
        self._stop_if_broken(int(broken[0, link_monitor.AT]) if len(broken) else 0)
        return self._events(broken)

    def _widened(self, parents: Deltas) -> Deltas:
        """Parents as rows of children: those that have no keys with zeros in their place."""
        if self._node.has_parent_keys:
            return parents
        matched = self._node.matched
        columns: list[tuple[Ints, Bools | None]] = [
            (parents.rows[:, column], is_null(parents.rows, column, matched)) for column in range(matched)
        ]
        columns += [(np.zeros(len(parents), np.int64), None)] * len(self._node.keys)
        return Deltas(parents.ts, parents.weight, assemble(columns, len(parents)))

    @property
    def _width(self) -> int:
        return len(self._node.child.schema)

    def _events(self, broken: Ints) -> Deltas:
        """The keys and since when."""
        keys, own = broken[:, link_monitor.KEYS :], len(self._node.keys)
        columns: list[tuple[Ints, Bools | None]] = [
            (keys[:, column], is_null(keys, column, own)) for column in range(own)
        ]
        columns.append((broken[:, link_monitor.SINCE], None))
        return Deltas(broken[:, link_monitor.AT].copy(), np.ones(len(broken), np.int64), assemble(columns, len(broken)))

    def held_column(self, column: int) -> Ints:
        """A key of all rows that it remembers."""
        held = [
            keys[table[:, link_monitor.TIME : -1 : link_monitor.ENTRY].ravel() != 0, column]
            for table, keys in ((self._parents, self._parent_keys), (self._children, self._child_keys))
        ]
        return np.concatenate(held)

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
            if promise.is_watched
        ]

    def _hashes(self, rows: Ints) -> Ints:
        own = part_of_rows(rows, range(self._node.matched), self._width)
        for place, interned in enumerate(self._interned):
            if interned:
                hashes = self._dictionary.hashes()
                own[:, place] = hashes[own[:, place]] if len(hashes) else 0  # none has a value
        return row_hashes(own, np.arange(len(own)), np.arange(own.shape[1]))

    def _lacking(self, rows: Ints) -> Bools:
        lacking = np.zeros(len(rows), np.bool_)
        for place in range(self._node.matched):
            lacking |= is_null(rows, place, self._width)
        return lacking

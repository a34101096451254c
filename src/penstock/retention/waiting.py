"""What the pending rows of a join wait for, for who asks how a run goes.

Nothing is noted for it: the rules are asked anew about the rows that are there. Of an input with many rows some are
asked about, which stand for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Unbounded
from penstock.closing.join_trees import input_scope
from penstock.closing.physical_join import JoinKind
from penstock.kernels import waiting as kernel
from penstock.plan.waiting_report import WaitingReport
from penstock.retention.purge_tables import PurgeTables
from penstock.retention.retained_join import RetainedJoin
from penstock.retention.windows import PurgeableWindow
from penstock.synopsis.memory import Ints

#: Of an input so many rows are asked about at most.
SAMPLE = 1024


class Waiting:
    """Of the inputs that have `windows` of which rows may be dropped."""

    def __init__(self, join: RetainedJoin, windows: Mapping[int, PurgeableWindow], tables: PurgeTables) -> None:
        self._join, self._windows, self._tables = join, windows, tables

    def reports(self) -> list[WaitingReport]:
        """How many rows of each input wait for what, between two steps."""
        return [report for number in self._windows for report in self._of_input(number)]

    def _of_input(self, number: int) -> Iterator[WaitingReport]:
        stored = np.flatnonzero(self._join.inputs.visibility(number))
        if not len(stored):
            return
        some = stored if len(stored) <= SAMPLE else stored[spread(len(stored), SAMPLE)]
        tables, rules = self._tables.tables(), self._tables.rules()
        what, unmet = kernel.waiting(np.full(len(some), number), some, self._join.retracts, tables, rules)
        counts: dict[str, int] = {}
        lines, line_counts = np.unique(np.column_stack((what, unmet)), axis=0, return_counts=True)
        for line, count in zip(lines, line_counts.tolist(), strict=True):
            text = self._text(number, int(line[0]), line[1:].astype(np.bool_))
            counts[text] = counts.get(text, 0) + count
        name = input_scope(self._join.node.operands[number])
        for text, count in sorted(counts.items(), key=lambda each: -each[1]):
            yield WaitingReport(name, text, round(count * len(stored) / len(some)))

    def _text(self, number: int, what: int, unmet: NDArray[np.bool_]) -> str:
        if what == kernel.NOTHING:
            return "the next purge"
        if what == kernel.RESULTS:
            return "the end of the results that it is in"
        if what == kernel.NOT_FOLLOWED:
            return "more rows than are followed at once"
        return self._of_rules(number, np.flatnonzero(unmet)) or self._of_window(number)

    def _of_rules(self, number: int, unmet: Ints) -> str:
        """What closes each input that is open: one of its rules, and all of these inputs."""
        node = self._join.node
        assert node.retention is not None
        by_target: dict[int, dict[str, None]] = {}
        for rule in unmet.tolist():
            by_target.setdefault(node.rules[rule].target, {})[node.retention.until[rule]] = None
        each = [" or ".join(words) for words in by_target.values()]
        is_matched = node.kind is not JoinKind.JOIN and number == 0
        return ("a match, or " if is_matched else "") + ", and ".join(each) if each else ""

    def _of_window(self, number: int) -> str:
        match self._join.node.operands[number]:
            case Scan(spec=Unbounded()):
                return "nothing that is declared"
        return "the end of its window"


def spread(count: int, some: int) -> Ints:
    """Some of so many places, spread evenly but in no rhythm that rows may have, too.

    >>> spread(1000, 5).tolist()
    [0, 236, 472, 618, 854]
    """
    golden = 0.6180339887498949
    places: Ints = np.unique((np.arange(some) * golden % 1 * count).astype(np.int64))
    return places

"""No (thesis 6.3): values of rows that came and that a filter left out. Rows that refer to them need not wait.

With RIDS(k) rows go without it, too, but k rows later; and where k is large, those that wait are more than the values
that would be remembered (6.10). CA says when a value is not referred to any more, and can go. So there is a choice, and
it is made for the smaller time-averaged size: while values are remembered, it is counted how many rows refer to them,
which by Little's law would be as many times k that wait. If that is less, the values are forgotten, until k doubles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.kernels.hashing import row_hashes
from penstock.operators.join import JoinCore
from penstock.operators.knowledge import Knowledge, without_nulls
from penstock.operators.monitors import Monitors, Rows, coming
from penstock.plan.rules import ByArrival, PurgingJoin
from penstock.plan.watched import Watched
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.evidence import MISSING
from penstock.synopsis.memory import Ints, Memory

#: Its registers: whether values are not remembered, since which clock it is counted, the rows that referred to values
#: since then, and the k when it was last chosen.
_NOT_KEPT, _BEGAN, _REFERRED, _K = range(4)

#: So long it is counted at least, before it is chosen.
PANE = 1000


class LeftOut:
    def __init__(
        self, memory: Memory, name: str, node: PurgingJoin, core: JoinCore, knows: Knowledge, monitors: Monitors
    ) -> None:
        self._node, self._core, self._knows, self._monitors = node, core, knows, monitors
        self.rules = {n: rule for n, rule in enumerate(node.rules) if isinstance(rule, ByArrival)}
        self._registers = {number: memory.array(f"{name}{number}", 4) for number in self.rules}

    def keeps(self, number: int) -> bool:
        """Whether values are remembered for that rule."""
        return not self._registers[number][_NOT_KEPT]

    def learn(self, came: Sequence[Deltas], rows: Rows) -> Iterator[tuple[int, Ints]]:
        """Takes rows that come. Gives the keys that were left out, by rule."""
        for number, rule in self.rules.items():
            self._choose(number, rule)
            if self.keeps(number):
                times, keys = without_nulls(came[rule.evidence], len(rule.variables))
                let_in, _ = coming(rule.target, rule.variables, rows, self._core)
                out = ~np.isin(_hashes(keys), _hashes(let_in))
                self._knows.evidence[number].note(keys[out], times[out])
                referring, _ = coming(rule.source, rule.variables, rows, self._core)
                known = self._knows.evidence[number].words(referring) != MISSING
                self._registers[number][_REFERRED] += int(known.sum())
                yield number, keys[out]

    def forget(self, source: int, variables: tuple[int, ...], keys: Ints) -> None:
        """Rows of an input do not come again with these values of variables, by CA."""
        for number, rule in self.rules.items():
            if rule.source == source and rule.variables == variables and len(keys):
                unneeded = ~self._core.holds(source, variables, keys)
                self._knows.evidence[number].forget_keys(keys[unneeded])

    def watched(self) -> list[Watched]:
        """What was chosen, as of a constraint."""
        return [Watched(self._text(number), None, self.keeps(number)) for number in self.rules]

    def _text(self, number: int) -> str:
        rule = self.rules[number]
        columns = ", ".join(column.name for column in self._node.evidence[rule.evidence].schema)
        return f"{self._node.evidence[rule.evidence].schema[0].scope.removeprefix('_')}: No of ({columns})"

    def _choose(self, number: int, rule: ByArrival) -> None:
        registers, limit = self._registers[number], self._monitors.limit(rule.k)
        clock = self._knows.clock(rule.ticks)
        if limit is None or (registers[_NOT_KEPT] and limit >= 2 * registers[_K]):
            # Without k nothing else lets rows go; and where it has grown, more would wait than was counted.
            registers[_NOT_KEPT], registers[_REFERRED], registers[_BEGAN] = 0, 0, clock
        elif not registers[_NOT_KEPT] and clock - registers[_BEGAN] >= max(PANE, limit):
            waiting = int(registers[_REFERRED]) * limit // (clock - int(registers[_BEGAN]))
            registers[_REFERRED], registers[_BEGAN], registers[_K] = 0, clock, max(limit, 1)
            if waiting < len(self._knows.evidence[number]):
                registers[_NOT_KEPT] = 1
                self._knows.evidence[number].clear()


def _hashes(keys: Ints) -> Ints:
    return row_hashes(keys, np.arange(len(keys)), np.arange(keys.shape[1]))

"""An engine that is fed row by row, and what its join keeps after each: the synopses of the worked examples."""

from __future__ import annotations

from collections import Counter

import numpy as np

from penstock.algebra.relations import Relation
from penstock.closing.rules import ByLifespan, ByNo
from penstock.engines.embedded import EmbeddedEngine
from penstock.retention.purge import Purge
from penstock.sql import bind_text
from tests.engines.comparing import batch, comparable, logged
from tests.reference.interpreter import run

Values = tuple[int, ...]


class Steps:
    """A query over streams of BIGINT columns whose last one is the time; each row comes at an instant of its own."""

    def __init__(self, script: str) -> None:
        bound = bind_text(script).checked()
        self.query, self.catalog = bound.queries[0], bound.catalog
        self.engine = EmbeddedEngine(self.query, self.catalog)
        self._purges: list[Purge] = [
            purge for machines in self.engine._machines for machine in machines for purge in machine._builder.purges
        ]
        self.log: Counter[tuple[object, ...]] = Counter()
        self.now = 0
        self._came: dict[str, list[Values]] = {stream.name: [] for stream in self.catalog.streams}

    @property
    def forgets(self) -> bool:
        return bool(self._purges)

    def feed(self, stream: str, *rows: Values) -> None:
        for row in rows:
            self.come(stream, row, self.now + 1)

    def come(self, stream: str, row: Values, ts: int) -> None:
        """A row at that instant, which is closed then."""
        self.now = ts
        self._came[stream].append((*row, ts))
        definition = self.catalog.get(stream)
        self.engine.push(stream, batch(definition, [(*row, ts)]))  # type: ignore[arg-type]
        self.log += logged(self.engine._step(ts + 1), self.query)

    def stored(self, occurrence: str) -> list[Values]:
        """The rows of an input, but their times, in the order in which they came."""
        (purge,) = self._purges
        number, operand = self._input(occurrence)
        store = purge._join.inputs.inputs[number].store
        slots = np.flatnonzero(purge._join.inputs.visibility(number)[: store.capacity])
        slots = slots[np.argsort(store.starts[slots], kind="stable")]
        return [tuple(row[: len(operand.schema)]) for row in store.rows[slots].tolist()]

    def waiting(self, occurrence: str) -> int:
        """How many rows of an input have come, and not yet entered its window."""
        (purge,) = self._purges
        number, _ = self._input(occurrence)
        return len(purge._join.inputs.inputs[number].store) - int(
            np.count_nonzero(purge._join.inputs.visibility(number))
        )

    def _input(self, occurrence: str) -> tuple[int, Relation]:
        (purge,) = self._purges
        return next(each for each in enumerate(purge.node.operands) if each[1].schema[0].scope == occurrence)

    def no(self, occurrence: str) -> list[Values]:
        """The keys of an input's No component."""
        (purge,) = self._purges
        for number, rule in enumerate(purge.node.rules):
            if isinstance(rule, ByNo) and purge.node.operands[rule.target].schema[0].scope == occurrence:
                return sorted(map(tuple, purge._closing.evidence[number].entries().keys.tolist()))
        raise AssertionError(occurrence)

    def punctuations(self) -> int:
        """How many punctuations are kept that hold for a while."""
        (purge,) = self._purges
        rules = [n for n, rule in enumerate(purge.node.rules) if isinstance(rule, ByLifespan)]
        return sum(len(purge._closing.evidence[n]) for n in rules)

    def expected(self) -> Counter[tuple[object, ...]]:
        """What the reference has given by now."""
        changes = run(self.query, self.catalog, self._came, self.now)
        return Counter((change.ts, change.op, *map(comparable, change.row)) for change in changes)

    def results(self) -> list[tuple[object, ...]]:
        """The rows that are in the answer now."""
        found: Counter[tuple[object, ...]] = Counter()
        for (_, op, *values), count in self.log.items():
            found[tuple(values)] += count if op == "+" else -count
        return sorted(found.elements())  # type: ignore[type-var]

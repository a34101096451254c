"""Streams whose k varies, as those of thesis 6.6.4 and 6.7.4 do: distances are uniform up to a k that changes.

All times differ, so that rows come in one order only. `run` pushes rows in the order of time, and keeps what the
monitors say after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.catalog import StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.constraint_report import ConstraintReport, OnDisk
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.sql import bind_text
from tests.engines.comparing import Log, batch, logged
from tests.engines.restarting import Pages, restart
from tests.profiling import definitions

#: A value, then its time.
Data = Mapping[str, Sequence[tuple[int, int]]]
#: The k of the n-th row.
Varies = Callable[[int], int]


def references(count: int, k: Varies, seed: int = 0, each: int = 2) -> Data:
    """Rows of s, `each` of which refer to one of t that comes up to k rows later."""
    random = Random(seed)
    children = [(n, 1000 * n) for n in range(count)]
    parents = [(n, 1000 * max(0, n - random.randint(0, k(n))) + 500) for n in range(count) for _ in range(each)]
    return {"s": _apart(parents), "t": children}


def clusters(count: int, k: Varies, seed: int = 0) -> Data:
    """Rows of t, two of a value with up to k others between; a row of s comes before them."""
    random = Random(seed)
    places = sorted(
        (n + random.random() / 2 + more * random.randint(0, k(n)) / 2, n) for n in range(count) for more in (0, 1)
    )
    return {"s": [(n, 1000 * n) for n in range(count)], "t": _apart([(n, int(1000 * at) + 1) for at, n in places])}


def orders(count: int, k: Varies, seed: int = 0) -> Data:
    """Rows of t whose values are out of order by up to k rows; a row of s comes before each."""
    random = Random(seed)
    late = sorted((n + random.randint(0, k(n)), n) for n in range(count))
    return {"s": [(n, 1000 * n) for n in range(count)], "t": _apart([(n, 1000 * at + 1) for at, n in late])}


def _apart(rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The rows in the order of time, no two at one."""
    out: list[tuple[int, int]] = []
    for value, ts in sorted(rows, key=lambda row: row[1]):
        out.append((value, max(ts, out[-1][1] + 1) if out else ts))
    return out


@dataclass(slots=True)
class Run:
    log: Log = field(default_factory=Log)
    #: After each step, the watermark and what the monitors say, of all cells.
    steps: list[tuple[int, list[ConstraintReport]]] = field(default_factory=list)
    state_rows: list[int] = field(default_factory=list)
    on_disk: list[OnDisk] = field(default_factory=list)

    def note(self, engine: EmbeddedEngine) -> None:
        self.steps.append((engine.watermark, [each for line in engine.metrics() for each in line.constraints]))
        self.state_rows.append(engine.state()[0])
        self.on_disk.append(engine.totals().on_disk)


def run(
    ddl: str,
    query: str,
    data: Data,
    every: int,
    cells: int = 1,
    restarts: bool = False,
    forgetting: Forgetting = EAGER,
) -> Run:
    """Steps of so many microseconds."""
    script = bind_text(f"{ddl}\nCREATE QUERY q AS {query}").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells, forgetting=forgetting)
    left = {name: list(rows) for name, rows in data.items()}
    pages: Pages = {}
    out = Run()
    last = max(rows[-1][1] for rows in data.values() if rows)
    for until in range(every, last + 2 * every, every):
        for stream in script.catalog.streams:
            _push(engine, stream, [row for row in left[stream.name] if row[1] < until])
            left[stream.name] = [row for row in left[stream.name] if row[1] >= until]
        out.log += logged(engine.advance(), script.queries[0])
        if restarts:
            restart(engine, pages)
        out.note(engine)
    out.log += logged(engine.finish(), script.queries[0])
    out.note(engine)
    return out


def _push(engine: EmbeddedEngine, stream: StreamDef, rows: list[tuple[int, int]]) -> None:
    if rows:
        engine.push(stream.name, batch(stream, rows))


def joined(data: Data) -> Log:
    """Of s and t, on their values: what a join without windows gives, by value."""
    ts_of: dict[int, list[int]] = {}
    for value, ts in data["t"]:
        ts_of.setdefault(value, []).append(ts)
    return Log((max(ts, at), "+", value) for value, ts in data["s"] for at in ts_of.get(value, ()))


def as_defined(data: Data) -> dict[str, list[definitions.Row]]:
    return {name: [(ts, {"a": value}) for value, ts in rows] for name, rows in data.items()}

"""The network of thesis 1.3 and 6.1.1: packets on a customer's link C, a backbone link B and an outgoing link O.

One packet of C in ten is seen on B within 100 ms, and one of those in ten on O within 100 ms of that; all other packets
are each on one link only. B carries ten times as much as C and O.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.types import MILLISECOND, SECOND
from penstock.workloads.files import write_files

Ints = NDArray[np.int64]

#: Packets per second on C and on O; on B ten times as many.
RATE = 1_000
SHARES = {"c": 1, "b": 10, "o": 1}

QUERY = """
CREATE QUERY traffic AS
SELECT SUM(c.size) AS total
FROM c [RANGE 10 MINUTES], b [RANGE 10 MINUTES], o [RANGE 10 MINUTES]
WHERE c.pid = b.pid AND b.pid = o.pid;
"""


#: The packets that were seen on all three, as they are found.
RESULTS = QUERY.replace("SUM(c.size) AS total", "ISTREAM(c.pid AS pid, c.size AS size)")


@dataclass(frozen=True, slots=True)
class Packets:
    """One link's packets, in the order of time."""

    pid: Ints
    size: Ints
    ts: Ints

    def table(self) -> pa.Table:
        return pa.table({"pid": self.pid, "size": self.size, "ts": self.ts})


def generate(rows: int, seed: int = 0) -> dict[str, Packets]:
    """About so many packets in all, on links c, b and o."""
    random = np.random.default_rng(seed)
    counts = {link: rows * share // sum(SHARES.values()) for link, share in SHARES.items()}
    end = max(1, counts["c"] * SECOND // RATE)
    identifiers = random.permutation(sum(counts.values())).astype(np.int64)
    c = _own(random, identifiers[: counts["c"]], end)
    through = _seen_again(random, c, counts["c"] // 10)
    rest = identifiers[counts["c"] :]
    b = _merged(through, _own(random, rest[: counts["b"] - len(through.pid)], end))
    out = _seen_again(random, through, len(through.pid) // 10)
    o = _merged(out, _own(random, rest[counts["b"] : counts["b"] + counts["o"] - len(out.pid)], end))
    return {"c": c, "b": b, "o": o}


#: What a network's operator knows: packets pass the links in one order, and within 100 ms from link to link.
CONSTRAINTS = {
    "c": "UNIQUE (pid), FOREIGN KEY (pid) REFERENCES b (pid) WITHIN 100 MILLISECONDS",
    "b": (
        "UNIQUE (pid), FOREIGN KEY (pid) REFERENCES c (pid) WITHIN 0 SECONDS, "
        "FOREIGN KEY (pid) REFERENCES o (pid) WITHIN 100 MILLISECONDS"
    ),
    "o": "UNIQUE (pid), FOREIGN KEY (pid) REFERENCES b (pid) WITHIN 0 SECONDS",
}


def ddl(folder: Path, format_: str = "parquet", *, constrained: bool = False) -> str:
    """Declarations of the three streams, with their files in a folder, with the constraints or without."""
    constraints = {link: f", {text}" if constrained else "" for link, text in CONSTRAINTS.items()}
    return "\n".join(
        f"CREATE STREAM {link} (pid BIGINT, size BIGINT, ts BIGINT{constraints[link]}) TIMESTAMP BY ts\n"
        f"USING {format_} OPTIONS (path '{folder / link}');"
        for link in SHARES
    )


def write(folder: Path, rows: int, files: int = 1, seed: int = 0) -> None:
    """Parquet files of each link, in a folder per link."""
    for link, packets in generate(rows, seed).items():
        write_files(folder / link, packets.table(), files)


def _own(random: np.random.Generator, pids: Ints, end: int) -> Packets:
    ts = np.sort(random.integers(0, end, len(pids)))
    return Packets(pids, random.integers(40, 1500, len(pids)), ts)


def _seen_again(random: np.random.Generator, packets: Packets, count: int) -> Packets:
    """Some of a link's packets as another link sees them, up to 100 ms later."""
    chosen = np.sort(random.choice(len(packets.pid), count, replace=False))
    ts = packets.ts[chosen] + random.integers(0, 100 * MILLISECOND, count)
    return _in_order(Packets(packets.pid[chosen], packets.size[chosen], ts))


def _merged(one: Packets, other: Packets) -> Packets:
    return _in_order(
        Packets(
            np.concatenate((one.pid, other.pid)),
            np.concatenate((one.size, other.size)),
            np.concatenate((one.ts, other.ts)),
        )
    )


def _in_order(packets: Packets) -> Packets:
    order = np.argsort(packets.ts, kind="stable")
    return Packets(packets.pid[order], packets.size[order], packets.ts[order])

"""How much state a join holds where it forgets: the network join with constraints, and auctions that are closed.

The network join is run plain, with its constraints declared, and with constraints that nobody checks, with the streams
side by side in time, so that no row waits for another stream. Beside them stands the least that any plan could hold:
the rows that still take part in a change of the result, found afterwards from the whole data. Steps are of two sizes,
since each costs something, however few rows it has, and more where rows are forgotten. The auctions have no window at
all; their state is shown over a run ten times as long. `ROWS` in the environment sets the size. Times are CPU times of
this process.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.embedded import EmbeddedEngine
from penstock.sql import bind_text
from penstock.types import SECOND
from penstock.workloads import auction, network

ROWS = int(os.environ.get("ROWS", "2000000"))
WINDOW = 600 * SECOND
#: Rows that are pushed at a time; 12,000 are those of a second.
PUSHED = (12_000, 32_768)
#: Times are medians of so many runs.
ROUNDS = int(os.environ.get("RUNS", "5"))


@dataclass(slots=True)
class Run:
    seconds: float = 0.0
    peak_rows: int = 0
    peak_bytes: int = 0
    results: int = 0
    #: Rows of state after each tenth.
    tenths: list[int] = field(default_factory=list)


def main() -> None:
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        of_network(Path(name))
        of_auctions(Path(name) / "auction")


def of_network(folder: Path) -> None:
    network.write(folder, ROWS)
    print(f"network join of {ROWS:,} rows, windows of ten minutes, SUM over the join")
    for declared in (False, True):  # compiles what is not compiled yet
        run(network.ddl(folder, constrained=declared) + network.QUERY, folder, 100_000)
    least = clairvoyant(folder)
    print(f"  {'clairvoyant':12} {least:>10,} rows at most")
    for pushed in PUSHED:
        print(f"  by {pushed:,} rows at a time")
        compared(folder, least, pushed)


def compared(folder: Path, least: int, pushed: int) -> None:
    plain, declared = (network.ddl(folder, constrained=c) for c in (False, True))
    scripts = [ddl + network.QUERY for ddl in (plain, declared, believing(declared))]
    plain, purged, believed = rounds(scripts, folder, pushed)
    for title, found in (("plain", plain), ("constrained", purged), ("believed", believed)):
        print(
            f"  {title:12} {found.peak_rows:>10,} rows and {found.peak_bytes / 1e6:7.1f} MB at most, "
            f"{found.seconds / ROWS * 1e9:5.0f} ns per row, {found.results:,} changes"
        )
    print(
        f"  with constraints 1/{plain.peak_rows / purged.peak_rows:.0f} of the rows, "
        f"1/{plain.peak_bytes / purged.peak_bytes:.0f} of the bytes, {purged.peak_rows / least:.2f} times the least, "
        f"{purged.seconds / plain.seconds:.2f} times the work; "
        f"where nobody looks for violations, {believed.seconds / plain.seconds:.2f} times"
    )


def rounds(scripts: list[str], folder: Path, pushed: int) -> list[Run]:
    """Runs scripts in turn, several times, and gives of each the run with the median time."""
    runs = [[run(script, folder, pushed=pushed) for script in scripts] for _ in range(ROUNDS)]
    return [sorted(own, key=lambda each: each.seconds)[ROUNDS // 2] for own in zip(*runs, strict=True)]


def believing(ddl: str) -> str:
    """Declarations that nobody checks while the query runs."""
    return re.sub(r"WITHIN \d+ \w+", r"\g<0> ON VIOLATION IGNORE", ddl)


def of_auctions(folder: Path) -> None:
    rows = ROWS // 2
    for count in (rows // 10, rows):
        auction.write(folder / str(count), count)
        found = run(auction.ddl(folder / str(count)) + auction.RESULTS, folder / str(count))
        tenths = ", ".join(f"{size:,}" for size in found.tenths)
        work = f"{found.seconds / count * 1e9:.0f} ns per row"
        print(f"auctions, {count:,} rows, no window: {work}, {found.results:,} results")
        print(f"  state rows after each tenth: {tenths}; {found.peak_bytes / 1e6:.1f} MB at most")


def run(script: str, folder: Path, limit: int | None = None, pushed: int = PUSHED[0]) -> Run:
    """Pushes all streams side by side."""
    bound = bind_text(script).checked()
    engine = EmbeddedEngine(bound.queries[0], bound.catalog)
    found = Run()
    seconds = list(side_by_side(folder, list(engine.streams), limit, pushed))
    for number, batches in enumerate(seconds, start=1):
        start = time.process_time()
        for stream, batch in batches.items():
            if batch is None:
                engine.end(stream)
            else:
                engine.push(stream, batch)
        found.results += engine.advance().num_rows
        found.seconds += time.process_time() - start
        rows, size = engine.state()
        found.peak_rows, found.peak_bytes = max(found.peak_rows, rows), max(found.peak_bytes, size)
        if number * 10 // len(seconds) > len(found.tenths):
            found.tenths.append(rows)
    found.results += engine.finish().num_rows
    return found


def side_by_side(
    folder: Path, streams: list[str], limit: int | None, pushed: int
) -> Iterator[dict[str, pa.RecordBatch | None]]:
    """Some thousand rows of all streams at a time, of the same stretch of time; None when a stream has no more."""
    tables = {stream: pq.read_table(folder / stream).slice(0, limit).combine_chunks() for stream in streams}
    times = {stream: table.column("ts").to_numpy() for stream, table in tables.items()}
    cuts = np.sort(np.concatenate(list(times.values())))[pushed::pushed].tolist()
    starts = dict.fromkeys(streams, 0)
    for cut in [*cuts, None]:
        piece = {}
        for stream, table in tables.items():
            end = table.num_rows if cut is None else int(np.searchsorted(times[stream], cut))
            if end > starts[stream]:
                piece[stream] = table.slice(starts[stream], end - starts[stream]).to_batches()[0]
            elif end == table.num_rows:
                piece[stream] = None
            starts[stream] = end
        yield piece


def clairvoyant(folder: Path) -> int:
    """The most rows at one time that take part in a change of the join to come: until their result has gone again."""
    links = {link: pq.read_table(folder / link).to_pandas().set_index("pid")["ts"] for link in network.SHARES}
    c, b, o = (links[link] for link in ("c", "b", "o"))
    joined = c.index.intersection(b.index).intersection(o.index)
    came = np.sort(np.concatenate([links[link][joined].to_numpy() for link in links]))
    gone = np.sort(np.repeat(np.minimum.reduce([links[link][joined].to_numpy() for link in links]) + WINDOW + 1, 3))
    there = np.arange(1, len(came) + 1) - np.searchsorted(gone, came, side="right")
    return int(there.max())


if __name__ == "__main__":
    main()

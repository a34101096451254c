"""What a process holds besides its results: memory, threads, open files, and what it leaves on disk.

`python -m tests.engines.leaking starts`, or `... rows QUERY ROWS`, prints as JSON what it held from time to time. It is
a process of its own, because other tests leave memory behind.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock import Forgetting, Session

Holdings = dict[str, int]

WINDOWS = {
    "groups of a window": "SELECT name, COUNT(*) AS n FROM s [RANGE 1 SECOND] GROUP BY name",
    "distinct of a window": "SELECT DISTINCT UPPER(name) AS name FROM s [RANGE 1 SECOND]",
    "join of windows": "SELECT a.name FROM s [RANGE 1 SECOND] a, t [RANGE 1 SECOND] b WHERE a.name = b.name",
    "groups that close": "SELECT name, COUNT(*) AS n FROM p GROUP BY name EMIT ON CLOSE",
}
STARTS = 30


def held(folder: Path) -> Holdings:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "arrow": pa.total_allocated_bytes(),
        "threads": threading.active_count(),
        "native threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
        "shared memory": sum(f"-{os.getpid()}" in file.name for file in Path("/dev/shm").iterdir()),
        "folders": len(list(folder.iterdir())),
    }


def batches(rows: int, per_batch: int = 1 << 15, per_second: int = 4000) -> Iterator[pa.RecordBatch]:
    """Rows with ever-new names, so many a second, each followed at once by the row that closes its name."""
    for start in range(0, rows, per_batch):
        number = np.arange(start, min(start + per_batch, rows))
        names = pa.array(np.char.add("somebody whose name is new ", (number // 2).astype(str)))
        times = pa.array(number * (1_000_000 // per_second))
        yield pa.record_batch({"name": names, "is_last": pa.array(number % 2 == 1), "ts": times})


def declared(rows: int) -> Session:
    session = Session()
    session.stream("s", batches(rows), timestamp="ts")
    session.stream("t", batches(rows), timestamp="ts")
    session.stream("p", batches(rows), timestamp="ts", constraints=["PUNCTUATED BY (name) WHEN is_last"])
    return session


def starts(folder: Path) -> list[Holdings]:
    """What is held after each start, of runs that end and of runs that are left in the middle."""
    data = folder / "data"
    data.mkdir()
    with (data / "s.csv").open("w") as file:
        file.write("name,ts\n" + "".join(f"name {n},{n * 1000}\n" for n in range(3000)))
    after = []
    for number in range(STARTS):
        name = list(WINDOWS)[number % len(WINDOWS)]
        list(declared(3000).query(WINDOWS[name]).run())
        _spill(100)
        from_files = Session()
        source = f"USING csv OPTIONS (path '{data / 's.csv'}', header 'true')"
        from_files.sql(f"CREATE STREAM s (name STRING, ts BIGINT) TIMESTAMP BY ts {source}")
        list(from_files.query(WINDOWS["groups of a window"]).run(cells=2))
        left = declared(200_000).query(WINDOWS[name]).run()
        next(left)
        left.close()
        del left
        after.append(held(folder))
    return after


def _spill(rows: int) -> None:
    """Bids come before their items, which they must not, so that they are spilled and brought back."""
    session, number = Session(), pa.array(range(rows))
    items = pa.table({"id": number, "name": number.cast(pa.string()), "ts": pa.array(range(20, 10 * rows + 20, 10))})
    session.stream("item", items.to_batches(max_chunksize=20), timestamp="ts", constraints=["UNIQUE (id)"])
    bids = pa.table({"auction": number, "ts": pa.array(range(0, 10 * rows, 10))})
    within = ["FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS ON VIOLATION IGNORE"]
    session.stream("bid", bids.to_batches(max_chunksize=20), timestamp="ts", constraints=within)
    query = session.query("SELECT name FROM item [RANGE 1 SECOND], bid [RANGE 1 SECOND] WHERE id = auction")
    found = sum(changes.num_rows for changes in query.run(forgetting=Forgetting(spill=True)))
    assert found >= rows
    assert max(metric["on_disk"]["brought_back"] for metric in query.metrics()) > 0


def rows(folder: Path, query: str, count: int) -> list[Holdings]:
    """What is held at every tenth of a run of so many rows."""
    session, found = Session(), list[Holdings]()

    def reports() -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in batches(count):
            yield batch
            if done * 10 // count != (done + batch.num_rows) * 10 // count:
                found.append(held(folder))
            done += batch.num_rows

    session.stream("s", reports(), timestamp="ts")
    session.stream("t", batches(count), timestamp="ts")
    session.stream("p", reports(), timestamp="ts", constraints=["PUNCTUATED BY (name) WHEN is_last"])
    for _ in session.query(WINDOWS[query]).run():
        pass
    return found


def main(what: str, *arguments: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tempfile.tempdir = name  # what the engine puts aside is counted, and nothing else
        measures: dict[str, Callable[[], object]] = {
            "starts": lambda: starts(folder),
            "rows": lambda: rows(folder, arguments[0], int(arguments[1])),
        }
        print(json.dumps(measures[what]()))


if __name__ == "__main__":
    main(*sys.argv[1:])

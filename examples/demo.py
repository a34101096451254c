"""What `make demo` shows: queries checked, explained, run; one whose state shrinks, one with errors, one on Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.workloads import auction, network

#: Items and bids of the auctions, and packets on the three links of the network.
AUCTION_ROWS = 400_000
PACKETS = 120_000

EXAMPLES = Path(__file__).parent

GROWING = """\
CREATE STREAM item (id BIGINT, seller BIGINT, reserve BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts
USING parquet OPTIONS (path 'data-auction/item');

CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts BIGINT) TIMESTAMP BY ts
USING parquet OPTIONS (path 'data-auction/bid');

CREATE QUERY offers AS
SELECT ISTREAM(i.id AS id, i.seller AS seller, b.bidder AS bidder, b.price AS price)
FROM item i, bid b WHERE i.id = b.auction AND b.kind = 'bid';
"""

DECLARED = """\
ALTER STREAM bid ADD FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 SECONDS; -- a bid comes after its item,
ALTER STREAM bid ADD PUNCTUATED BY (auction) WHEN kind = 'close';                 -- and before it is closed
"""

BROKEN = """\
CREATE STREAM reading (sensor STRING, celsius DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY hottest AS
SELECT sensor, ts, MAX(celcius) AS top
FROM reading [RANGE 10 MINUTES]
WHERE ts > NOW() AND sensor = 7
GROUP BY sensor;
"""

MESSY = """\
create stream reading(sensor string, -- which one
celsius double,ts timestamp)timestamp by ts delay 90 seconds;
select rstream(sensor, max(celsius) as top) from reading[range 600 seconds] group by sensor
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        shutil.copy(EXAMPLES / "quickstart.sql", here)
        (here / "broken.sql").write_text(BROKEN)
        (here / "messy.sql").write_text(MESSY)

        say("A file declares streams and tables, with what is known about them, and asks queries.")
        show("quickstart.sql", (here / "quickstart.sql").read_text())
        say("Will it fit in memory, however long it runs? That is said before it starts.")
        penstock("check quickstart.sql", here)
        say("How is it understood? Each query in normal form: what it reads through which windows, and what it gives.")
        penstock("explain quickstart.sql", here)
        say(
            "What does it give? Some readings as json, the rooms as csv, and every change, in time. The first run "
            "compiles kernels, for some seconds; they are kept."
        )
        write_readings(here / "data")
        show("data/reading/0.json", (here / "data/reading/0.json").read_text())
        penstock("run quickstart.sql --engine embedded --query highest --until-done", here)

        show_shrinking(here)

        say("A query with four mistakes. All are found at once, and each says what to write instead.")
        show("broken.sql", BROKEN)
        penstock("check broken.sql", here)

        say("And one that is right, but hard to read.")
        show("messy.sql", MESSY)
        penstock("fmt messy.sql", here)
        if "--no-spark" not in sys.argv:
            show_network(here)
        say("More examples are in examples/, and every clause of the language is in docs/language.md.", last=True)


def show_shrinking(here: Path) -> None:
    say(
        "A query that does not fit: every item would be kept indefinitely, and every bid whose item does not come. "
        "What would help is said, too."
    )
    (here / "growing.sql").write_text(GROWING)
    show("growing.sql", GROWING)
    penstock("check growing.sql", here)

    say(
        "Items are there before their bids, and a row closes each auction. Declare that, and what has ended is "
        "forgotten."
    )
    declared = GROWING.replace("CREATE QUERY", f"{DECLARED}\nCREATE QUERY")
    (here / "shrinking.sql").write_text(declared)
    show("shrinking.sql, before the query", DECLARED)
    penstock("check shrinking.sql", here)

    say(f"Both over {AUCTION_ROWS:,} rows. The results are the same; what is kept for them is not.")
    auction.write(here / "data-auction", AUCTION_ROWS)
    run = "run --engine embedded --until-done"
    penstock(f"{run} --allow-unbounded growing.sql --out all.parquet --metrics growing.jsonl", here)
    penstock(f"{run} shrinking.sql --out same.parquet --metrics shrinking.jsonl", here)
    growing, shrinking = (rows_kept(here / f"{name}.jsonl") for name in ("growing", "shrinking"))
    print("  rows read   rows kept without declarations   with them")
    for share in (0.2, 0.4, 0.6, 0.8, 1.0):
        read = AUCTION_ROWS * share
        print(f"{read:>11,.0f}   {_at(growing, read):>30,}   {_at(shrinking, read):>9,}")
    print(flush=True)


def rows_kept(metrics: Path) -> dict[int, int]:
    """How many rows a run kept after each step, by how many it had read."""
    kept: dict[int, int] = {}
    read = 0
    steps: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in metrics.read_text().splitlines():
        metric = json.loads(line)
        steps[metric["step"]].append(metric)
    for step in steps.values():
        read += sum(metric["rows_in"] for metric in step if metric["operator"] == "source")
        kept[read] = sum(metric["state_rows"] for metric in step)
    return kept


def _at(kept: dict[int, int], read: float) -> int:
    """What is kept when about so many rows have been read."""
    return kept[min(kept, key=lambda rows: abs(rows - read))]


def show_network(here: Path) -> None:
    say(
        f"The network query of thesis 1.3 over {PACKETS:,} packets on three links, on Spark: how many bytes of the "
        "customer's traffic went through the backbone and out again in the last ten minutes?"
    )
    network.write(here / "data-network", PACKETS, files=4)
    (here / "network.sql").write_text(f"{network.ddl(Path('data-network'), constrained=True)}\n{network.QUERY}")
    show("network.sql", (here / "network.sql").read_text())
    penstock("run network.sql --until-done --out totals.parquet --metrics metrics.jsonl", here)
    show_totals(here)
    say(
        "A packet is on the next link within 100 milliseconds, or never: that is declared. So what has waited longer "
        "is forgotten, although its window would hold it for ten minutes."
    )
    say("And Spark's own joins, with watermarks and ranges of ten minutes, over the same files:")
    subprocess.run([sys.executable, EXAMPLES / "spark_chain.py", here / "data-network"], check=False)
    print(flush=True)


def write_readings(folder: Path) -> None:
    readings = [("a", 21.5, 0), ("b", 29.0, 60), ("a", 31.0, 120), ("b", 24.0, 700), ("a", 22.0, 900)]
    (folder / "reading").mkdir(parents=True)
    lines = (
        json.dumps({"sensor": sensor, "celsius": celsius, "ts": f"2026-01-01 12:{seconds // 60:02}:{seconds % 60:02}"})
        for sensor, celsius, seconds in readings
    )
    (folder / "reading" / "0.json").write_text("\n".join(lines) + "\n")
    (folder / "room.csv").write_text("sensor,name\na,kitchen\nb,hall\n")


def show_totals(folder: Path) -> None:
    """The last totals, and how much was remembered for them."""
    if not (folder / "totals.parquet").exists():
        return
    totals = pq.read_table(folder / "totals.parquet").sort_by("_ts")
    print(f"{totals.num_rows:,} changes; the last of them:")
    for row in totals.slice(max(0, totals.num_rows - 4)).to_pylist():
        print(f"  {row['_ts'] / 1e6:10.3f} s  {row['_op']}  {row['total']}")
    peak: dict[int, int] = defaultdict(int)
    rows: dict[int, int] = defaultdict(int)
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        metric = json.loads(line)
        peak[metric["step"]] += metric["state_bytes"] or 0
        rows[metric["step"]] += metric["state_rows"] or 0
    held = f"{max(rows.values(), default=0):,} rows and {max(peak.values(), default=0) / 1e6:.1f} MB"
    print(f"\nPenstock held {held} at most\n", flush=True)


def say(text: str, last: bool = False) -> None:
    print(bold(textwrap.fill(text, 100)), end="\n" if last else "\n\n", flush=True)


def show(name: str, text: str) -> None:
    print(faint(f"-- {name}"))
    print(f"{text.strip()}\n", flush=True)


def penstock(command: str, folder: Path) -> None:
    """Runs a command as a user would, and prints both."""
    print(bold(f"$ penstock {command}"), flush=True)
    subprocess.run([sys.executable, "-m", "penstock.cli", *command.split()], cwd=folder, check=False)
    print(flush=True)


def bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def faint(text: str) -> str:
    return f"\033[2m{text}\033[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    main()

"""What `make demo` shows: the lint on plain PySpark, and an auction that Spark cannot bound and declarations can.

    python demo.py [--no-spark] [--out FOLDER]

The pictures are drawn in the terminal, and as a page in FOLDER, which is named at the end.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from state_chart import Points, svg_chart, text_chart

from penstock.types import instant_text
from penstock.workloads import auction

#: Items and bids of the auctions, and the files of each of the two: Spark takes one in each micro-batch.
ROWS, FILES = 200_000, 10

EXAMPLES = Path(__file__).parent

AUCTION = """\
CREATE STREAM item (
  id BIGINT, seller BIGINT, reserve BIGINT, ts BIGINT,
  UNIQUE (id)
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/item');

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts BIGINT
) TIMESTAMP BY ts USING parquet OPTIONS (path 'data/bid');

CREATE QUERY offers AS
SELECT ISTREAM(i.id AS id, i.seller AS seller, b.bidder AS bidder, b.price AS price)
FROM item i, bid b WHERE i.id = b.auction AND b.kind = 'bid';
"""

DECLARED = """\
-- A bid comes after its item, and before the row that closes the auction.
ALTER STREAM bid ADD FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 SECONDS;
ALTER STREAM bid ADD PUNCTUATED BY (auction) WHEN kind = 'close';
"""

BROKEN = """\
CREATE STREAM reading (sensor STRING, celsius DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;

CREATE QUERY hottest AS
SELECT sensor, ts, MAX(celcius) AS top
FROM reading [RANGE 10 MINUTES]
WHERE ts > NOW() AND sensor = 7
GROUP BY sensor;
"""

DECLARED_LINE = "Penstock, auctions closed by a row"


def main(arguments: argparse.Namespace) -> None:
    out = Path(arguments.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        auction.write(here / "data", ROWS, files=FILES)
        (here / "auction.sql").write_text(AUCTION)
        (here / "declared.sql").write_text(AUCTION.replace("CREATE QUERY", f"{DECLARED}\nCREATE QUERY"))
        (here / "broken.sql").write_text(BROKEN)
        lines = {} if arguments.no_spark else show_spark(here)
        lines |= show_auction(here, out)
        show_picture(lines, out)
        show_errors(here)
    say(f"The pictures: {out / 'demo.html'}")
    say("Next: docs/getting-started.md, and penstock.check(df) on a job of your own.", last=True)


def show_spark(here: Path) -> dict[str, Points]:
    """Lints the joins of plain PySpark, and returns how much Spark kept for them."""
    say(
        f"{ROWS:,} items and bids, in plain PySpark. penstock.check(df) says what Spark does not: will this join fit "
        "in memory, however long it runs?"
    )
    command = [sys.executable, EXAMPLES / "auction_on_spark.py", here / "data", here / "state.json"]
    subprocess.run(command, check=True)
    say(
        "The second is safe, but a guess: an auction that is open longer loses bids, and every item waits the whole "
        "five minutes. Both joins have now run, for what Spark keeps; it is drawn below."
    )
    return {name: [(read, kept) for read, kept in points] for name, points in read_json(here / "state.json").items()}


def show_auction(here: Path, out: Path) -> dict[str, Points]:
    """Checks and runs the join in Penstock, without and with what is known of auctions."""
    say("The same join in Penstock. Without declarations it is refused, and what would help is said.")
    show("auction.sql", AUCTION)
    penstock("check auction.sql", here)
    say("A row closes each auction: that is in the data. Declare it, and what has ended is dropped at once.")
    show("declared.sql, before the query", DECLARED)
    penstock("check declared.sql", here)
    run = "run --engine embedded --until-done declared.sql --out offers.parquet --overwrite"
    penstock(f"{run} --metrics run.jsonl --report {out}/run.html", here)
    offers = pq.read_table(here / "offers.parquet")
    print("the last offers:")
    for row in offers.slice(max(0, offers.num_rows - 3)).to_pylist():
        print(f"  at {instant_text(row['_ts'])}: {row['price']} by {row['bidder']} for item {row['id']}")
    print(flush=True)
    return {DECLARED_LINE: rows_kept(here / "run.jsonl")}


def show_picture(lines: dict[str, Points], out: Path) -> None:
    say("Rows kept, as rows are read:")
    print(text_chart(lines), end="\n\n", flush=True)
    picture = svg_chart(lines, "Rows kept by a join of items and bids")
    (out / "state.svg").write_text(picture)
    (out / "demo.html").write_text(PAGE.format(picture=picture, table="".join(map(table_row, lines.items()))))


def show_errors(here: Path) -> None:
    say("A query with four mistakes: all are found at once, and each says what to write instead.")
    show("broken.sql", BROKEN)
    penstock("check broken.sql", here)


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Penstock: the demo</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 54em; margin: 2em auto; padding: 0 1em; color-scheme: light dark }}
table {{ border-collapse: collapse }}
td, th {{ padding: .2em 1em; text-align: right }}
:is(td, th):first-child {{ text-align: left }}
</style>
<h1>What a join keeps</h1>
<p>Items and bids of auctions, joined on the item. Spark's join keeps every row. With a range of time it keeps five
minutes, and would lose bids of longer auctions. Penstock was told which row closes an auction, and keeps the open
ones.</p>
{picture}
<table><tr><th>join</th><th>rows kept at most</th><th>at the end</th></tr>{table}</table>
<p>All that Penstock's run did, step by step: <a href="run.html">the page of the run</a>.</p>
</html>
"""


def table_row(line: tuple[str, Points]) -> str:
    name, points = line
    most = max(kept for _, kept in points)
    return f"<tr><td>{name}</td><td>{most:,}</td><td>{points[-1][1]:,}</td></tr>"


def rows_kept(metrics: Path) -> Points:
    """How many rows a run had read, and kept, after each step."""
    steps: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in metrics.read_text().splitlines():
        metric = json.loads(line)
        steps[metric["step"]].append(metric)
    points, read = [(0, 0)], 0
    for step in steps.values():
        read += sum(metric["rows_in"] for metric in step if metric["operator"] == "source")
        points.append((read, sum(metric["state_rows"] for metric in step if metric["operator"] != "dictionary")))
    return points


def read_json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def say(text: str, last: bool = False) -> None:
    print(bold(textwrap.fill(text, 100, break_long_words=False)), end="\n" if last else "\n\n", flush=True)


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


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-spark", action="store_true", help="leave out what needs Spark")
    parser.add_argument("--out", default="build/demo", help="the folder of the pictures (default: build/demo)")
    return parser.parse_args()


if __name__ == "__main__":
    main(read_arguments())

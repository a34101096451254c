"""What `make demo` shows: a query checked, explained and run, broken on purpose, put in order, and one run on Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from penstock.workloads import network

#: Packets on the three links of the network.
PACKETS = 120_000

EXAMPLES = Path(__file__).parent

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
        say("Is it well formed?")
        penstock("check quickstart.sql", here)
        say("How is it understood? Each query in normal form: what it reads through which windows, and what it gives.")
        penstock("explain quickstart.sql", here)
        say("What does it give? Some readings as json, the rooms as csv, and every change, in time.")
        write_readings(here / "data")
        show("data/reading/0.json", (here / "data/reading/0.json").read_text())
        penstock("run quickstart.sql --engine embedded --query highest --until-done", here)

        say("A query with four mistakes. All are found at once, and each says what to write instead.")
        show("broken.sql", BROKEN)
        penstock("check broken.sql", here)

        say("And one that is right, but hard to read.")
        show("messy.sql", MESSY)
        penstock("fmt messy.sql", here)
        if "--no-spark" not in sys.argv:
            show_network(here)
        say("More examples are in examples/, and every clause of the language is in docs/language.md.", last=True)


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

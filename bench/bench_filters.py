"""Filters: comparisons on columns, and Python functions in the best, the worst and an adaptive order, beside peers.

Parts, each side by side in one run, in CPU time of the process that does the work, medians of several runs after one to
warm up:

- `columns`: eight comparisons of integers, in correlated pairs, over all rows and over `[NOW]`, from an Arrow table and
  from a Parquet file: DuckDB and polars on one thread, and bytewax, whose filters see one row after the other (on fewer
  rows, and with its rows ready in memory);
- `functions`: four comparisons and four Python functions, regular expressions over a string of 256 bytes, in the best,
  the worst and another written order: adaptive beside not, and DuckDB, polars, bytewax and Spark (scalar and pandas)
  with the same functions in the same orders. Where nothing reorders functions, what a peer takes depends on the order.
  DuckDB reads the same Arrow table as we do, and a Parquet file like the other peers;
- `neutral`: where nothing can be gained, adaptive beside not;
- `memory`: the most memory of a process, over a file and over one five times as long.

At the end each ratio stands beside what we aim at. `ROWS` and `FUNCTION_ROWS` in the environment set the sizes (5000000
and 500000 are those of the figures that we quote), `RUNS` how often, and `ONLY` picks parts, as in
`ONLY=columns,neutral`. Peers are installed on first use into `.venv-peers`, in environments of their own. `SPARK=0`
leaves Spark out.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from peers import BYTEWAX, POLARS

from penstock import Session
from penstock.engines.embedded_run import open_run
from penstock.engines.handed import Handed
from penstock.plan.adaptivity import FULL, OFF, Adaptive
from penstock.sql import bind_text

ROWS = int(os.environ.get("ROWS", "1000000"))
FUNCTION_ROWS = int(os.environ.get("FUNCTION_ROWS", "50000"))
RUNS = int(os.environ.get("RUNS", "5"))
ONLY = os.environ.get("ONLY", "columns,functions,neutral,memory").split(",")

COLUMNS = [f"a{n}" for n in range(8)]
CONDITIONS = [(name, 500) for name in COLUMNS]
#: How many of the strings match each of them; they take about the same time where they do not.
PATTERNS = {"f1": ("x[0-9]y", 0.9), "f2": ("q[a-c]{2}z", 0.6), "f3": ("n(one|two)", 0.3), "f4": ("w[5-9]+v", 0.1)}
_MATCHES = {"f1": "x7y", "f2": "qabz", "f3": "none", "f4": "w57v"}

DDL = (
    "CREATE STREAM s (ts BIGINT, "
    + ", ".join(f"{name} BIGINT" for name in COLUMNS)
    + ", v BIGINT, text STRING) TIMESTAMP BY ts MICROSECONDS"
)


#: Written orders of the functions: the best, the worst, and another.
ORDERS = {"best": ("f4", "f3", "f2", "f1"), "worst": ("f1", "f2", "f3", "f4"), "mixed": ("f2", "f4", "f1", "f3")}


@dataclass(frozen=True, slots=True)
class Ratio:
    """How a figure stands to what we aim at: at least, or at most."""

    what: str
    found: float
    least: float | None = None
    most: float | None = None

    def line(self) -> str:
        target = f"at least {self.least}" if self.least is not None else f"at most {self.most}"
        holds = self.found >= self.least if self.least is not None else self.found <= (self.most or 0)
        return f"  {self.what:66} {self.found:8.3f}  {target:14} {'holds' if holds else 'does not hold'}"


RATIOS: list[Ratio] = []


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        show_memory(Path(sys.argv[2]))
        return
    print(f"medians of {RUNS} runs after one to warm up, CPU time of one thread; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        parts = {"columns": on_columns, "functions": with_functions, "neutral": neutral, "memory": memory}
        for part in ONLY:
            parts[part](Path(name))
    print("ratios, and what we aim at")
    for ratio in RATIOS:
        print(ratio.line())


def on_columns(folder: Path) -> None:
    path = folder / "columns.parquet"
    rows = numbers(ROWS)
    pq.write_table(rows, path)
    where = " AND ".join(f"{name} < {bound}" for name, bound in CONDITIONS)
    connection = one_thread()
    connection.register("arrow_rows", rows)

    def duck(source: str) -> int:
        return connection.sql(f"SELECT ts, v FROM {source} WHERE {where}").to_arrow_table().num_rows

    works: dict[str, Callable[[], int]] = {}
    for form in ("s", "s [NOW]"):
        query = f"SELECT ISTREAM v FROM {form} WHERE {where};"
        works[f"penstock, FROM {form}, Arrow table"] = partial(penstock, query, rows)
        works[f"penstock, FROM {form}, Parquet"] = partial(penstock, query, path)
    works |= {"duckdb, Arrow table": lambda: duck("arrow_rows"), "duckdb, Parquet": lambda: duck(f"'{path}'")}
    times = dict(zip(works, measure(*works.values()), strict=True))
    print(f"eight comparisons, correlated pairs, {ROWS:,} rows")
    for name, seconds in times.items():
        print(f"  {name:40} {seconds / ROWS * 1e9:8.1f} ns per row")
    for name, seconds in times.items():
        if name.startswith("penstock"):
            source = name.rpartition(", ")[2]
            RATIOS.append(Ratio(f"{name}: speed over duckdb's", times[f"duckdb, {source}"] / seconds, least=1))
    count = min(ROWS, 100_000)
    few = folder / "few.parquet"
    pq.write_table(rows.slice(0, count), few)
    polars = show_peer("polars, Parquet", POLARS.run(*arguments(path, RUNS)), ROWS)
    bytewax = show_peer("bytewax, rows in memory", BYTEWAX.run(*arguments(few, 1)), count)
    for form in ("s", "s [NOW]"):
        ours = times[f"penstock, FROM {form}, Parquet"] / ROWS
        note_peer(f"penstock, FROM {form}, Parquet: speed over polars's", polars, ours, least=1)
        ours = times[f"penstock, FROM {form}, Arrow table"] / ROWS
        note_peer(f"penstock, FROM {form}, Arrow table: speed over bytewax's", bytewax, ours, least=4)


def with_functions(folder: Path) -> None:
    path = folder / "functions.parquet"
    rows = texts(FUNCTION_ROWS)
    pq.write_table(rows, path)
    conditions = [(name, 900) for name in COLUMNS[:4]]
    tests = [f"{name} < {bound}" for name, bound in conditions]
    session, handed = session_of(rows), Handed("s", rows)
    kinds = [(written(tests, order), setting) for setting in (OFF, FULL) for order in ORDERS.values()]
    times = measure(*(partial(session_run, session, handed, *kind) for kind in kinds))
    fixed = dict(zip(ORDERS, times[: len(ORDERS)], strict=True))
    adaptive = dict(zip(ORDERS, times[len(ORDERS) :], strict=True))
    best = min(fixed.values())
    print(f"four comparisons and four Python functions, {FUNCTION_ROWS:,} rows")
    for name, order in ORDERS.items():
        print(
            f"  written {name:5} ({' '.join(order)}): {fixed[name] / FUNCTION_ROWS * 1e9:6.0f} ns per row as written, "
            f"adaptive {adaptive[name] / FUNCTION_ROWS * 1e9:6.0f}"
        )
        RATIOS.append(
            Ratio(f"functions written {name}: speed over the best order's", best / adaptive[name], least=0.95)
        )
    for name, order in ORDERS.items():
        duck = partial(duck_functions, rows, tests, order)
        ours = partial(session_run, session, handed, written(tests, order), FULL)
        theirs, own = measure(duck, ours)
        show_peer(f"duckdb, Arrow table, written {name}", {"seconds": theirs}, FUNCTION_ROWS)
        RATIOS.append(Ratio(f"functions written {name}: speed over that of duckdb, both Arrow", theirs / own, least=2))
        peers_with_functions(path, tests, conditions, name, order, adaptive[name] / FUNCTION_ROWS)


def peers_with_functions(
    path: Path,
    tests: Sequence[str],
    conditions: Sequence[tuple[str, int]],
    name: str,
    order: Sequence[str],
    ours: float,
) -> None:
    """Peers with the functions in one written order; `ours` is our time for a row of that query, in seconds."""
    (seconds,) = measure(lambda: duck_functions(path, tests, order), runs=1)
    patterns = [PATTERNS[each][0] for each in order]
    given = arguments(path, 1, conditions, patterns)
    found: dict[str, Any] = {
        "duckdb, Parquet": {"seconds": seconds},
        "polars map_elements": POLARS.run(*given),
        "bytewax": BYTEWAX.run(*given),
    }
    if os.environ.get("SPARK", "1") != "0" and name == "worst":
        found |= {f"spark {kind}": {"seconds": spark(path, tests, order, kind)} for kind in ("scalar", "pandas")}
    for peer, figures in found.items():
        theirs = show_peer(f"{peer}, written {name}", figures, FUNCTION_ROWS)
        least = 3 if peer.startswith("spark") else 2
        note_peer(f"functions written {name}: speed over that of {peer}", theirs, ours, least)


def neutral(folder: Path) -> None:
    """Adaptive beside not, where no order is better than another."""
    rows = texts(FUNCTION_ROWS)
    session, handed = session_of(rows), Handed("s", rows)
    cases = {
        "one function": written([], ["f2"]),
        "two cheap functions": "SELECT ISTREAM v FROM s WHERE even(a0) AND odd(v);",
        "equal functions": "SELECT ISTREAM v FROM s WHERE f2(text) AND g2(text) AND h2(text);",
        "cheap filters only": "SELECT ISTREAM v FROM s WHERE a0 < 500 AND a1 < 500 AND a2 < 500;",
    }
    print(f"where nothing can be gained, {FUNCTION_ROWS:,} rows: see the ratios")
    for name, query in cases.items():
        off, full = measure(
            lambda query=query: session_run(session, handed, query, OFF),
            lambda query=query: session_run(session, handed, query, FULL),
        )
        RATIOS.append(Ratio(f"{name}: time over that of off", full / off, most=1.02))


def memory(folder: Path) -> None:
    """The most memory of a process, over a file and over one five times as long."""
    print("most memory of a process that reads a Parquet file")
    most = []
    for count in (ROWS // 5, ROWS):
        path = folder / f"{count}.parquet"
        pq.write_table(numbers(count), path, row_group_size=1 << 17)
        command = [sys.executable, __file__, "--memory", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        most.append(int(done.stdout.splitlines()[-1]))
        print(f"  {count:>10,} rows: {most[-1] / 1e6:.0f} MB")
    RATIOS.append(Ratio("memory for five times as many rows over that for one", most[1] / most[0], most=1.1))


def show_memory(path: Path) -> None:
    penstock("SELECT ISTREAM v FROM s WHERE " + " AND ".join(f"{name} < 500" for name in COLUMNS) + ";", path)
    # Not of getrusage, where a process begins with what its parent had.
    (peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) * 1024)


def numbers(count: int) -> pa.Table:
    """Integers below 1,000; of each pair of columns four in five are equal."""
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {"ts": np.arange(count) * 100}
    for first, second in zip(COLUMNS[::2], COLUMNS[1::2], strict=True):
        columns[first] = random.integers(0, 1000, count)
        columns[second] = np.where(random.random(count) < 0.8, columns[first], random.integers(0, 1000, count))
    return pa.table(columns | {"v": random.integers(0, 10**6, count)})


def texts(count: int) -> pa.Table:
    """The same with strings of 256 bytes, each of which some patterns match, independently of each other."""
    random = np.random.default_rng(2)
    letters = np.frombuffer(b"bcdefghijklmoprstu", np.uint8)
    filling = letters[random.integers(0, len(letters), (count, 256))]
    found = {name: random.random(count) < share for name, (_, share) in PATTERNS.items()}
    lines = []
    for row in range(count):
        line = filling[row].tobytes().decode()
        for place, (name, part) in enumerate(_MATCHES.items()):
            if found[name][row]:
                line = line[: 180 + 8 * place] + part + line[180 + 8 * place + len(part) :]
        lines.append(line)
    return numbers(count).append_column("text", pa.array(lines))


def written(tests: Sequence[str], order: Sequence[str]) -> str:
    return "SELECT ISTREAM v FROM s WHERE " + " AND ".join([*tests, *(f"{name}(text)" for name in order)]) + ";"


def session_of(rows: pa.Table) -> Session:
    session = Session()
    session.stream("s", rows, timestamp="ts")
    for name, (pattern, _) in PATTERNS.items():
        session.function(name, matcher(pattern), arguments=["STRING"], returns="BOOLEAN")
    session.function("even", lambda number: number % 2 == 0, arguments=["BIGINT"], returns="BOOLEAN")
    session.function("odd", lambda number: number % 3 > 0, arguments=["BIGINT"], returns="BOOLEAN")
    for name in ("g2", "h2"):
        session.function(name, matcher(PATTERNS["f2"][0]), arguments=["STRING"], returns="BOOLEAN")
    return session


def matcher(pattern: str) -> Callable[[str], bool]:
    search = re.compile(pattern).search
    return lambda text: search(text) is not None


def penstock(query: str, source: pa.Table | Path) -> int:
    using = f" USING parquet OPTIONS (path '{source}');" if isinstance(source, Path) else ";"
    ddl = DDL.replace(", text STRING", "")
    script = bind_text(ddl + using + query).checked()
    handed = {} if isinstance(source, Path) else {"s": Handed("s", source)}
    return rows_of(open_run(script.queries, script.catalog, handed))


def session_run(session: Session, handed: Handed, query: str, adaptive: Adaptive) -> int:
    script = bind_text(query, catalog=session.catalog).checked()
    return rows_of(open_run(script.queries, script.catalog, {"s": handed}, adaptive=adaptive))


def rows_of(run: Any) -> int:
    return sum(each.rows.num_rows for each in run.results() if each is not None)


def one_thread() -> Any:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def duck_functions(rows: pa.Table | Path, tests: Sequence[str], order: Sequence[str]) -> int:
    connection = one_thread()
    if isinstance(rows, pa.Table):
        connection.register("arrow_rows", rows)
    source = "arrow_rows" if isinstance(rows, pa.Table) else f"'{rows}'"
    for name in order:
        connection.create_function(name, matcher(PATTERNS[name][0]), ["VARCHAR"], "BOOLEAN")
    where = " AND ".join([*tests, *(f"{name}(text)" for name in order)])
    return int(connection.sql(f"SELECT ts, v FROM {source} WHERE {where}").to_arrow_table().num_rows)


def spark(path: Path, tests: Sequence[str], order: Sequence[str], kind: str) -> float:
    """The CPU time of Java and of Python's workers, after a run to warm up."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

    def function(pattern: str) -> Any:
        if kind == "scalar":
            return F.udf(matcher(pattern), "boolean")
        return F.pandas_udf(lambda texts: texts.map(matcher(pattern)).astype(bool), "boolean", F.PandasUDFType.SCALAR)

    def run() -> None:
        frame = session.read.parquet(str(path))
        for test in tests:
            frame = frame.filter(test)
        for name in order:
            frame = frame.filter(function(PATTERNS[name][0])("text"))
        frame.select("ts", "v").write.format("noop").mode("overwrite").save()

    run()
    before = cpu_of_all()
    run()
    after = cpu_of_all()
    session.stop()
    return after - before


def cpu_of_all() -> float:
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:4]) for process in processes)


def arguments(
    path: Path, runs: int, conditions: Sequence[tuple[str, int]] = CONDITIONS, patterns: Sequence[str] = ()
) -> list[str]:
    return [json.dumps(each) for each in (str(path), runs, list(conditions), list(patterns))]


def show_peer(name: str, found: Any, rows: int) -> float | None:
    """Prints what a peer took for a row, and returns it in seconds; None if it did not run."""
    if isinstance(found, str):
        print(f"  {name:40} {found}")
        return None
    print(f"  {name:40} {found['seconds'] / rows * 1e9:8.1f} ns per row")
    return float(found["seconds"]) / rows


def note_peer(what: str, theirs: float | None, ours: float, least: float) -> None:
    if theirs is not None:
        RATIOS.append(Ratio(what, theirs / ours, least=least))


def measure(*works: Callable[[], int], runs: int = RUNS) -> list[float]:
    """The median CPU times, in seconds, of several runs in turn, after one of each to warm up.

    All have to find as many rows.
    """
    times: list[list[float]] = [[] for _ in works]
    for run in range(runs + 1):
        counts = set()
        for work, of_work in zip(works, times, strict=True):
            start = time.process_time()
            counts.add(work())
            if run:
                of_work.append(time.process_time() - start)
        assert len(counts) == 1, counts
    return [statistics.median(of_work) for of_work in times]


if __name__ == "__main__":
    main()

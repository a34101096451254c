"""How long the language takes: to import, and from text to normal form, as queries join more streams.

Times are CPU time, in milliseconds, so that a busy machine disturbs them little; each is the median of
several runs. The target is 20 ms for the text of a ten-way join and its ten declarations.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from penstock.algebra.rewrites import normalise
from penstock.sql import bind_text
from penstock.sql.formatting import format_text

SIZES = (5, 10, 20, 40)


def main() -> None:
    show_import_time()
    show_growth()


def show_import_time() -> None:
    bare, imported = (startup(program) for program in ("pass", "import penstock"))
    print(f"import penstock: {imported - bare:.0f} ms, and {bare:.0f} ms for Python itself; the largest parts:\n")
    for own, module in sorted(import_times(), reverse=True)[:8]:
        print(f"  {own:6.1f} ms  {module}")


def startup(program: str, runs: int = 7) -> float:
    """The median time of a fresh Python that runs a program, from its start to its end."""

    def run() -> float:
        start = sum(os.times()[2:4])
        subprocess.run([sys.executable, "-c", program], check=True)
        return (sum(os.times()[2:4]) - start) * 1000

    return statistics.median(run() for _ in range(runs))


def import_times() -> list[tuple[float, str]]:
    """The time that each module took, without those that it imports."""
    command = [sys.executable, "-X", "importtime", "-c", "import penstock"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    found = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", report)
    return [(int(own) / 1000, module) for own, module in found]


def show_growth() -> None:
    """One row per size; behind each time its ratio to the row above, where the size doubled."""
    before: dict[str, float] = {}
    for n in SIZES:
        times = measured(n)
        if not before:
            print("\na join of n streams, ms" + "".join(f"{step:>21}" for step in times))
        ratios = {step: f"  x {ms / before[step]:4.2f}" if before else "" for step, ms in times.items()}
        print(f"  n = {n:<18}" + "".join(f"{ms:13.2f}{ratios[step]:8}" for step, ms in times.items()))
        before = times


def measured(n: int) -> dict[str, float]:
    declarations, query = declared(n), chain(n)
    catalog = bind_text(declarations).checked().catalog
    bound = bind_text(query, catalog=catalog).checked().queries[0]
    return {
        "declare and bind": median(lambda: bind_text(declarations + query)),
        "bind the query": median(lambda: bind_text(query, catalog=catalog)),
        "normalise": median(lambda: normalise(bound)),
        "format": median(lambda: format_text(declarations + query)),
    }


def median(action: Callable[[], object], runs: int = 15) -> float:
    def run() -> float:
        start = time.process_time()
        action()
        return (time.process_time() - start) * 1000

    action()
    return statistics.median(run() for _ in range(runs))


def declared(n: int) -> str:
    """Streams that refer to each other in a ring, each with five columns and three constraints."""
    return "\n".join(
        f"""
        CREATE STREAM s{i} (
          id BIGINT, parent BIGINT, price BIGINT, kind STRING, ts TIMESTAMP,
          UNIQUE (id),
          FOREIGN KEY (parent) REFERENCES s{(i + 1) % n} (id) WITHIN 100 ROWS,
          PUNCTUATED BY (id) WHEN kind = 'close'
        ) TIMESTAMP BY ts DELAY 5 SECONDS
        USING parquet OPTIONS (path 'data/s{i}');
        """
        for i in range(n)
    )


def chain(n: int) -> str:
    """Their join along the references, with a filter on each and an aggregate on top."""
    streams = ", ".join(f"s{i} [RANGE 10 MINUTES] AS a{i}" for i in range(n))
    joins = [f"a{i}.parent = a{i + 1}.id" for i in range(n - 1)]
    filters = [f"a{i}.price > {i}" for i in range(n)]
    total = f"SUM(a{n - 1}.price) AS total"
    return f"SELECT a0.id, {total} FROM {streams} WHERE {' AND '.join(joins + filters)} GROUP BY a0.id;"


if __name__ == "__main__":
    main()

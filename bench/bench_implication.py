"""What implication costs, in milliseconds of CPU: the conditions of 001's example 9, and a file of 40 assertions.

python bench/bench_implication.py
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.elimination.test_paper import EXAMPLE_9, SYN_FLOOD, in_units  # noqa: E402

from penstock import implies  # noqa: E402
from penstock.catalog import AssertionDef  # noqa: E402
from penstock.elimination import assertion_notices, implication  # noqa: E402
from penstock.sql import bind_text  # noqa: E402


def milliseconds(started: float) -> float:
    return (time.process_time() - started) * 1000


def example_9() -> None:
    implies(SYN_FLOOD, EXAMPLE_9[0])
    for unit in ("MICROSECONDS", "SECONDS", "DAYS"):
        text = in_units(SYN_FLOOD, unit)
        catalog = bind_text(text).checked().catalog
        goals = [f"CREATE ASSERTION goal {in_units(goal, unit)}" for goal in EXAMPLE_9]
        bound = [bind_text(goal, catalog=catalog).checked().catalog.get("goal") for goal in goals]
        started = time.process_time()
        answers = [implication(goal, catalog) for goal in bound if isinstance(goal, AssertionDef)]
        taken = milliseconds(started)
        print(f"example 9, constants in {unit.lower()}: {len(answers)} conditions in {taken:.0f} ms")


def chain(streams: int) -> str:
    """Streams each of which follows the one before, with keys: a handshake of so many packets."""
    columns = "VIRTUAL id BIGINT, ip STRING, time TIMESTAMP"
    text = [f"CREATE STREAM s{number} ({columns}) TIMESTAMP BY time;" for number in range(streams)]
    for number in range(streams):
        text.append(
            f"CREATE ASSERTION key{number} FOR s{number} x, s{number} y WHERE x.id = y.id "
            "THEN x.ip = y.ip AND x.time = y.time;"
        )
    near = "y.time >= x.time AND y.time - x.time <= INTERVAL {} SECONDS"
    for number in range(streams - 1):
        pair = f"FOR s{number} x, s{number + 1} y"
        text.append(
            f"CREATE ASSERTION soon{number} FOR s{number + 1} y THEN EXISTS s{number} x "
            f"WHERE x.id = y.id AND x.ip = y.ip AND {near.format(1)};"
        )
        text.append(f"CREATE ASSERTION ip{number} {pair} WHERE x.ip = y.ip AND {near.format(10)} THEN x.id = y.id;")
    for number in range(0, streams - 1, 2):
        pair = f"FOR s{number} x, s{number + 1} y"
        text.append(f"CREATE ASSERTION after{number} {pair} WHERE x.id = y.id THEN x.ip = y.ip AND y.time >= x.time;")
    return "\n".join(text)


def forty_assertions() -> None:
    text = chain(12)
    catalog = bind_text(text).checked().catalog
    count = len(re.findall("CREATE ASSERTION", text))
    started = time.process_time()
    notices = assertion_notices(catalog, [])
    taken = milliseconds(started)
    print(f"{count} assertions over 12 streams: {len(notices)} notices in {taken:.0f} ms")


if __name__ == "__main__":
    example_9()
    forty_assertions()

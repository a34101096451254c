"""BIGINT times in seconds, milliseconds and nanoseconds: the answers of the reference, and what is safe is forgotten.

The column keeps its own numbers in SQL. Windows, delays, watermarks and `_ts` go by the microsecond that each lies in.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from penstock.catalog import StreamDef
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.lateness import LAST_INSTANT, Progress
from penstock.plan.forgetting import Forgetting
from penstock.register import check_query
from penstock.sql import bind_text
from penstock.types import TimeUnit
from tests.engines.comparing import batch, bound, embedded, expected
from tests.generators import Case

#: Numbers of each unit that lie close together, as instants of the windows below do.
STEPS = {"SECONDS": 1, "MILLISECONDS": 400, "MICROSECONDS": 400_000, "NANOSECONDS": 400_000_300}

DDL = """
CREATE STREAM a (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts {unit} DELAY {delay};
CREATE STREAM b (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts {other} DELAY 1 SECOND;
"""

#: {n} is about two seconds in the unit.
QUERIES = {
    "window": "SELECT k, ts FROM a [RANGE 2 SECONDS]",
    "sliding": "SELECT k, COUNT(*), MAX(ts) FROM a [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "rows": "SELECT ts FROM a [ROWS 3]",
    "between": "SELECT a.v, b.v, a.ts FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + {n}",
    "strictly between": "SELECT a.v, b.ts FROM a, b WHERE a.k = b.k AND b.ts > a.ts - {n} AND b.ts < a.ts + {n}",
    "odd offsets": "SELECT a.v, b.v FROM a, b WHERE a.k = b.k AND b.ts - a.ts <= {odd} AND a.ts - b.ts < {odd}",
    "same time": "SELECT a.v, b.v FROM a, b WHERE a.ts = b.ts",
    "a window and a range": "SELECT a.v, b.v FROM a [RANGE 2 SECONDS], b WHERE a.k = b.k AND b.ts <= a.ts + {n}",
    "exists": "SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + {n})",
    "buckets": "SELECT ts / {n} AS t, COUNT(*), SUM(v) FROM a GROUP BY ts / {n}",
    "closing buckets": "SELECT ts / {n} AS t, k, COUNT(*) FROM a GROUP BY ts / {n}, k EMIT ON CLOSE",
    "closing fine buckets": "SELECT ts / 7 AS t, COUNT(*) FROM a GROUP BY ts / 7 EMIT ON CLOSE",
    "closing times": "SELECT ts, COUNT(*) FROM a GROUP BY ts EMIT ON CLOSE",
    "closing seconds": (
        "SELECT DATE_TRUNC('SECOND', {ts}) AS t, COUNT(*) FROM a GROUP BY DATE_TRUNC('SECOND', {ts}) EMIT ON CLOSE"
    ),
    "closing joins": (
        "SELECT a.ts / {n} AS t, COUNT(*) FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + {odd} "
        "GROUP BY a.ts / {n} EMIT ON CLOSE"
    ),
    "distinct": "SELECT DISTINCT ts / {n} AS t, k FROM a",
    "istream": "SELECT ISTREAM(k, ts + 1 AS t) FROM a WHERE ts % 2 = 0",
}  # fmt: skip

CALLS = {
    "SECONDS": "TIMESTAMP_SECONDS(ts)",
    "MILLISECONDS": "TIMESTAMP_MILLIS(ts)",
    "MICROSECONDS": "TIMESTAMP_MICROS(ts)",
}


def text_of(name: str, unit: str) -> str:
    n = 2_000_000 * TimeUnit[unit].divisor // TimeUnit[unit].multiplier
    call = CALLS.get(unit, "TIMESTAMP_MICROS(ts / 1000)")
    return QUERIES[name].format(n=n, odd=n + 1 if unit == "SECONDS" else n + 77, ts=call)


def case_of(name: str, unit: str, seed: int, other: str | None = None) -> Case:
    random = Random(f"{name} {unit} {seed}")
    delay = random.choice(("0 SECONDS", "1 SECOND", "1500 MILLISECONDS"))
    ddl = DDL.format(unit=unit, other=other or unit, delay=delay)
    data = {}
    for stream, own in (("a", unit), ("b", other or unit)):
        at, rows = 0, []
        for number in range(random.randint(5, 25)):
            at += random.choice((0, 0, 1, random.randrange(2 * STEPS[own] + 1), STEPS[own]))
            rows.append((random.randrange(3), number, max(0, at - random.choice((0, 0, 0, STEPS[own])))))
        data[stream] = rows
    return Case(ddl, text_of(name, unit), data, None, "")


@pytest.mark.parametrize("unit", ["SECONDS", "MILLISECONDS", "NANOSECONDS", "MICROSECONDS"])
@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_those_of_the_reference(name: str, unit: str) -> None:
    if name == "closing seconds" and unit == "NANOSECONDS":
        pytest.skip("nothing that never falls makes a TIMESTAMP of nanoseconds")
    for seed in range(3):
        case = case_of(name, unit, seed)
        query, catalog = bound(case)
        want = expected(case, query, catalog)
        for cells, cuts in ((1, 1), (2, Random(seed))):
            assert embedded(case, query, catalog, cells, cuts) == want, case
        lazy = Forgetting(rows=3)
        assert embedded(case, query, catalog, 1, 2, lazy) == want, case


@pytest.mark.parametrize("name", ["between", "same time", "a window and a range", "strictly between", "exists"])
def test_times_in_different_units_are_compared_as_numbers(name: str) -> None:
    for seed in range(3):
        case = case_of(name, "MILLISECONDS", seed, other="SECONDS")
        query, catalog = bound(case)
        assert embedded(case, query, catalog, 1, Random(seed)) == expected(case, query, catalog), case
    if "window" not in name:
        assert not check_query(query, catalog).safe


SAFE = ["between", "strictly between", "odd offsets", "same time", "exists", "buckets", "closing buckets", "distinct"]


@pytest.mark.parametrize("unit", ["SECONDS", "MILLISECONDS", "NANOSECONDS", "MICROSECONDS"])
@pytest.mark.parametrize("name", SAFE)
def test_what_is_safe_is_forgotten(name: str, unit: str) -> None:
    case = Case(DDL.format(unit=unit, other=unit, delay="1 SECOND"), text_of(name, unit), {}, None, "")
    query, catalog = bound(case)
    is_open = name in ("buckets", "distinct")  # they are safe with what bounds them, and end all the same
    assert check_query(query, catalog).safe or is_open
    engine = EmbeddedEngine(query, catalog)
    definitions = {stream.name: stream for stream in catalog.streams}
    held = []
    for turn in range(12):
        start, step = turn * 200, STEPS[unit]
        for name_ in engine.streams:
            rows = [(number % 5, number, number * step) for number in range(start, start + 200)]
            engine.push(name_, batch(definitions[name_], rows))
        engine.advance()
        held.append(engine.state()[0])
    if not is_open:
        assert max(held) <= 60, held
    engine.close()


def test_numbers_that_are_no_instants_are_counted_as_bad_rows() -> None:
    script = bind_text("CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts SECONDS; SELECT k FROM s").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    most = LAST_INSTANT // 1_000_000
    rows = [(1, 5), (2, most + 1), (3, -1), (4, None), (5, 2**63 - 1), (6, most)]
    engine.push("s", batch(script.catalog.streams[0], rows))
    progress = engine.streams["s"].progress
    assert progress == Progress(newest=most * 1_000_000, rows=6, late_rows=0, bad_rows=4, first=5_000_000)
    found = pa.concat_tables([engine.advance(), engine.finish()])
    assert found.column("k").to_pylist() == [1, 6]
    assert found.column("_ts").to_pylist() == [5_000_000, most * 1_000_000]
    engine.close()


def test_nanoseconds_are_rounded_down() -> None:
    script = bind_text("CREATE STREAM s (k BIGINT, ts BIGINT) TIMESTAMP BY ts NANOSECONDS; SELECT ts FROM s").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog)
    engine.push("s", batch(script.catalog.streams[0], [(1, 999), (2, 1_000), (3, 1_999), (4, 2**63 - 1)]))
    found = pa.concat_tables([engine.advance(), engine.finish()])
    assert found.column("_ts").to_pylist() == [0, 1, 1, (2**63 - 1) // 1000]
    assert found.column("ts").to_pylist() == [999, 1_000, 1_999, 2**63 - 1]
    engine.close()


def test_a_unit_is_written_and_kept() -> None:
    script = bind_text("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts milliseconds DELAY 5 SECONDS").checked()
    (stream,) = script.catalog.streams
    assert isinstance(stream, StreamDef)
    assert (stream.unit, stream.delay) == (TimeUnit.MILLISECONDS, 5_000_000)

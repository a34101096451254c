"""Filters over windows of rows are applied before rows are stored: these are numbered, and what is left out counts.

Thesis 2.2.4 and example 6.1.5: a filter does not commute with a window of rows, unless it is known which rows it left
out. So results are those of the reference, which filters what is in a window, and only rows that pass are kept.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.retention import no_components
from penstock.retention.left_rows import PARTS, LeftRows
from penstock.retention.no_components import MORE_KEYS
from penstock.sql import bind_text
from penstock.synopsis.memory import Memory
from tests.engines.comparing import batch, embedded, expected
from tests.engines.restarting import restarted
from tests.engines.spark.pretending import pretended
from tests.purging.cases import filtered_case
from tests.purging.stored import Steps
from tests.seeds import seeds


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in seeds(15, start=block * 500):
        found = filtered_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)


@pytest.mark.parametrize("seed", seeds(15))
def test_numbers_go_on_after_a_restart(seed: int) -> None:
    found = filtered_case(3000 + seed)
    got = restarted(found.case, found.query, found.catalog, 1 + 2 * (seed % 2), Random(seed))
    assert got == expected(found.case, found.query, found.catalog), found.case.script


@pytest.mark.parametrize("seed", seeds(10))
def test_spark_s_tasks_and_retries_do_not_matter(seed: int) -> None:
    found = filtered_case(4000 + seed)
    got = pretended(found.case, found.query, found.catalog, 1 + seed % 3, Random(seed))
    assert got == expected(found.case, found.query, found.catalog), found.case.script


DDL = """
CREATE STREAM s (id BIGINT, a BIGINT, v BIGINT, ts BIGINT, UNIQUE (id){of_s}) TIMESTAMP BY ts;
CREATE STREAM t (id BIGINT, a BIGINT, v BIGINT, ts BIGINT, UNIQUE (id){of_t}) TIMESTAMP BY ts;
"""


def test_a_row_leaves_with_the_nth_row_after_it_whether_that_one_passes_or_not() -> None:
    ddl = DDL.format(of_s="", of_t=", UNIQUE (a), CLUSTERED BY a WITHIN 9 ROWS")
    text = "SELECT s.id AS s, t.id AS t FROM s [ROWS 3], t [ROWS 9] WHERE s.a = t.a AND s.v > 0"
    steps = Steps(f"{ddl}CREATE QUERY q AS {text};")
    steps.feed("t", (1, 10, 0))
    steps.feed("s", (1, 10, 1), (2, 10, 0), (3, 10, 1))
    assert [row[0] for row in steps.stored("s")] == [1, 3]
    assert steps.results() == [(1, 1), (3, 1)]
    steps.feed("s", (4, 10, 0))
    assert steps.results() == [(3, 1)]
    steps.feed("s", (5, 10, 0), (6, 10, 0))
    assert steps.results() == []
    assert steps.stored("s") == []
    assert steps.log == steps.expected()


def test_keys_of_rows_that_fail_are_kept_until_they_have_left_their_window() -> None:
    """A row of s that refers to one of them does not wait."""
    ddl = DDL.format(of_s=", CLUSTERED BY a WITHIN 9 ROWS", of_t=", UNIQUE (a)")
    text = "SELECT ISTREAM(s.id AS s, t.id AS t) FROM s [ROWS 9], t [ROWS 3] WHERE s.a = t.a AND t.v > 0"
    steps = Steps(f"{ddl}CREATE QUERY q AS {text};")
    steps.feed("t", (1, 10, 0), (2, 20, 1))
    steps.feed("s", (1, 10, 0), (2, 30, 0))
    assert [row[0] for row in steps.stored("s")] == [2]
    assert steps.no("t") == [(10,)]
    assert steps.log == steps.expected()


@pytest.mark.parametrize("cells", [1, 3])
def test_a_join_keeps_its_filtered_windows_once_and_less_by_k(cells: int) -> None:
    """Half of s2 and of s3 pass. With RIDS(30) rows of s1 wait for 30 others at most, but those in a result stay."""
    plain, results = _kept(cells, "")
    assert plain <= 300 + 1.3 * (150 + 150) * cells
    rids = ", FOREIGN KEY (a) REFERENCES s2 (a) WITHIN 30 ROWS, FOREIGN KEY (b) REFERENCES s3 (b) WITHIN 30 ROWS"
    less, same = _kept(cells, rids)
    assert same == results > 0
    assert less <= plain - 150


def _kept(cells: int, declared: str) -> tuple[int, int]:
    """The most rows that the join's inputs hold after a step, and how many changes its result had."""
    ddl = f"""
    CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT{declared}) TIMESTAMP BY ts;
    CREATE STREAM s2 (a BIGINT, v BIGINT, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
    CREATE STREAM s3 (b BIGINT, v BIGINT, ts BIGINT, UNIQUE (b)) TIMESTAMP BY ts;
    """
    text = "SELECT s1.a, s1.b FROM s1 [ROWS 300], s2 [ROWS 300], s3 [ROWS 300]"
    script = bind_text(f"{ddl}{text} WHERE s1.a = s2.a AND s1.b = s3.b AND s2.v < 50 AND s3.v < 50").checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells)
    random, most, changes = Random(1), 0, 0
    for start in range(0, 1500, 100):
        times = range(start, start + 100)
        children = [[(ts, random.randrange(100), ts) for ts in times] for _ in range(2)]
        parents = [(max(0, ts + random.randint(-29, 29)), max(0, ts + random.randint(-29, 29)), ts) for ts in times]
        for stream, rows in {"s1": parents, "s2": children[0], "s3": children[1]}.items():
            engine.push(stream, batch(script.catalog.get(stream), rows))  # type: ignore[arg-type]
        changes += engine.advance().num_rows
        held = [line for line in engine.metrics() if line.operator.startswith("scan") and line.state_rows]
        most = max(most, sum(line.state_rows for line in held))
    return most, changes


def test_partitions_that_a_filter_leaves_out_take_no_room() -> None:
    """A selection on the partition's columns takes all rows of a partition or none."""
    script = bind_text("""
    CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;
    SELECT a, b FROM s [PARTITION BY a ROWS 3] WHERE a BETWEEN 1 AND 4 AND b > 10
    """).checked()
    engine, sizes = EmbeddedEngine(script.queries[0], script.catalog), []
    for start in range(0, 4000, 1000):
        rows = [(ts % 5 if ts % 2 else ts, ts % 100, ts) for ts in range(start, start + 1000)]
        engine.push("s", batch(script.catalog.get("s"), rows))  # type: ignore[arg-type]
        engine.advance()
        sizes.append(engine.state())
    assert sizes[-1] == sizes[1]
    assert sizes[0][0] <= 4 * 3 + 1


def test_keys_of_rows_that_have_left_their_window_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else says when s stops asking for a row of t: every row of t fails, and each has another value."""
    monkeypatch.setattr(no_components, "FEW_KEYS", 8)
    ddl = DDL.format(of_s="", of_t=", UNIQUE (a), PUNCTUATED BY (a) WHEN v = 0")
    text = "SELECT ISTREAM(s.id AS s, t.id AS t) FROM s [ROWS 9], t [ROWS 40] WHERE s.a = t.a AND t.v > 1"
    steps, most = Steps(f"{ddl}CREATE QUERY q AS {text};"), 0
    for number in range(300):
        steps.feed("t", (number, number, 1))
        steps.feed("s", (number, number, 1))
        most = max(most, len(steps.no("t")))
    assert 20 < most <= 40 * MORE_KEYS + 8
    assert steps.log == steps.expected()


@pytest.mark.parametrize("count", [1, 3, 40, 1000])
@pytest.mark.parametrize("largest", [2, 7])
def test_marks_say_which_rows_have_left_to_within_a_part_of_the_window(count: int, largest: int) -> None:
    random, times, left = Random(count), list[int](), LeftRows(Memory(), "left", count)
    for _ in range(500):
        step = sorted(random.choices(range(len(times), len(times) + 9), k=random.randrange(largest)))
        times += [max(ts, *times[-1:]) for ts in step] if times else step
        left.arrive(np.array(times[len(times) - len(step) :], np.int64))
        known = left.until()
        assert not any(ts < known for ts in times[-count:])
        # A mark is a part of a window apart from the next, or a step, at whose end it is made.
        due = len(times) - count + -count // PARTS - 2 * largest
        assert due < 0 or times[due] <= known

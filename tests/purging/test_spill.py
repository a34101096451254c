"""With spill the answer is exact, whatever the data does to constraints with a k; and no more is kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.spark.work import make_work
from penstock.plan.constraint_report import OnDisk
from penstock.plan.forgetting import Forgetting
from penstock.synopsis import spilled
from penstock.synopsis.dictionary import Dictionary
from tests.engines.comparing import Log, batches, bound, expected, logged
from tests.engines.restarting import Pages, restart
from tests.engines.spark.pretending import pretended
from tests.generators import Case
from tests.purging.cases import Purging
from tests.purging.spilling import other_case, spilling_case, spills
from tests.purging.test_monitors import DDL, MAKES, QUERY, ddl
from tests.purging.varying import joined, run
from tests.seeds import seeds

SPILL = Forgetting(spill=True)


def log_of(
    found: Purging, forgetting: Forgetting, cuts: Random | int, cells: int = 1, restarts: bool = False
) -> tuple[Log, OnDisk]:
    engine = EmbeddedEngine(found.query, found.catalog, {}, cells, forgetting=forgetting)
    pages: Pages = {}
    log: Log = Log()
    for name, rows in batches(found.case, engine, found.catalog, cuts):
        engine.push(name, rows)
        log += logged(engine.advance(), found.query)
        if restarts:
            restart(engine, pages)
    log += logged(engine.finish(), found.query)
    return log, engine.totals().on_disk


@pytest.mark.parametrize("make", [spilling_case, other_case])
@pytest.mark.parametrize("block", range(2))
def test_the_answer_is_exact_where_constraints_are_broken(make: Callable[[int, int], Purging], block: int) -> None:
    lost = brought_back = 0
    for seed in seeds(6, start=block * 1000):
        found = make(seed, 36)
        want = expected(found.case, found.query, found.catalog)
        lost += log_of(found, Forgetting(), Random(seed))[0] != want
        ways = [(SPILL, Random(seed), 1, True), (SPILL, seed % 5, 3, False), (Forgetting(7, spill=True), 3, 1, False)]
        for forgetting, cuts, cells, restarts in ways:
            got, on_disk = log_of(found, forgetting, cuts, cells, restarts)
            assert got == want, (seed, forgetting, cells, restarts, found.case.script)
            brought_back += on_disk.brought_back
    # Else the cases would show nothing.
    assert lost
    assert brought_back


@pytest.mark.parametrize("seed", seeds(8))
def test_cells_that_are_tried_again_and_move_bring_back_each_row_once(seed: int, tmp_path: Path) -> None:
    """As on Spark: a step that is tried again starts from the state before it, whose files must be there."""
    found = (spilling_case if seed % 2 else other_case)(300 + seed, 30)
    got = pretended(found.case, found.query, found.catalog, 1 + 2 * (seed % 2), Random(seed), tmp_path)
    assert got == expected(found.case, found.query, found.catalog), found.case.script


def test_cells_sync_what_their_state_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(spilled, "sync", synced.append)
    found = next(case for case in map(spilling_case, range(10)) if spills(case))
    pretended(found.case, found.query, found.catalog, 1, Random(0), tmp_path)
    assert {path.suffix for path in synced} == {".arrow", ""}


@pytest.mark.parametrize(
    ("kind", "within"),
    [
        *((kind, "WITHIN 60 ROWS") for kind in DDL),
        ("CA", "WITHIN 60 MILLISECONDS"),
        ("RIDS", "WITHIN 60 MILLISECONDS"),
        ("RIDS", "INFERRED (w 100)"),
    ],
)
def test_nothing_is_lost_and_no_more_is_kept(kind: str, within: str) -> None:
    """Where k is too small from the start, and where it jumps."""
    data = MAKES[kind](800, lambda n: 30 if n < 400 else 150)
    without = run(ddl(kind, within), QUERY, data, 20_000)
    spilt = run(ddl(kind, within), QUERY, data, 20_000, restarts=True, forgetting=SPILL)
    assert joined(data) - without.log
    assert spilt.log == joined(data)
    assert all(each.false_negatives == 0 for _, reports in spilt.steps for each in reports)
    last = spilt.on_disk[-1]
    assert last.brought_back > 0
    assert (last.rows > 0) == (last.bytes > 0)
    # What is brought back stays while a k is not known, and else goes again.
    more = [one - other for one, other in zip(spilt.state_rows, without.state_rows, strict=True)]
    assert max(more) <= (last.brought_back if "INFERRED" in within else 0)


@pytest.mark.parametrize("kind", ["RIDS", "OA"])
def test_files_go_when_windows_have_passed(kind: str) -> None:
    data = MAKES[kind](800, lambda n: 150)
    query = QUERY.replace("s, t", "s [RANGE 200 MILLISECONDS], t [RANGE 200 MILLISECONDS]")
    done = run(ddl(kind, "WITHIN 10 ROWS"), query, data, 20_000, forgetting=SPILL)
    plain = run(ddl(kind, "WITHIN 10 ROWS ON VIOLATION IGNORE"), query, data, 20_000, forgetting=SPILL)
    assert done.log == plain.log == run(ddl(kind, "WITHIN 1000000 ROWS"), query, data, 20_000).log
    rows = [each.rows for each in done.on_disk]
    assert 0 < max(rows[25:]) <= max(rows[:25]) * 1.5
    assert rows[-1] <= max(rows) / 2


@pytest.mark.parametrize("restarts", [False, True])
def test_punctuations_let_rows_go_that_are_on_disk(restarts: bool) -> None:
    """A row of s waits for t long after k rows, on disk; when its punctuation has come, it goes, and so does that."""
    statements = """
    CREATE STREAM s (a BIGINT, ts BIGINT, UNIQUE (a),
        FOREIGN KEY (a) REFERENCES t (a) WITHIN 2 ROWS ON VIOLATION IGNORE) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, ts BIGINT, PUNCTUATED BY (a) FROM done (a),
        FOREIGN KEY (a) REFERENCES s (a) WITHIN 5 ROWS ON VIOLATION IGNORE) TIMESTAMP BY ts;
    CREATE STREAM done (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
    """
    data = {
        "s": [(n, 10 * n) for n in range(900)],
        "t": sorted(((n, 10 * n + at) for n in range(900) if n % 3 for at in (405, 452)), key=lambda row: row[1]),
        "done": [(n, 10 * n + 605) for n in range(900)],
    }
    done = run(statements, QUERY, data, 50, restarts=restarts, forgetting=SPILL)
    assert done.log == joined(data)
    for kept in ([each.rows for each in done.on_disk], done.state_rows):
        assert 0 < max(kept[100:170]) <= max(kept[30:100])


def test_an_engine_removes_its_files() -> None:
    found = spilling_case(1)
    engine = EmbeddedEngine(found.query, found.catalog, forgetting=SPILL)
    folder = engine.spill_folder(0, 0)
    assert folder is not None
    assert folder.parent.exists()
    engine.close()
    assert not folder.parent.exists()


def test_texts_are_found_when_their_numbers_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary forgets the texts of rows on disk, and numbers them anew when they come back."""
    monkeypatch.setattr(Dictionary, "least_new", 8)
    monkeypatch.setattr(Dictionary, "words_per_new", 1_000_000)
    statements = """
    CREATE STREAM s (a STRING, b STRING, ts BIGINT,
        FOREIGN KEY (a) REFERENCES t (a) WITHIN 1 ROWS ON VIOLATION IGNORE) TIMESTAMP BY ts;
    CREATE STREAM t (a STRING, c STRING, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
    CREATE STREAM u (c STRING, d STRING, ts BIGINT, CLUSTERED BY c WITHIN 0 ROWS ON VIOLATION IGNORE) TIMESTAMP BY ts;
    """
    random = Random(5)
    data: dict[str, list[tuple[object, ...]]] = {
        "s": [(f"key {n}", random.choice((None, f"text {n}")), 10 * n) for n in range(14)],
        "t": [(f"key {n}", f"kind {n % 7}", 10 * n + 3 + 90 * (n % 3)) for n in range(14)],
        "u": [(f"kind {random.randint(0, 7)}", f"of {n}", 20 * n + 5) for n in range(12)],
    }
    data["t"].sort(key=lambda row: int(str(row[2])))
    select = "SELECT s.a, s.b, u.d FROM s, t, u WHERE s.a = t.a AND t.c = u.c"
    case = Case(statements, select, data, None, "")
    query, catalog = bound(case)
    found, want = Purging(case, query, catalog), expected(case, query, catalog)
    for cells, restarts in ((1, False), (1, True), (2, False)):
        got, on_disk = log_of(found, SPILL, Random(cells), cells, restarts)
        assert got == want
        assert on_disk.brought_back


@pytest.mark.parametrize("constraint", ["CLUSTERED BY a WITHIN 1 SECOND", "ORDERED BY a WITHIN 0 ROWS"])
def test_values_end_by_no_k_where_rows_are_spilled(constraint: str) -> None:
    """Rows that break it would be rejected as those of a value that has ended."""
    statements = f"""
    CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP, {constraint}) TIMESTAMP BY ts;
    CREATE STREAM t (a BIGINT, closes INT, ts TIMESTAMP, PUNCTUATED BY (a) WHEN closes = 1) TIMESTAMP BY ts;
    """
    seconds = 1_000_000
    data: dict[str, list[tuple[object, ...]]] = {
        "s": [(n % 3, n, n * seconds) for n in range(12)],
        "t": [(n % 3, 0, n * seconds) for n in range(12)],
    }
    case = Case(statements, "SELECT DISTINCT s.a, s.b FROM s, t WHERE s.a = t.a", data, None, "")
    query, catalog = bound(case)
    found, want = Purging(case, query, catalog), expected(case, query, catalog)
    for cells in (1, 3):
        assert log_of(found, SPILL, Random(cells), cells)[0] == want


def test_a_checkpoint_knows_whether_rows_were_spilled() -> None:
    found = next(case for case in map(spilling_case, range(10)) if spills(case))
    without, spilt = (make_work(found.query, found.catalog, 1, None, each) for each in (Forgetting(), SPILL))
    assert without.fingerprint != spilt.fingerprint

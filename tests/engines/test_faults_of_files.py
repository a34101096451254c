"""Whatever goes wrong, what has the name of a result is the old file or the whole new one, and nothing else is left."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.cli import main
from penstock.engines import files
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.sinks import Sink
from tests.cli.conftest import Penstock, penstock  # noqa: F401
from tests.engines.faulty_disk import FAULTS, Death, FaultyDisk

#: Rows of s wait on disk for their rows of t, which come later than declared.
SCRIPT = """\
CREATE STREAM s (a BIGINT, ts BIGINT, UNIQUE (a), FOREIGN KEY (a) REFERENCES t (a) WITHIN 1 ROWS ON VIOLATION IGNORE)
TIMESTAMP BY ts USING csv OPTIONS (path 's.csv');
CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 't.csv');
CREATE QUERY late AS SELECT ISTREAM(s.a, t.ts) FROM s, t WHERE s.a = t.a ALLOW UNBOUNDED;
CREATE QUERY seen AS SELECT ISTREAM(a) FROM t [NOW];
"""
ARGUMENTS = ["run", "q.sql", "--engine", "embedded", "--until-done", "--spill"]
OLD = b"what was there before\n"


@pytest.fixture
def folder(penstock: Penstock, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    monkeypatch.setattr(files, "BATCH_ROWS", 8)
    penstock.file("q.sql", SCRIPT)
    penstock.file("s.csv", "".join(f"{n},{10 * n}\n" for n in range(12)))
    penstock.file("t.csv", "".join(f"{n},{10 * n + 45}\n" for n in range(12)))
    (penstock.folder / "spill").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(penstock.folder / "spill"))
    return penstock.folder


@pytest.mark.parametrize(
    ("form", "overwrite", "faults"),
    [
        ("csv", True, FAULTS),
        ("csv", False, ["interrupt", "death"]),
        ("json", False, ["full"]),
        ("parquet", False, ["broken"]),
        ("parquet", True, ["interrupt"]),
    ],
)
def test_each_operation_may_fail(
    folder: Path, form: str, overwrite: bool, faults: Iterable[str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"out-late.{form}", f"out-seen.{form}"]
    arguments = [*ARGUMENTS, "--out", f"out-{{query}}.{form}", *(["--overwrite"] if overwrite else [])]
    old = dict.fromkeys(names, OLD) if overwrite else {}
    begin(folder, names, old)
    with pytest.MonkeyPatch.context() as monkeypatch:
        whole = FaultyDisk(monkeypatch)
        assert main(arguments) == 0
    new = written(folder, names)
    assert new.keys() == set(names)
    assert {"spill", "mkdtemp", "write", "fsync", "replace" if overwrite else "link"} <= set(whole.done)
    for fault, (at, operation) in product(faults, enumerate(whole.done)):
        where = (fault, at, operation)
        begin(folder, names, old)
        with pytest.MonkeyPatch.context() as monkeypatch:
            disk = FaultyDisk(monkeypatch, at, fault)
            code = outcome(arguments)
            disk.bury()
        found, said = written(folder, names), capsys.readouterr().err
        assert found.keys() >= old.keys(), where
        assert all(found[name] in (old.get(name), new[name]) for name in found), where
        assert code == expected_code(fault, operation), (where, said)
        assert "Traceback" not in said
        if code == 2:
            assert os.strerror(errno.ENOSPC if fault == "full" else errno.EIO) in said.splitlines()[-2], where
        if fault == "death":
            begin(folder, names, old)
            assert main(arguments) == 0, where
            assert written(folder, names) == new, where
        assert left_in(folder) == [], where


def begin(folder: Path, names: list[str], old: dict[str, bytes]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    for name, content in old.items():
        (folder / name).write_bytes(content)


def written(folder: Path, names: list[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def left_in(folder: Path) -> list[Path]:
    """Drafts, and folders of spilled rows."""
    return [*folder.glob(".*"), *folder.glob("spill/*")]


def outcome(arguments: list[str]) -> int | type[BaseException]:
    try:
        return main(arguments)
    except (RuntimeError, Death) as error:
        return type(error)


def expected_code(fault: str, operation: str) -> int | type[BaseException]:
    if fault in ("full", "broken"):
        # A draft that cannot be removed is a second name of a whole result by then, and removed again later.
        return 0 if operation == "unlink" else 2
    return {"exception": RuntimeError, "interrupt": 130, "death": Death}[fault]


def test_a_draft_that_a_dead_process_left_is_in_nobodys_way(folder: Path) -> None:
    (folder / ".out-seen.csv.draft").write_text("half")
    assert main([*ARGUMENTS, "--query", "seen", "--out", "out-seen.csv"]) == 0
    assert left_in(folder) == []


def test_one_that_died_at_its_very_end_has_left_its_result_whole(folder: Path) -> None:
    """The draft is a second name of the result. To write to it would be to write over the result."""
    (folder / "out-seen.csv").write_bytes(OLD)
    os.link("out-seen.csv", ".out-seen.csv.draft")
    assert main([*ARGUMENTS, "--query", "seen", "--out", "out-seen.csv"]) == 2
    assert (folder / "out-seen.csv").read_bytes() == OLD


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", "run", "q.sql", "--engine", "embedded", *arguments]


def spilling_to(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder / "spill")}


def test_rows_that_a_disk_does_not_hold_are_not_spilled(folder: Path) -> None:
    (folder / "s.csv").write_text("".join(f"{n},{10 * n}\n" for n in range(2000)))
    (folder / "t.csv").write_text("".join(f"{n},{10 * n + 15000}\n" for n in range(2000)))
    done = subprocess.run(
        command("--until-done", "--spill", "--query", "late", "--out", "out.csv"),
        check=False,
        capture_output=True,
        text=True,
        env=spilling_to(folder),
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1 << 14, 1 << 14)),
    )
    message, hint = done.stderr.splitlines()
    assert done.returncode == 2
    assert message.startswith(f"{folder}/spill/penstock-")
    assert message.endswith(": rows cannot be put on disk: File too large")
    assert "TMPDIR" in hint
    assert left_in(folder) == []
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_end_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    advance = EmbeddedEngine.advance_in_blocks

    def stopped(self: EmbeddedEngine) -> Iterator[pa.Table]:
        assert list(folder.glob("spill/*"))
        os.kill(os.getpid(), number)
        return advance(self)

    monkeypatch.setattr(EmbeddedEngine, "advance_in_blocks", stopped)
    assert main([*ARGUMENTS, "--out", "out-{query}.csv"]) == 130
    assert left_in(folder) == []
    assert written(folder, ["out-late.csv", "out-seen.csv", "m.json"]) == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_run_is_opened_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Two of them, so that nothing is waited for."""

    def opened(*_: object, **__: object) -> Sink:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        raise AssertionError("the second one is not waited for")

    monkeypatch.setattr("penstock.cli.run_embedded.open_sink", opened)
    assert main([*ARGUMENTS, "--out", "out-{query}.csv"]) == 130
    assert left_in(folder) == []


def test_sigterm_ends_a_run_without_an_end(folder: Path) -> None:
    """When it has printed the header of its results, it is in its loop, or about to be."""
    with subprocess.Popen(
        command("--spill", "--query", "late"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=spilling_to(folder),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "_ts,_op,a,ts\n"
        running.send_signal(signal.SIGTERM)
        assert running.wait() == 0
        assert "Traceback" not in running.stderr.read()
    assert left_in(folder) == []


def test_output_that_nobody_reads_any_more_ends_a_run_quietly(folder: Path) -> None:
    rows = "".join(f"{n},{n}\n" for n in range(20_000))
    (folder / "t.csv").write_text(rows)
    with subprocess.Popen(
        command("--until-done", "--spill", "--query", "seen"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=spilling_to(folder),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "_ts,_op,a\n"
        running.stdout.close()
        assert running.wait() == 0
        assert running.stderr.read() == ""
    assert left_in(folder) == []

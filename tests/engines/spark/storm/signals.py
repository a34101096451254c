"""Ends `penstock run` by signals, again and again on one checkpoint, in a shared memory of its own (`confinement`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from penstock.engines.spark.committed import Committed
from tests.engines.comparing import Log, bound, expected, logged
from tests.engines.spark.running import write_files
from tests.engines.spark.storm.cases import ROWS_PER_FILE, stormy
from tests.engines.spark.storm.confinement import Verdict, mount_memory, write_verdicts
from tests.engines.spark.storm.processes import below
from tests.generators import Case

FILES = 16
_SHARED = Path("/dev/shm")

_DDL = """
CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts BIGINT) TIMESTAMP BY ts DELAY 2 MICROSECONDS
USING parquet OPTIONS (path '{path}', maxFilesPerTrigger '1');
"""

#: The signal, and who gets it.
SIGNALS = (
    (signal.SIGTERM, "all processes"),
    (signal.SIGKILL, "all processes"),
    (signal.SIGTERM, "penstock"),
    (signal.SIGKILL, "penstock"),
    (signal.SIGKILL, "Spark's Java process"),
)


def main(folder: Path, seed: int) -> None:
    mount_memory(_SHARED, 1 << 30)
    made = stormy("counts", seed, FILES).case
    case = Case(_DDL.format(path=folder / "in" / "bid"), made.query, {"bid": made.data["bid"]}, None, "")
    query, catalog = bound(case)
    write_files(case, catalog, folder / "in", rows_per_file=ROWS_PER_FILE)
    (folder / "q.sql").write_text(case.script)
    reference, found = expected(case, query, catalog), []
    before: set[Path] = set()
    for number, to in SIGNALS:
        said = _signalled(folder, number, to, before)
        left = tuple(str(path) for path in before if path.exists())
        before = set(_SHARED.glob("penstock-*"))
        found.append(Verdict(f"{number.name} to {to}", reference, reference, said, left))
    ended = _penstock(folder)
    assert ended.wait(300) == 0, (folder / "penstock.log").read_text()
    wrote = sum((logged(rows, query) for rows in Committed(folder / "out.parquet").new()), Log())
    left = tuple(str(path) for path in _SHARED.glob("penstock-*"))
    found.append(Verdict("penstock run is ended by signals, and started again", wrote, reference, None, left))
    write_verdicts(folder, found)


def _signalled(folder: Path, number: signal.Signals, to: str, before: set[Path]) -> str:
    """Sends a signal after two more micro-batches, and gives what penstock said."""
    commits = folder / "checkpoint" / "q" / "commits"
    done = len(list(commits.glob("[0-9]*")))
    ended = _penstock(folder)
    while len(list(commits.glob("[0-9]*"))) < done + 2:
        assert ended.poll() is None, (folder / "penstock.log").read_text()
        time.sleep(0.02)
    if to == "all processes":
        os.killpg(ended.pid, number)
    else:
        os.kill(ended.pid if to == "penstock" else _java(ended.pid), number)
    code = ended.wait(120)
    said = f"exit code {code}: {(folder / 'penstock.log').read_text()}"
    # A Java process whose Python process was killed ends by itself.
    while any(_is_there(process) for process in _java_of_group(ended.pid)):
        time.sleep(0.1)
    return said


def _penstock(folder: Path) -> subprocess.Popen[bytes]:
    paths = ["--out", str(folder / "out.parquet"), "--checkpoint", str(folder / "checkpoint")]
    command = [sys.executable, "-m", "penstock.cli", "run", str(folder / "q.sql"), "--query", "q", *paths]
    options = ["--until-done", "--allow-unbounded", "--cells", "2", "--master", "local[2,4]"]
    with open(folder / "penstock.log", "wb") as log:
        return subprocess.Popen([*command, *options], start_new_session=True, stdout=log, stderr=log)


def _java(penstock: int) -> int:
    return next(process for process in below(penstock) if "java" in Path(f"/proc/{process}/exe").readlink().name)


def _java_of_group(group: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if "java" in (path / "exe").readlink().name and os.getpgid(int(path.name)) == group:
                found.append(int(path.name))
        except OSError:
            continue
    return found


def _is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

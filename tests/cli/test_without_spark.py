"""Penstock without PySpark, which is an extra: what needs it says so, and the rest works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SQL = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 's.csv', header 'true');
CREATE QUERY q AS SELECT ISTREAM(a) FROM s;
"""


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    blocked = "import sys; sys.modules['pyspark'] = None; "
    code = f"{blocked}from penstock.cli import main; sys.exit(main({list(arguments)!r}))"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_only_what_needs_spark_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(SQL)
    (tmp_path / "s.csv").write_text("a,ts\n7,1\n")
    (tmp_path / "job.py").write_text("")
    assert penstock(tmp_path, "check", "q.sql").returncode == 0
    ran = penstock(tmp_path, "run", "q.sql", "--engine", "embedded", "--until-done")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "1,+,7"), ran
    for arguments in (("run", "q.sql", "--until-done"), ("lint", "job.py")):
        refused = penstock(tmp_path, *arguments)
        assert refused.returncode == 2, refused
        assert "PySpark is not installed\nhint: run pip install 'penstock[spark]'" in refused.stderr
        assert "Traceback" not in refused.stderr

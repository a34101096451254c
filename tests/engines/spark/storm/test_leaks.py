"""A query that is started and stopped again and again in one application leaves nothing behind but what Spark keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.engines.spark.storm.driving import ROOT
from tests.engines.spark.storm.ledger import Ledger

pytestmark = pytest.mark.slow

#: The first starts load and cache what the later ones use again.
WARM_UP = 8
STARTS = 30

#: What is held is compared between the first and the last so many starts.
SPAN = 10

#: What Spark's Java process keeps of each start as long as the application runs. A plain query with
#: `transformWithStateInPandas` and no Penstock keeps more: 15 open files a start, among them a selector of each
#: operator's workers; and what was shuffled stays until Java has collected all that refers to it.
KEPT = {
    "threads of Java": 3,
    "open files of Java": 8,
    "temporary files": 6,
}


def test_nothing_leaks(tmp_path: Path, ledger: Ledger) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    places = {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)}
    options = {"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}"}
    command = [sys.executable, "-m", "tests.engines.spark.storm.leaks", str(tmp_path), str(WARM_UP + STARTS)]
    with open(tmp_path / "leaks.log", "wb") as log:
        environment = {**os.environ, **places, **options}
        code = subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, check=False).returncode
    assert code == 0, (tmp_path / "leaks.log").read_text()[-3000:]
    held = [json.loads(line) for line in (tmp_path / "held.json").read_text().splitlines()][WARM_UP:]
    first = {name: median(each[name] for each in held[:SPAN]) for name in held[0]}
    last = {name: median(each[name] for each in held[-SPAN:]) for name in held[0]}
    said = "; ".join(f"{name} {first[name]:.0f} to {last[name]:.0f}" for name in held[0])
    ledger.note(f"{STARTS} starts and stops in one application, first ten to last ten: {said}")
    most = {name: KEPT.get(name, 0) * (STARTS - SPAN) + SPAN / 2 for name in held[0]}
    grown = {name: (first[name], last[name]) for name in held[0] if last[name] - first[name] >= most[name]}
    assert not grown, f"{grown}\n{ledger.repeat}"

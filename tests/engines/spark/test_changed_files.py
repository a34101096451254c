"""A file that was rewritten before its micro-batch runs again: refused if the results of the micro-batch count."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.engines.spark.changed_files import refuse_rewritten
from penstock.errors import PenstockError


def _crashed(folder: Path, *, committed: bool, logged: bool) -> list[Path]:
    """The logs of a query whose driver died in micro-batch 1; its files are 0 and 1, and 1 is of micro-batch 1."""
    files = [folder / f"{number}.csv" for number in range(2)]
    entries = {}
    for number, file in enumerate(files):
        file.write_text("1\n")
        os.utime(file, (1000 + number, 1000 + number))
        entry = {"path": file.as_uri(), "timestamp": (1000 + number) * 1000, "batchId": number}
        entries[f"checkpoint/sources/0/{number}"] = f"v1\n{json.dumps(entry)}"
        entries[f"checkpoint/offsets/{number}"] = f'v1\n{{"conf":{{}}}}\n{{"logOffset":{number}}}\n-'
    entries["checkpoint/commits/0"] = entries["out/_spark_metadata/0"] = "v1\n{}"
    if committed:
        entries["checkpoint/commits/1"] = "v1\n{}"
    if logged:
        entries["out/_spark_metadata/1.compact"] = "v1\n{}"
    for name, text in entries.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def _refuse(folder: Path) -> None:
    refuse_rewritten(str(folder / "checkpoint"), str(folder / "out"))


def test_a_rewritten_file_is_refused_if_its_results_count(tmp_path: Path) -> None:
    first, second = _crashed(tmp_path, committed=False, logged=True)
    os.utime(first, (5000, 5000))
    _refuse(tmp_path)  # micro-batch 0 does not run again
    os.utime(second, (5000, 5000))
    with pytest.raises(PenstockError, match=r"1\.csv: the file has changed since micro-batch 1 read it"):
        _refuse(tmp_path)
    os.utime(second, (1001, 1001))
    _refuse(tmp_path)


@pytest.mark.parametrize(("committed", "logged"), [(False, False), (True, True)])
def test_any_other_file_may_be_rewritten(tmp_path: Path, committed: bool, logged: bool) -> None:
    """A micro-batch that failed may find its file put right, and one that is done does not run again."""
    for file in _crashed(tmp_path, committed=committed, logged=logged):
        os.utime(file, (5000, 5000))
    _refuse(tmp_path)


def test_there_may_be_nothing_yet(tmp_path: Path) -> None:
    _refuse(tmp_path)
    refuse_rewritten(None, str(tmp_path))

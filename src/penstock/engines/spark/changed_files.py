"""Source files that were rewritten before a micro-batch runs again whose results count already.

A driver may die when the results of a micro-batch are in the output's log and Spark has not noted that it is done. The
micro-batch then runs again for its state alone. If a file has other rows by then, the state would be of other rows than
the results, and nothing would show it. Spark's log of a source says when each file was last changed, as it was listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.engines.spark.paths import local_path
from penstock.errors import PenstockError


def refuse_rewritten(checkpoint: str | None, out: str | None) -> None:
    """Refuses to continue from a checkpoint if such a file was rewritten.

    Folders that are not local are None, and are not checked.
    """
    if checkpoint is None or out is None:
        return
    at = Path(checkpoint)
    number = max(_numbers(at / "offsets"), default=-1)
    if number in _numbers(at / "commits") or number not in _numbers(Path(out) / "_spark_metadata"):
        return
    try:
        files = list(_files(at, number))
    except (ValueError, KeyError, TypeError):
        return  # a log is damaged, which Spark finds, too
    for file, listed in files:
        try:
            changed = file.stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            continue  # Spark says so
        if changed != listed:
            raise PenstockError(
                f"{file}: the file has changed since micro-batch {number} read it, which runs again, "
                "and whose results are in the output already",
                "put back the file as it was, with its time of last change; or start with a new checkpoint folder and "
                "a new output folder",
            )


def _numbers(log: Path) -> set[int]:
    """Returns the numbers of a log's entries; every few entries one repeats all before it."""
    names = [path.name.removesuffix(".compact") for path in log.glob("*")]
    return {int(name) for name in names if name.isdigit()}


def _files(checkpoint: Path, number: int) -> Iterator[tuple[Path, int]]:
    """Yields the local files of a micro-batch, and when each was changed, in milliseconds, as it was listed."""
    until, since = _ends(checkpoint, number), _ends(checkpoint, number - 1)
    for source, end in until.items():
        for entry in _entries(checkpoint / "sources" / str(source)):
            path = local_path(entry["path"])
            if path is not None and since.get(source, -1) < entry["batchId"] <= end:
                yield path, entry["timestamp"]


def _ends(checkpoint: Path, number: int) -> dict[int, int]:
    """Returns how far each source of files has been read by a micro-batch, in entries of the source's log."""
    log = checkpoint / "offsets" / str(number)
    lines = log.read_text().splitlines()[2:] if log.exists() else []
    offsets = [json.loads(line) if line.startswith("{") else {} for line in lines]
    return {source: offset["logOffset"] for source, offset in enumerate(offsets) if "logOffset" in offset}


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(log.glob("[0-9]*")):
        yield from (json.loads(line) for line in path.read_text().splitlines() if line.startswith("{"))

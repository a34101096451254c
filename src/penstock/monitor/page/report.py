"""A report: the page of a run that is over, as one file that opens from disk and asks nobody for anything."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from penstock.engines.drafts import Draft
from penstock.errors import PenstockError
from penstock.monitor.page.assets import inlined_page
from penstock.monitor.page.plan_document import SCHEMA, plan_path
from penstock.monitor.page.recorder import Recorder

#: The first frames of a replay are short: short runs are replayed, too.
_SECONDS = 0.02

_HINT = "give the file that penstock run --metrics writes"


def write_report(recorder: Recorder, path: str, *, overwrite: bool = False) -> None:
    """Writes the page of a run."""
    _write(path, inlined_page(recorder.document()), overwrite=overwrite)


def write_plan(plan: Mapping[str, Any], metrics: str, *, overwrite: bool = False) -> None:
    """Writes the plan of a run beside its file of metrics; a pipe or a terminal has no such place."""
    if Path(metrics).is_file():
        _write(plan_path(metrics), json.dumps(plan), overwrite=overwrite)


def _write(path: str, text: str, *, overwrite: bool) -> None:
    """Writes a file that is there whole, or not at all."""
    draft = Draft(path, overwrite=overwrite)
    try:
        with draft.named():
            draft.file.write(text.encode())
        draft.finish()
        draft.publish()
    finally:
        draft.abandon()


def recorded(metrics: str) -> Recorder:
    """Returns a run that is over, of its file of metrics and the plan beside it."""
    if not Path(metrics).exists():
        raise PenstockError(f"{metrics}: {os.strerror(errno.ENOENT)}", _HINT)
    plan = _plan(metrics)
    lines = _lines(metrics)
    first = next(lines, None)
    if first is None:
        raise PenstockError(f"{metrics} has no metrics", "the run was stopped before its first step")
    begun = first[0].get("at") or 0.0
    recorder = Recorder(plan, is_live=False, begun=begun, seconds=_SECONDS)
    recorder.take(first)
    for step in lines:
        recorder.take(step)
    recorder.end()
    return recorder


def _plan(metrics: str) -> dict[str, Any]:
    try:
        plan = json.loads(Path(plan_path(metrics)).read_text(encoding="utf-8"))
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        hint = "penstock run --metrics writes it beside the metrics: move both together"
        raise PenstockError(f"{plan_path(metrics)}: {said}", hint) from error
    except ValueError as error:
        raise PenstockError(f"{plan_path(metrics)} is not a plan", _HINT) from error
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA or not isinstance(plan.get("nodes"), list):
        raise PenstockError(f"{plan_path(metrics)} is not a plan of this version", "run the query again")
    return plan


def _lines(metrics: str) -> Iterator[list[dict[str, Any]]]:
    """Yields the lines of a file of metrics step by step."""
    try:
        with Path(metrics).open(encoding="utf-8") as file:
            parsed = (_line(metrics, text) for text in file if text.strip())
            for _, step in groupby(parsed, key=lambda line: (line["query"], line["step"])):
                yield list(step)
    except OSError as error:
        said = os.strerror(error.errno) if error.errno else str(error)
        raise PenstockError(f"{metrics}: {said}", _HINT) from error


def _line(metrics: str, text: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
        if (
            isinstance(line, dict)
            and {"query", "step", "operator", "watermark", "rows_in", "state_rows"} <= line.keys()
        ):
            return line
    except ValueError:
        pass
    raise PenstockError(f"{metrics} is not a file of metrics", _HINT)

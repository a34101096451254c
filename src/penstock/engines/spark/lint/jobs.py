"""A job under the lint: its script runs, and every streaming query that it would start is judged instead."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
import traceback
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQueryManager

from penstock.engines.spark.lint import check_dataframe
from penstock.engines.spark.lint.guard import Guard, intercepting, writer_class
from penstock.engines.spark.lint.stand_ins import standing_in
from penstock.engines.spark.lint.verdict import SparkVerdict
from penstock.engines.spark.lint.writers import Written
from penstock.engines.spark.reports import causes, plain_message
from penstock.engines.spark.session import spark_session
from penstock.errors import PenstockError
from penstock.masking import masked


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A streaming query of a job, and the line that would start it."""

    file: str
    line: int
    verdict: SparkVerdict


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a script did not run to its end."""

    file: str
    line: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class JudgedJob:
    queries: tuple[JudgedQuery, ...]
    error: JobError | None = None


class NotStarted:
    """What a job holds in place of a running query: one that has ended at once, without rows."""

    isActive = False
    lastProgress = None
    recentProgress: tuple[Any, ...] = ()
    status: dict[str, Any] = {"message": "checked, not started", "isDataAvailable": False, "isTriggerActive": False}  # noqa: RUF012

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.id = self.runId = str(uuid.uuid4())

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        return None if timeout is None else True

    def processAllAvailable(self) -> None:
        return None

    def stop(self) -> None:
        return None

    def exception(self) -> None:
        return None

    def explain(self, extended: bool = False) -> None:
        return None


@dataclass
class _Judge:
    """Judges what a script starts."""

    finite: tuple[str, ...]
    found: list[JudgedQuery] = field(default_factory=list)

    def __call__(self, query: Written) -> NotStarted:
        file, line = _caller()
        verdict = check_dataframe(query.df, query.name or "query", query.output_mode, self.finite)
        self.found.append(JudgedQuery(file, line, verdict))
        return NotStarted(query.name)


def judge_job(file: str, arguments: Iterable[str] = (), finite: Iterable[str] = ()) -> JudgedJob:
    """Runs a script with its arguments, and returns the verdicts on the streaming queries that it would start."""
    if not Path(file).is_file():
        raise PenstockError(
            f"{file}: there is no such file", "give the path of a Python script that starts streaming queries"
        )
    judge = _Judge(tuple(finite))
    with _as_main(file, arguments), _intercepted(judge):
        error = _run(file)
    return JudgedJob(tuple(judge.found), error)


def _run(file: str) -> JobError | None:
    try:
        runpy.run_path(file, run_name="__main__")
    except SystemExit as ended:
        if ended.code not in (None, 0):
            return JobError(
                file, 1, f"the script ended with exit code {ended.code}", "run it with the arguments that it needs"
            )
    except PenstockError as error:
        return JobError(file, _line_of(error, file), error.message, error.hint or "")
    except (PySparkException, Py4JJavaError) as error:
        hint = "give the script what it reads, or the schema of its streams: readStream.schema(...)"
        message = masked(plain_message(causes(error)[-1])).partition("\n")[0]
        return JobError(file, _line_of(error, file), message, hint)
    except Exception as error:
        return JobError(
            file, _line_of(error, file), masked(f"{type(error).__name__}: {error}"), "the script raised this"
        )
    return None


def _line_of(error: BaseException, file: str) -> int:
    """Returns the line of the script in which an error was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if _is_file(frame.filename, file)]
    return (lines[-1] if lines else None) or 1


def _is_file(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


def _caller() -> tuple[str, int]:
    """Returns the place in the user's own code that would start a query."""
    libraries = (str(Path(__file__).parents[3]), str(Path(str(sys.modules["pyspark"].__file__)).parent))
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(libraries):
        frame = frame.f_back
    name = frame.f_code.co_filename
    inside = os.path.abspath(name).startswith(os.getcwd() + os.sep)
    return os.path.relpath(name) if inside else name, frame.f_lineno


@contextlib.contextmanager
def _as_main(file: str, arguments: Iterable[str]) -> Iterator[None]:
    """Gives a script its arguments and its folder, and keeps what it prints out of the report."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.argv, sys.path[:] = argv, path


@contextlib.contextmanager
def _intercepted(judge: _Judge) -> Iterator[None]:
    """Replaces what starts queries, waits for them, or ends the session, for the time that a script runs."""
    spark = SparkSession.getActiveSession() or spark_session("local[1]")
    writer = writer_class(spark)
    with intercepting(writer, judge) as guard:
        standing_in(guard)
        for name in ("foreachBatch", "foreach"):
            guard.replace(writer, name, _same_writer)
        _ending_at_once(guard)
        yield


def _ending_at_once(guard: Guard) -> None:
    guard.replace(
        StreamingQueryManager, "awaitAnyTermination", lambda _, timeout=None: None if timeout is None else True
    )
    guard.replace(SparkSession, "stop", lambda _: None)


def _same_writer(writer: Any, function: Any) -> Any:
    return writer

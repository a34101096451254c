"""The check before each `start`: every streaming query of a process is judged as it is about to run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from penstock.engines.spark.lint.writers import Written, written
from penstock.errors import PenstockError
from penstock.register import UnboundedState, UnsafeStream

#: What to do with a query that is about to start: None lets it start, anything else is returned in its place.
BeforeStart = Callable[[Written], Any]

_STARTING = ("start", "toTable")


@dataclass
class Guard:
    """Methods of Spark's writers that check a query before they start it, until `remove` puts Spark's own back."""

    _replaced: list[tuple[type, str, Any]] = field(default_factory=list)

    def replace(self, owner: type, name: str, method: Any) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, method)

    def remove(self) -> None:
        while self._replaced:
            owner, name, method = self._replaced.pop()
            setattr(owner, name, method)

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def guard(spark: Any, unsafe: str = "warn", finite: Iterable[str] = ()) -> Guard:
    """Checks every streaming query before it starts: warns of unsafe ones, or refuses to start them."""
    from penstock.engines.spark.lint import check_dataframe  # noqa: PLC0415 - the lint's own front door

    if unsafe not in ("warn", "refuse"):
        raise PenstockError(f"unsafe={unsafe!r} is not a way to guard", 'give unsafe="warn" or unsafe="refuse"')
    columns = tuple(finite)

    def judge(query: Written) -> None:
        verdict = check_dataframe(query.df, query.name or "query", query.output_mode, columns)
        if not verdict.safe and unsafe == "refuse":
            raise UnsafeStream(verdict)
        if not verdict.safe or verdict.warnings:
            warnings.warn(str(verdict), UnboundedState, stacklevel=3)

    return intercepting(writer_class(spark), judge)


def intercepting(writer: type, before: BeforeStart) -> Guard:
    """Returns a guard that asks before a writer starts a query."""
    found = Guard()
    for name in _STARTING:
        found.replace(writer, name, _asking(getattr(writer, name), before))
    return found


def _asking(method: Any, before: BeforeStart) -> Any:
    original = getattr(method, "_guarded", method)

    def start(writer: Any, *args: Any, **options: Any) -> Any:
        query = written(writer)
        # The place of the output mode among the arguments: start(path, format, outputMode, ...).
        mode = options.get("outputMode") or (args[2] if len(args) > 2 else None) or query.output_mode
        answer = before(Written(query.df, str(mode).lower(), options.get(_NAME) or query.name))
        return original(writer, *args, **options) if answer is None else answer

    start._guarded = original  # type: ignore[attr-defined]
    return start


_NAME = "queryName"


def writer_class(spark: Any) -> type:
    """Returns the class of the writers of a session's DataFrames."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.streaming.readwriter import DataStreamWriter as Remote  # noqa: PLC0415

        return Remote
    from pyspark.sql.streaming.readwriter import DataStreamWriter  # noqa: PLC0415

    return DataStreamWriter

"""The file of `--metrics`: a draft, opened before a run starts, so that a path that cannot be written costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from penstock.engines.drafts import Draft
from penstock.engines.metrics import OperatorMetrics, metrics_lines


class MetricsFile:
    """Takes metrics as they come; without a path nobody asks for them. It gets its name when it is published."""

    def __init__(self, path: str | None, *, overwrite: bool = False) -> None:
        self._draft = None if path is None else Draft(path, overwrite=overwrite)

    def write(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        if self._draft is not None:
            with self._draft.named():
                self._draft.file.write(metrics_lines(metrics()).encode())

    def finish(self) -> None:
        if self._draft is not None:
            self._draft.finish()

    def publish(self) -> None:
        if self._draft is not None:
            self._draft.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._draft is not None:
            self._draft.abandon()

"""The file of `--metrics`. It is opened before a run starts, so that a path that cannot be written costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TextIO

from penstock.engines.metrics import OperatorMetrics, metrics_lines
from penstock.errors import PenstockError


class MetricsFile:
    """Takes metrics as they come; without a path nobody asks for them."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._file: TextIO | None = None
        if path is not None:
            with self._named():
                self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - closed at the end of the run

    def write(self, metrics: Callable[[], Iterable[OperatorMetrics]]) -> None:
        if self._file is not None:
            with self._named():
                self._file.write(metrics_lines(metrics()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with self._named():
                self._file.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PenstockError(f"{self._path}: {error.strerror}", "choose a path that can be written") from error

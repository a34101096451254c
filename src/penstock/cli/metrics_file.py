"""The file of `--metrics`: a log that other programs may follow during the run, so each step's lines are flushed.

The file is opened before a run starts, so that a path that cannot be written fails early.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TextIO

from penstock.engines.drafts import existing
from penstock.engines.metrics import OperatorMetrics, metrics_lines
from penstock.errors import PenstockError


class MetricsFile:
    """Writes the metrics of each step; does nothing without a path. Replacing a file needs `overwrite`."""

    def __init__(self, path: str | None, *, overwrite: bool = False) -> None:
        self._path = path
        self._file: TextIO | None = None
        if path is not None:
            with self._named():
                # A pipe or a terminal exists already, and can be written.
                is_new = not overwrite and not (Path(path).exists() and not Path(path).is_file())
                self._file = Path(path).open("x" if is_new else "w", encoding="utf-8")  # noqa: SIM115

    @property
    def is_due(self) -> bool:
        """Returns whether there is a file."""
        return self._file is not None

    def take(self, lines: Iterable[OperatorMetrics]) -> None:
        """Writes the metrics of a step."""
        if self._file is not None:
            with self._named():
                self._file.write(metrics_lines(lines))
                self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with self._named():
                self._file.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        assert self._path is not None
        try:
            yield
        except FileExistsError:
            raise existing(self._path) from None
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else str(error)
            raise PenstockError(f"{self._path}: {said}", "choose a path that can be written") from error

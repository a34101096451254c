"""A query that is not safe does not run, unless its author says so."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.register.report import verdict_text
from penstock.register.verdict import Verdict

_OVERRIDE = "to run it all the same, write CREATE QUERY ... AS SELECT ... ALLOW UNBOUNDED"


class UnsafeQuery(PenstockError):
    """Raised when a query that is not safe is asked to run. `verdict` says why, and what would make it safe."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict_text(verdict), _OVERRIDE if verdict.has_plan else None)
        self.verdict = verdict


class UnusedProof(UserWarning):
    """Warns that the bound of a query leans on declarations of which no run sees anything, or not of rows with NULL."""


class UnsafeStream(PenstockError):
    """Raised by `penstock.guard` in place of a streaming query of plain PySpark whose state grows without bound."""

    def __init__(self, verdict: Any) -> None:
        super().__init__(str(verdict), 'to start it all the same, use penstock.guard(spark, unsafe="warn")')
        self.verdict = verdict


class UnboundedState(UserWarning):
    """Warns that a streaming query of plain PySpark starts whose state grows without bound, or that loses rows."""


def refuse_unsafe(verdict: Verdict) -> None:
    """Raises the verdict's message, if the query may not run."""
    if not verdict.allowed:
        raise UnsafeQuery(verdict)

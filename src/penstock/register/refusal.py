"""A query that is not safe does not run, unless its author says so."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.register.report import verdict_text
from penstock.register.verdict import Verdict

_OVERRIDE = "to run it all the same, write CREATE QUERY ... AS SELECT ... ALLOW UNBOUNDED"


class UnsafeQuery(PenstockError):
    """A query whose state may grow without end was asked to run."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict_text(verdict), _OVERRIDE if verdict.has_plan else None)
        self.verdict = verdict


class UnusedProof(UserWarning):
    """A query runs whose bound leans on declarations of which no run sees anything, or not of rows with NULL."""


def refuse_unsafe(verdict: Verdict) -> None:
    """Raises the verdict's message, if the query may not run."""
    if not verdict.allowed:
        raise UnsafeQuery(verdict)

"""What the page is asked to show: queries with their plans, verdicts and texts, before anything has run."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.relations import Query
from penstock.errors import Origin
from penstock.plan.fragments import Plan
from penstock.register import Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that runs: its plan, its verdict, and where its text stands."""

    query: Query
    plan: Plan
    verdict: Verdict
    origin: Origin | None = None
    #: Of each join that is not run why not.
    left_out: tuple[str, ...] = ()

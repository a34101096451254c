"""Join elimination: assertions as a theory of streams, what it implies, and which joins need not run (001)."""

from penstock.elimination.assertions import (
    AssertionNotice,
    Contradictory,
    Implication,
    assertion_notices,
    implication,
)
from penstock.elimination.implication import Answer
from penstock.elimination.occurrences import Elimination
from penstock.elimination.report import implication_json, notice_json
from penstock.elimination.rules import RULES, eliminated, without_joins
from penstock.elimination.running import PLANS, Running, running, verdict_of, with_join_plan, with_plan

__all__ = [
    "PLANS",
    "RULES",
    "Answer",
    "AssertionNotice",
    "Contradictory",
    "Elimination",
    "Implication",
    "Running",
    "assertion_notices",
    "eliminated",
    "implication",
    "implication_json",
    "notice_json",
    "running",
    "verdict_of",
    "with_join_plan",
    "with_plan",
    "without_joins",
]

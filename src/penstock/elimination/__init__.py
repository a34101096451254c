"""Join elimination: assertions as a theory of streams, what it implies, and which joins need not run (001)."""

from penstock.elimination.assertions import (
    AssertionNotice,
    Contradictory,
    Implication,
    assertion_notices,
    implication,
)
from penstock.elimination.implication import Answer
from penstock.elimination.report import implication_json, notice_json

__all__ = [
    "Answer",
    "AssertionNotice",
    "Contradictory",
    "Implication",
    "assertion_notices",
    "implication",
    "implication_json",
    "notice_json",
]

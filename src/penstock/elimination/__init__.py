"""Join elimination: assertions as a theory of streams, what it implies, and which joins need not run (001)."""

from penstock.elimination.assertions import Implication, assertion_notices, implication
from penstock.elimination.implication import Answer

__all__ = ["Answer", "Implication", "assertion_notices", "implication"]

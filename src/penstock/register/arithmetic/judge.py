"""The judge takes a query from its closure to the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.register.arithmetic.boundedness import FailedCondition, with_duplicates
from penstock.register.arithmetic.closure import Closure, close
from penstock.register.arithmetic.distinct import without_duplicates
from penstock.register.arithmetic.folding import fold
from penstock.register.arithmetic.judgement import BoundedMemory, UnboundedMemory
from penstock.register.arithmetic.query import ConjunctiveQuery
from penstock.register.arithmetic.synopsis import synopses
from penstock.register.arithmetic.witness import witness


def judge(query: ConjunctiveQuery) -> BoundedMemory | UnboundedMemory:
    """Decide whether a constant number of entries is enough for a query, whatever arrives."""
    small, folded = fold(query)
    closure = close(small)
    if closure is None:
        return BoundedMemory((), contradiction=True)
    finding = next(findings(small, closure), None)
    if finding is None:
        return BoundedMemory(synopses(small, closure), folded=folded)
    return UnboundedMemory(finding.failure, witness(small, closure, finding, query))


def findings(query: ConjunctiveQuery, closure: Closure) -> Iterator[FailedCondition]:
    """Find the conditions that fail: of theorem 5.2 for DISTINCT, of theorem 4.2 without."""
    return without_duplicates(query, closure) if query.distinct else with_duplicates(query, closure)

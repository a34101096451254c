"""The question of this package, from the closure to the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.register.arithmetic.boundedness import Finding, with_duplicates
from penstock.register.arithmetic.closure import Closure, close
from penstock.register.arithmetic.distinct import without_duplicates
from penstock.register.arithmetic.folding import fold
from penstock.register.arithmetic.judgement import Bounded, Failure, Unbounded
from penstock.register.arithmetic.query import Query
from penstock.register.arithmetic.synopsis import synopses
from penstock.register.arithmetic.witness import witness


def judge(query: Query) -> Bounded | Unbounded:
    """Whether a constant number of entries is enough for a query, whatever its streams bring."""
    small, folded = fold(query)
    closure = close(small)
    if closure is None:
        return Bounded((), contradiction=True)
    finding = next(findings(small, closure), None)
    if finding is None:
        return Bounded(synopses(small, closure), folded=folded)
    return Unbounded(finding.failure, witness(small, closure, finding, query))


def failures(query: Query) -> tuple[Failure, ...]:
    """Every condition that fails, of every stream. With duplicates, a stream without one is bounded by itself.

    >>> from penstock.register.arithmetic.query import Attribute, Comparison, Op
    >>> a, d = Attribute("S", "a"), Attribute("T", "d")
    >>> query = Query.over("ST", [Comparison(a, Op.LT, 9), Comparison(d, Op.LT, 5)], [a], distinct=False)
    >>> [(failure.stream, failure.reason.value) for failure in failures(query)]
    [('S', 'projected')]
    """
    small, _ = fold(query)
    closure = close(small)
    return () if closure is None else tuple(finding.failure for finding in findings(small, closure))


def findings(query: Query, closure: Closure) -> Iterator[Finding]:
    """The conditions that fail, of theorem 5.2 for DISTINCT and of theorem 4.2 without."""
    return without_duplicates(query, closure) if query.distinct else with_duplicates(query, closure)

"""Bounded memory: can a query over unbounded streams be answered with a constant number of entries, and which?

The theory of Arasu, Babcock, Babu, McAlister and Widom over values of its own. Ask `judge`.

>>> a, b, d = ComparedAttribute("S", "a"), ComparedAttribute("S", "b"), ComparedAttribute("T", "d")
>>> conditions = [Comparison(10, Op.LT, a), Comparison(a, Op.LT, 20), Comparison(b, Op.LT, d)]

With DISTINCT, the smallest `b` for each of nine values of `a`, and the greatest `d`, will do.

>>> verdict = judge(ConjunctiveQuery.over("ST", conditions, [a], distinct=True))
>>> [(synopsis.stream, synopsis.kept.value, synopsis.size) for synopsis in verdict.synopses]
[('S', 'skyline', 9), ('T', 'skyline', 1)]

Without it, every `b` counts.

>>> query = ConjunctiveQuery.over("ST", conditions, [a], distinct=False)
>>> verdict = judge(query)
>>> verdict.failure.reason.value, [str(c) for c in verdict.failure.conditions]
('joined', ['S.b < T.d'])
>>> [(str(missing.attribute), missing.side.value) for missing in verdict.failure.missing]
[('S.b', 'above'), ('T.d', 'below')]

The witness: N rows of S, and for any two sets of them rows of T that make the answers differ.

>>> family = verdict.witness.family(3)
>>> len(family.items), family.separating(frozenset({0, 1}), frozenset({1}))[0].stream
(3, 'T')
"""

from __future__ import annotations

from penstock.register.arithmetic.judge import judge
from penstock.register.arithmetic.judgement import (
    BoundedMemory,
    BoundSide,
    BoxEdge,
    BoxHole,
    Corner,
    Failure,
    Family,
    FamilyRow,
    Kept,
    LinearMemoryWitness,
    Missing,
    Reason,
    Synopsis,
    UnboundedMemory,
)
from penstock.register.arithmetic.query import (
    ComparedAttribute,
    Comparison,
    ConjunctiveQuery,
    ConstantValue,
    Domain,
    Op,
    Opaque,
    QueryCondition,
    StreamOccurrence,
)

__all__ = [
    "BoundSide",
    "BoundedMemory",
    "BoxEdge",
    "BoxHole",
    "ComparedAttribute",
    "Comparison",
    "ConjunctiveQuery",
    "ConstantValue",
    "Corner",
    "Domain",
    "Failure",
    "Family",
    "FamilyRow",
    "Kept",
    "LinearMemoryWitness",
    "Missing",
    "Op",
    "Opaque",
    "QueryCondition",
    "Reason",
    "StreamOccurrence",
    "Synopsis",
    "UnboundedMemory",
    "judge",
]

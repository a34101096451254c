"""Bounded memory: can a query over unbounded streams be answered with a constant number of entries, and which?

The theory of Arasu, Babcock, Babu, McAlister and Widom over values of its own. Ask `judge`.

>>> from penstock.register.arithmetic import Attribute, Bounded, Comparison, Op, Query, Unbounded, judge
>>> a, b, d = Attribute("S", "a"), Attribute("S", "b"), Attribute("T", "d")
>>> conditions = [Comparison(10, Op.LT, a), Comparison(a, Op.LT, 20), Comparison(b, Op.LT, d)]

With DISTINCT, the smallest `b` for each of nine values of `a`, and the greatest `d`, will do.

>>> verdict = judge(Query.over("ST", conditions, [a], distinct=True))
>>> [(synopsis.stream, synopsis.kept.value, synopsis.size) for synopsis in verdict.synopses]
[('S', 'skyline', 9), ('T', 'skyline', 1)]

Without it, every `b` counts.

>>> query = Query.over("ST", conditions, [a], distinct=False)
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
    Bounded,
    Corner,
    Edge,
    Failure,
    Family,
    Hole,
    Kept,
    Missing,
    Reason,
    Row,
    Side,
    Synopsis,
    Unbounded,
    Witness,
)
from penstock.register.arithmetic.query import (
    Attribute,
    Comparison,
    Condition,
    Constant,
    Domain,
    Op,
    Opaque,
    Query,
    Stream,
)

__all__ = [
    "Attribute",
    "Bounded",
    "Comparison",
    "Condition",
    "Constant",
    "Corner",
    "Domain",
    "Edge",
    "Failure",
    "Family",
    "Hole",
    "Kept",
    "Missing",
    "Op",
    "Opaque",
    "Query",
    "Reason",
    "Row",
    "Side",
    "Stream",
    "Synopsis",
    "Unbounded",
    "Witness",
    "judge",
]

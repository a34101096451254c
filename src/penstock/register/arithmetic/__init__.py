"""Bounded memory: can a query over unbounded streams be answered with a constant number of entries, and which?

The theory of Arasu, Babcock, Babu, McAlister and Widom over values of its own. Ask `judge`; `repairs` says what helps.

>>> from penstock.register.arithmetic import Attribute, Bounded, Comparison, Op, Query, Unbounded, judge, repairs
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
>>> for repair in repairs(query):
...     print(sorted(f"{bound.attribute} {bound.side.value}" for bound in repair.bounds), repair.distinct)
[] True
['S.b above', 'S.b below'] False
['S.b above', 'T.d below'] False
['S.b below', 'T.d above'] False
['T.d above', 'T.d below'] False

The witness: N rows of S, and for any two sets of them rows of T that make the answers differ.

>>> family = verdict.witness.family(3)
>>> len(family.items), family.separating(frozenset({0, 1}), frozenset({1}))[0].stream
(3, 'T')
"""

from __future__ import annotations

from penstock.register.arithmetic.judge import failures, judge
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
    Repair,
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
from penstock.register.arithmetic.repair import repairs

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
    "Repair",
    "Row",
    "Side",
    "Stream",
    "Synopsis",
    "Unbounded",
    "Witness",
    "failures",
    "judge",
    "repairs",
]

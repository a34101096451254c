"""Punctuation safety: may the state of a join be purged by the punctuations that its streams promise (004)?

The theory works on values of its own. A `PunctuatedJoin` has streams, equalities and differences of attributes; a
`Scheme` says which punctuations a stream may have. A plan is safe iff each state of each of its joins is purgeable:

>>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
>>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
>>> query = PunctuatedJoin((item, bid), (equal,))
>>> closing = Scheme("bid", ("auction",))
>>> plan = TreeJoin((TreeLeaf("item"), TreeLeaf("bid")))
>>> for state in check_plan(query, [closing], plan).joins[0].states:
...     print(state)
item is purgeable; bid(auction) for auction = item.id
bid is not purgeable; does not reach item

Watermarks are order schemes. A time range bounds how far ahead partners may be:

>>> a, b = PunctuatedStream("a", ("ts",)), PunctuatedStream("b", ("ts",))
>>> a_ts, b_ts = JoinAttribute("a", "ts"), JoinAttribute("b", "ts")
>>> timed = PunctuatedJoin((a, b), differences=(JoinDifference(a_ts, b_ts, 10), JoinDifference(b_ts, a_ts, 5)))
>>> watermarks = [Scheme("a", (), order="ts"), Scheme("b", (), order="ts")]
>>> for state in check_plan(timed, watermarks, TreeJoin((TreeLeaf("a"), TreeLeaf("b")))).joins[0].states:
...     print(state)
a is purgeable; b(ts up to) for ts <= a.ts + 5
b is purgeable; a(ts up to) for ts <= b.ts + 10

An input defeats every plan of the query that is not safe:

>>> found = purge_defeat(query, [closing], "bid", size=3)
>>> print(*found.kept)
bid(auction=1) bid(auction=2) bid(auction=3)
>>> print(*found.futures[0])
item(id=1)

| file                    | idea                                                                          |
| ----------------------- | ----------------------------------------------------------------------------- |
| `query.py`              | the join query: streams, equalities, differences, finite attributes           |
| `schemes.py`            | schemes and punctuations, by value and by order                               |
| `join_classes.py`       | classes of equal attributes, the graph of the differences                     |
| `forward_chaining.py`   | which streams a stream reaches                                                |
| `purgeability.py`       | the verdict on one state, with its proof                                      |
| `plans.py`              | safe trees of joins, as far as punctuations make them safe                    |
| `defeat.py`             | input that defeats every plan                                                 |

The purge itself, smallest sets of schemes and the paper's graphs are oracles: `tests/reference/punctuation/`.
"""

from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf
from penstock.closing.join_predicates import JoinAttribute, JoinEquality
from penstock.closing.punctuation.defeat import PurgeDefeat, StreamRow, purge_defeat
from penstock.closing.punctuation.plans import check_plan, safe_plans
from penstock.closing.punctuation.purgeability import (
    AtMost,
    AttributeLimit,
    Between,
    ChainStep,
    NotPurgeable,
    OneOf,
    Purgeability,
    Purgeable,
    SameAs,
)
from penstock.closing.punctuation.query import FiniteAttribute, JoinDifference, PunctuatedJoin, PunctuatedStream
from penstock.closing.punctuation.schemes import Punctuation, Scheme

__all__ = [
    "AtMost",
    "AttributeLimit",
    "Between",
    "ChainStep",
    "FiniteAttribute",
    "JoinAttribute",
    "JoinDifference",
    "JoinEquality",
    "JoinTree",
    "NotPurgeable",
    "OneOf",
    "PunctuatedJoin",
    "PunctuatedStream",
    "Punctuation",
    "PurgeDefeat",
    "Purgeability",
    "Purgeable",
    "SameAs",
    "Scheme",
    "StreamRow",
    "TreeJoin",
    "TreeLeaf",
    "check_plan",
    "purge_defeat",
    "safe_plans",
]

"""Punctuation safety: may the state of a join be purged by the punctuations that its streams promise (004)?

The theory works on values of its own. A `JoinQuery` has streams, equalities and differences of attributes; a `Scheme`
says which punctuations a stream may have.

>>> item, bid = Stream("item", ("id",)), Stream("bid", ("auction",))
>>> query = JoinQuery((item, bid), (Equality(Attribute("item", "id"), Attribute("bid", "auction")),))
>>> closing = Scheme("bid", ("auction",))
>>> safety = check(query, [closing])
>>> safety.safe
False
>>> for state in safety.states:
...     print(state)
item is purgeable; bid(auction) for auction = item.id
bid is not purgeable; does not reach item

Watermarks are order schemes. A time range bounds how far ahead partners may be:

>>> a, b = Stream("a", ("ts",)), Stream("b", ("ts",))
>>> a_ts, b_ts = Attribute("a", "ts"), Attribute("b", "ts")
>>> query = JoinQuery((a, b), differences=(Difference(a_ts, b_ts, 10), Difference(b_ts, a_ts, 5)))
>>> watermarks = [Scheme("a", (), order="ts"), Scheme("b", (), order="ts")]
>>> for state in check(query, watermarks).states:
...     print(state)
a is purgeable; b(ts up to) for ts <= a.ts + 5
b is purgeable; a(ts up to) for ts <= b.ts + 10
"""

from penstock.register.punctuation.purgeability import (
    AtMost,
    Between,
    Blocked,
    Known,
    Limit,
    NotPurgeable,
    OneOf,
    Purgeability,
    Purgeable,
    SameAs,
    Step,
    purgeability,
)
from penstock.register.punctuation.query import Attribute, Difference, Equality, Finite, JoinQuery, Stream
from penstock.register.punctuation.safety import Safety, check, is_safe, purgeable_streams
from penstock.register.punctuation.schemes import Punctuation, Scheme

__all__ = [
    "AtMost",
    "Attribute",
    "Between",
    "Blocked",
    "Difference",
    "Equality",
    "Finite",
    "JoinQuery",
    "Known",
    "Limit",
    "NotPurgeable",
    "OneOf",
    "Punctuation",
    "Purgeability",
    "Purgeable",
    "Safety",
    "SameAs",
    "Scheme",
    "Step",
    "Stream",
    "check",
    "is_safe",
    "purgeability",
    "purgeable_streams",
]

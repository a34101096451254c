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

What would make a query safe, an input that defeats it as it is, and how rows are purged once it is safe:

>>> query = JoinQuery((item, bid), (Equality(Attribute("item", "id"), Attribute("bid", "auction")),))
>>> for schemes in further_schemes(query, [closing]).sets:
...     print(*schemes)
item(id)
>>> found = witness(query, [closing], "bid", size=3)
>>> print(*found.kept)
bid(auction=1) bid(auction=2) bid(auction=3)
>>> print(*found.futures[0])
item(id=1)
>>> for step in recipe(query, safety.state("item")).steps:
...     print(step)
bid(auction) for auction = item.id; join on auction = item.id

| file                    | idea                                                                          |
| ----------------------- | ----------------------------------------------------------------------------- |
| `query.py`              | the join query: streams, equalities, differences, finite attributes           |
| `schemes.py`            | schemes and punctuations, by value and by order                               |
| `join_classes.py`       | classes of equal attributes, the graph of the differences                     |
| `forward_chaining.py`   | which streams a stream reaches                                                |
| `purgeability.py`       | the verdict on one state, with its proof                                      |
| `safety.py`             | the verdict on all of them                                                    |
| `punctuation_graph.py`  | the paper's graphs, for pictures                                              |
| `minimal_sets.py`       | smallest sets of schemes                                                      |
| `relevance.py`          | which schemes a query needs, and which it lacks                               |
| `plans.py`              | safe trees of joins, and the cheapest                                         |
| `plan_cost.py`          | rows held as the cost of a join                                               |
| `recipe.py`             | how the rows of a state are purged, as a plan                                 |
| `rows.py`               | rows, what joins and what a punctuation rules out                             |
| `chained_purge.py`      | the purge itself, as a reference for run times                                |
| `punctuation_state.py`  | how long punctuations are kept                                                |
| `punctuation_purge.py`  | which punctuations may be forgotten now                                       |
| `witness.py`            | input that defeats every plan                                                 |
"""

from penstock.closing.punctuation.chained_purge import Waiting, chained_purge
from penstock.closing.punctuation.minimal_sets import SchemeSets
from penstock.closing.punctuation.plan_cost import Statistics, rows_held, waiting_time
from penstock.closing.punctuation.plans import (
    Join,
    JoinCost,
    JoinSafety,
    Leaf,
    Plan,
    PlanSafety,
    cheapest_plan,
    check_plan,
    safe_plans,
)
from penstock.closing.punctuation.punctuation_graph import PunctuationEdge, PunctuationGraph, punctuation_graph
from penstock.closing.punctuation.punctuation_purge import purge_punctuations
from penstock.closing.punctuation.punctuation_state import Keeping, PunctuationState, punctuation_states
from penstock.closing.punctuation.purgeability import (
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
from penstock.closing.punctuation.query import Attribute, Difference, Equality, Finite, JoinQuery, Stream
from penstock.closing.punctuation.recipe import PurgeRecipe, PurgeStep, recipe
from penstock.closing.punctuation.relevance import (
    Relevance,
    candidate_schemes,
    further_schemes,
    minimal_scheme_sets,
    relevance,
)
from penstock.closing.punctuation.rows import Row, rules_out
from penstock.closing.punctuation.safety import Safety, check, is_safe, purgeable_streams
from penstock.closing.punctuation.schemes import Punctuation, Scheme
from penstock.closing.punctuation.witness import Witness, witness

__all__ = [
    "AtMost",
    "Attribute",
    "Between",
    "Blocked",
    "Difference",
    "Equality",
    "Finite",
    "Join",
    "JoinCost",
    "JoinQuery",
    "JoinSafety",
    "Keeping",
    "Known",
    "Leaf",
    "Limit",
    "NotPurgeable",
    "OneOf",
    "Plan",
    "PlanSafety",
    "Punctuation",
    "PunctuationEdge",
    "PunctuationGraph",
    "PunctuationState",
    "PurgeRecipe",
    "PurgeStep",
    "Purgeability",
    "Purgeable",
    "Relevance",
    "Row",
    "Safety",
    "SameAs",
    "Scheme",
    "SchemeSets",
    "Statistics",
    "Step",
    "Stream",
    "Waiting",
    "Witness",
    "candidate_schemes",
    "chained_purge",
    "cheapest_plan",
    "check",
    "check_plan",
    "further_schemes",
    "is_safe",
    "minimal_scheme_sets",
    "punctuation_graph",
    "punctuation_states",
    "purge_punctuations",
    "purgeability",
    "purgeable_streams",
    "recipe",
    "relevance",
    "rows_held",
    "rules_out",
    "safe_plans",
    "waiting_time",
    "witness",
]

"""Oracles of punctuation safety (004): the purge itself, step by step, and what the paper asks beside a verdict.

The theory is `penstock.closing.punctuation`, which says of one state whether it is purgeable. Here every state of a
query is asked at once, rows and punctuations are purged as the theorems say, without any index, and sets of schemes
are searched. Only public parts of the theory are used.

>>> from penstock.closing.punctuation import JoinAttribute, JoinEquality, PunctuatedJoin, Scheme, PunctuatedStream
>>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
>>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
>>> query = PunctuatedJoin((item, bid), (equal,))
>>> closing = Scheme("bid", ("auction",))
>>> safety = check(query, [closing])
>>> safety.safe
False
>>> for schemes in further_schemes(query, [closing]).sets:
...     print(*schemes)
item(id)
>>> for step in recipe(query, safety.state("item")).steps:
...     print(step)
bid(auction) for auction = item.id; join on auction = item.id

| file                    | idea                                                                          |
| ----------------------- | ----------------------------------------------------------------------------- |
| `safety.py`             | the verdict on all states of a query                                          |
| `punctuation_graph.py`  | the paper's graphs                                                            |
| `minimal_sets.py`       | smallest sets of schemes                                                      |
| `relevance.py`          | which schemes a query needs, and which it lacks                               |
| `recipe.py`             | how the rows of a state are purged, as a plan                                 |
| `rows.py`               | what joins, and what a punctuation rules out                                  |
| `chained_purge.py`      | the purge itself                                                              |
| `punctuation_state.py`  | how long punctuations are kept                                                |
| `punctuation_purge.py`  | which punctuations may be forgotten now                                       |
"""

from tests.reference.punctuation.chained_purge import Waiting, chained_purge
from tests.reference.punctuation.minimal_sets import SchemeSets
from tests.reference.punctuation.punctuation_graph import PunctuationEdge, PunctuationGraph, punctuation_graph
from tests.reference.punctuation.punctuation_purge import purge_punctuations
from tests.reference.punctuation.punctuation_state import Keeping, PunctuationState, punctuation_states
from tests.reference.punctuation.recipe import PurgeRecipe, PurgeStep, recipe
from tests.reference.punctuation.relevance import (
    Relevance,
    candidate_schemes,
    further_schemes,
    minimal_scheme_sets,
    relevance,
)
from tests.reference.punctuation.rows import rules_out
from tests.reference.punctuation.safety import Safety, check, is_safe, purgeability, purgeable_streams

__all__ = [
    "Keeping",
    "PunctuationEdge",
    "PunctuationGraph",
    "PunctuationState",
    "PurgeRecipe",
    "PurgeStep",
    "Relevance",
    "Safety",
    "SchemeSets",
    "Waiting",
    "candidate_schemes",
    "chained_purge",
    "check",
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
    "rules_out",
]

"""Lint of plain Spark queries: the register finds those whose state grows without bound.

Spark's analysed plan is read into our algebra: sources with their watermarks, joins, aggregates, dropDuplicates. Then
the register judges it, with what Spark exploits: watermarks. Spark has neither constant-size
joins nor punctuations nor k-constraints.

| file             | idea                                                                |
| ---------------- | ------------------------------------------------------------------- |
| `trees.py`       | Spark's plans and expressions, as trees                             |
| `expressions.py` | Spark's expressions in ours, where we have them                     |
| `analysed.py`    | Spark's plans in ours                                               |
| `remedies.py`    | what a Spark user can change: a watermark, a time range, a key      |
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.algebra.relations import Query, streams
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.bounds import UNBOUNDED
from penstock.closing.proof import Proof
from penstock.engines.spark.lint.analysed import ARRIVAL, read_plan
from penstock.engines.spark.lint.remedies import Remedies
from penstock.engines.spark.lint.trees import analysed_plan
from penstock.errors import PenstockError
from penstock.register import State, Theory, Verdict
from penstock.register.states import StatefulOperator
from penstock.register.windows import states

#: What Spark's operators do: they keep windows of time, and drop what a watermark has passed.
EXPLOITED = frozenset({Theory.WINDOWS, Theory.PUNCTUATION})


def check_dataframe(df: Any, name: str = "query") -> Verdict:
    """Returns the verdict on a streaming DataFrame."""
    if not df.isStreaming:
        raise PenstockError("this DataFrame is not streaming, and holds no state", "check one that reads a stream")
    return check_plan(*read_plan(analysed_plan(df), name))


def check_plan(query: Query, catalog: Catalog) -> Verdict:
    """Returns the verdict on a query that Spark runs."""
    return Verdict(query, catalog, kept_by_spark(query, catalog), advise=Remedies(kept_by_spark))


def kept_by_spark(query: Query, catalog: Catalog) -> tuple[State, ...]:
    """Returns all that Spark keeps for a query; it purges only sides of a join that have a watermark of their own."""
    normal = normalise(query)
    bare = {stream.occurrence for stream in streams(normal.relation) if stream.timestamp.name == ARRIVAL}
    found = states(normal, catalog, EXPLOITED)
    return tuple(_uncleaned(state) if _is_join(state) and state.stream in bare else state for state in found)


def _is_join(state: State) -> bool:
    return (
        state.holder in (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN)
        and state.is_safe
        and state.by is Theory.PUNCTUATION
    )


def _uncleaned(state: State) -> State:
    claim = f"every row of {state.stream} is kept, because {state.stream} has no watermark of its own"
    return replace(state, bound=UNBOUNDED, proof=Proof(claim))

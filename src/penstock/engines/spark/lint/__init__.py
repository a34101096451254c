"""Plain Spark queries under the register: which of them keep rows for ever, though Spark says nothing?

Spark's analysed plan is read into our algebra: sources with their watermarks, joins, aggregates, dropDuplicates. Then
the register judges it, with what Spark exploits: watermarks. Spark neither counts rows that are alike nor knows of
punctuations and k-constraints.

| file             | idea                                                                |
| ---------------- | ------------------------------------------------------------------- |
| `trees.py`       | Spark's plans and expressions, as trees                             |
| `expressions.py` | Spark's expressions in ours, where we have them                     |
| `analysed.py`    | Spark's plans in ours                                               |
| `remedies.py`    | what a Spark user can change: a watermark, a time range, a key      |
"""

from __future__ import annotations

from typing import Any

from penstock.algebra.rewrites import normalise
from penstock.engines.spark.lint.analysed import read_plan
from penstock.engines.spark.lint.remedies import remedies
from penstock.engines.spark.lint.trees import analysed_plan
from penstock.errors import PenstockError
from penstock.register import Theory, Verdict
from penstock.register.windows import states

#: What Spark's operators do: they keep windows of time, and drop what a watermark has passed.
EXPLOITED = frozenset({Theory.WINDOWS, Theory.PUNCTUATION})


def check_dataframe(df: Any, name: str = "query") -> Verdict:
    """The verdict on a streaming DataFrame."""
    if not df.isStreaming:
        raise PenstockError("this DataFrame is not streaming, and holds no state", "check one that reads a stream")
    query, catalog = read_plan(analysed_plan(df), name)
    found = states(normalise(query), catalog, EXPLOITED)
    return Verdict(query, catalog, found, theories=EXPLOITED, advise=remedies)

"""What Spark refuses, asked of Spark: its own check of a streaming plan, and the plan that it would make of it."""

from __future__ import annotations

import re
from typing import Any

from pyspark.errors import AnalysisException, PySparkException

from penstock.engines.spark.lint.reading import Plans
from penstock.engines.spark.lint.stateful import Deduplication, Grouping, Stateful
from penstock.engines.spark.lint.trees import PlanNode
from penstock.engines.spark.lint.verdict import Refusal

MODES = ("append", "update", "complete")

#: Hints for Spark's own messages, by what they contain.
_HINTS = (
    ("MULTIPLE_EVENT_TIME_COLUMNS", "drop or cast all event times but one before the next stateful operator"),
    ("streaming aggregations without watermark", 'set withWatermark, or use outputMode("update")'),
    ("Stream-stream", "set a watermark on both sides, and a range of their times in the condition"),
    ("only in Append", 'use outputMode("append")'),
    ("correctness", 'use outputMode("append")'),
    ("Redefining watermark", "set one watermark on each stream, before the first operator with state"),
    ("without watermark", "set withWatermark below it"),
    ("Distinct aggregations", "use approx_count_distinct, or dropDuplicates before the aggregate"),
    ("distinct", "use approx_count_distinct, or dropDuplicates before the aggregate"),
    ("Sorting", 'sort only the result of an aggregate, in outputMode("complete"), or in foreachBatch'),
    ("Union between streaming and batch", "read the static side as a stream, or write it apart"),
    ("outer", "swap the sides: the stream has to be on the side that is kept whole"),
    ("non-time-based windows", "aggregate by window(...), or use the window function in foreachBatch"),
)


def refusal(df: Any, output_mode: str) -> Refusal | None:
    """Returns what Spark says against running a DataFrame in an output mode, None if it runs."""
    if not hasattr(df, "_jdf"):
        return None  # Spark Connect does not offer its check
    jvm = df.sparkSession._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, output_mode.capitalize())()
    try:
        checker.checkForStreaming(df._jdf.queryExecution().analyzed(), mode)
    except AnalysisException as error:
        return said(error)
    return None


def refused_while_running(operators: tuple[Stateful, ...]) -> Refusal | None:
    """Returns what Spark says only once a query runs: an operator must not read two event times."""
    for operator in operators:
        times: tuple[str, ...] = ()
        if isinstance(operator, Grouping):
            times = tuple(key.name for key in operator.keys if key.has_watermark)
        elif isinstance(operator, Deduplication):
            times = operator.times.watermarked
        if len(times) > 1:
            words = f"More than one event time column reaches an operator: {', '.join(times)}."
            return Refusal(words, dict(_HINTS)["MULTIPLE_EVENT_TIME_COLUMNS"])
    return None


def redefined_watermark(plans: Plans) -> Refusal | None:
    """Returns what Spark says, once a query runs, of a watermark on rows that have one."""
    marks = [node for node in plans.optimised.walk() if node.kind == _WATERMARK] if plans.optimised is not None else []
    if any(_reaches_watermark(mark.children[0]) for mark in marks):
        return Refusal("Redefining watermark is disallowed.", dict(_HINTS)["Redefining watermark"])
    return None


_WATERMARK = "EventTimeWatermark"


def _reaches_watermark(plan: PlanNode) -> bool:
    if plan.kind == _WATERMARK:
        return True
    return plan.kind != "Join" and any(_reaches_watermark(child) for child in plan.children)


def said(error: PySparkException) -> Refusal:
    """Returns Spark's own words, without its codes and plans."""
    text = str(error).partition(";\n")[0].partition("\n")[0]
    words = re.sub(r"^\[[\w.]+\]\s*|\s*SQLSTATE: \w+.*$", "", text).strip()
    hint = next((hint for part, hint in _HINTS if part.lower() in text.lower()), None)
    return Refusal(re.sub(r"#\d+L?(-T\d+ms)?", "", words), hint)

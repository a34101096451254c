"""Lint of plain Spark queries: whose state grows without bound, what Spark refuses, and what it gets wrong.

Spark itself derives what a watermark lets it remove, and says so when it explains a plan; the lint reads that. It adds
which keys take finitely many values, names that the user knows, and what would help.

| file               | idea                                                                   |
| ------------------ | ---------------------------------------------------------------------- |
| `trees.py`         | Spark's logical plans and expressions, as trees                        |
| `explained.py`     | Spark's physical plan, as it explains it                               |
| `expressions.py`   | Spark's expressions in ours, where we have them                        |
| `finite_values.py` | attributes that take finitely many values                              |
| `event_times.py`   | attributes that carry a watermark                                      |
| `names.py`         | names that the user knows                                              |
| `stateful.py`      | operators that keep state, as values                                   |
| `reading.py`       | plans as such operators                                                |
| `bounds.py`        | how large the state of each gets                                       |
| `remedies.py`      | what a Spark user can change                                           |
| `refusals.py`      | what Spark refuses                                                     |
| `silent.py`        | what Spark does wrongly in silence                                     |
| `verdict.py`       | all of it                                                              |
| `writers.py`       | what a `DataStreamWriter` is about to start                            |
| `guard.py`         | the check before each `start`                                          |
| `jobs.py`          | a script whose queries are judged in place of being started            |
| `stand_ins.py`     | streams for sources that cannot be reached                             |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.errors import AnalysisException

from penstock.engines.spark.lint.explained import explained
from penstock.engines.spark.lint.reading import Plans, stateful
from penstock.engines.spark.lint.refusals import MODES, redefined_watermark, refusal, refused_while_running, said
from penstock.engines.spark.lint.silent import warnings
from penstock.engines.spark.lint.trees import analysed_plan, optimised_plan
from penstock.engines.spark.lint.verdict import Refusal, SparkVerdict
from penstock.engines.spark.lint.writers import written
from penstock.engines.spark.versions import refuse_older_for_lint
from penstock.errors import PenstockError

__all__ = ["Refusal", "SparkVerdict", "check_dataframe", "check_spark"]


def check_spark(what: Any, output_mode: str | None = None, finite: Iterable[str] = ()) -> SparkVerdict:
    """Returns the verdict on a streaming DataFrame, or on the writer of one, whose output mode and name it has."""
    refuse_older_for_lint()
    match type(what).__name__:
        case "DataFrame":
            return check_dataframe(what, "query", output_mode, finite)
        case "DataStreamWriter":
            query = written(what)
            return check_dataframe(query.df, query.name or "query", output_mode or query.output_mode, finite)
        case "GroupedData":
            raise PenstockError("groupBy(...) is not yet a query", "check what it computes, as groupBy(...).count()")
    raise PenstockError(f"{type(what).__name__} cannot be checked", "give a streaming DataFrame, or its writeStream")


def check_dataframe(
    df: Any, name: str = "query", output_mode: str | None = None, finite: Iterable[str] = ()
) -> SparkVerdict:
    """Returns the verdict on a streaming DataFrame. Nothing runs: Spark only analyses and plans it.

    Without an output mode it is judged for append and update, in which Spark keeps the same, or for complete if Spark
    accepts no other. `finite` names columns that take few values, whatever the query says.
    """
    if not df.isStreaming:
        raise PenstockError("this DataFrame is not streaming, and holds no state", "check one that reads a stream")
    if output_mode is not None and output_mode not in MODES:
        raise PenstockError(f"there is no output mode {output_mode}", f"give one of {', '.join(MODES)}")
    refused = {mode: refusal(df, mode) for mode in ((output_mode,) if output_mode else MODES)}
    accepted = [mode for mode, why in refused.items() if why is None]
    if not accepted:
        return SparkVerdict(name, (), output_mode, next(iter(refused.values())))
    mode = output_mode or ("complete" if accepted == ["complete"] else None)
    try:
        operators = explained(df)
    except AnalysisException as error:
        return SparkVerdict(name, (), mode, said(error))
    plans = Plans(operators, optimised_plan(df), analysed_plan(df)) if hasattr(df, "_jdf") else Plans(operators)
    declared = frozenset(column.rpartition(".")[2].lower() for column in finite)
    found = stateful(plans, declared)
    return SparkVerdict(name, found, mode, redefined_watermark(plans) or refused_while_running(found), warnings(plans))

"""A change log as changes of a table: what the changes of a micro-batch come to, by key.

_op  auction  top                                 _op  auction  top
 +      1      10
 -      1      10      latest_changes(..., "auction")
 +      1      30               ──▶                +      1      30
 -      2      25                                  -      2      25
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import PenstockError
from penstock.sql.diagnostics import did_you_mean

_OWN = ("_ts", "_op")


def latest_changes(changes: Any, keys: str | Sequence[str]) -> Any:
    """Returns one row per key that changed: `_op`, then the select list. `changes` is a DataFrame that is not a stream.

    With `_op` `+` the key has that row from now on, with `-` it has none any more. What was inserted and deleted again
    is left out. The result is the same if a micro-batch is applied twice, as `foreachBatch` may do after a failure.
    """
    from pyspark.sql import functions as F  # noqa: PLC0415

    names = [name for name in changes.columns if name not in _OWN]
    keys = [keys] if isinstance(keys, str) else list(keys)
    if set(_OWN) - set(changes.columns):
        raise PenstockError("these are no changes of a query: _ts and _op are missing", "pass on all of their columns")
    for key in keys:
        if key not in names:
            hint = did_you_mean(key, names) or f"the columns are {', '.join(names)}"
            raise PenstockError(f"there is no column {key}", hint)
    if not keys:
        raise PenstockError("a table without a key cannot be changed row by row", "name the columns of a key")
    weight = F.sum(F.when(F.col("_op") == "+", 1).otherwise(-1)).alias("_weight")
    net = changes.groupBy(*map(_quoted, names)).agg(weight).where("_weight <> 0")
    row = F.struct(*map(_quoted, names))
    by_key = net.groupBy(*map(_quoted, keys)).agg(
        F.max("_weight").alias("_weight"), F.max_by(row, "_weight").alias("_row")
    )
    op = F.when(F.col("_weight") > 0, "+").otherwise("-").alias("_op")
    return by_key.select(op, *(F.col("_row").getField(name).alias(name) for name in names))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

"""The Spark engine: a plan as stateful operators of one Structured Streaming query.

Rows are packed per cell before the shuffle (`source`, `packing`), a stateful operator per level of the plan runs the
machines of the cells (`deferred`, `cell`, `addresses`), and the last one's packets become typed rows (`sink`).
"""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import PenstockError

if find_spec("pyspark") is None:
    raise PenstockError(
        "PySpark is not installed",
        "run pip install 'penstock[spark]'; without it queries of SQL run in this process, with --engine embedded",
    )

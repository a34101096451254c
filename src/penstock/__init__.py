"""Penstock runs continuous SQL over streams on Spark, in bounded memory.

>>> import penstock
>>> script = penstock.bind_text('''
...     CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
...     SELECT auction, MAX(price) AS top FROM bid [RANGE 10 MINUTES] GROUP BY auction;
... ''')
>>> print(penstock.plan_text(script.queries[0]))
query
└─ Project agg.auction, agg.max AS top
   └─ Aggregate by bid.auction AS agg.auction: MAX(bid.price) AS agg.max
      └─ bid [RANGE 10 MINUTES]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.algebra.printing import plan_text
    from penstock.elimination import Implication
    from penstock.errors import DoubtfulUnit, PenstockError, SqlError, SqlErrors
    from penstock.functions import function
    from penstock.plan.adaptivity import Adaptive
    from penstock.plan.forgetting import Forgetting
    from penstock.register import UnboundedState, UnsafeQuery, UnsafeStream, UnusedProof, Verdict
    from penstock.session import Metrics, OpenQuery, Query, Session, latest_changes, spark_session
    from penstock.sql import Script, bind_text
    from penstock.sql.formatting import format_text
    from penstock.verdicts import check, check_sql, guard, implies

__version__ = "0.1.0"

#: Where each name comes from. Spark's workers import a part of the package, and should not wait for all of it.
_HOME = {
    "Adaptive": "penstock.plan.adaptivity",
    "DoubtfulUnit": "penstock.errors",
    "Forgetting": "penstock.plan.forgetting",
    "Implication": "penstock.elimination",
    "Metrics": "penstock.session",
    "OpenQuery": "penstock.session",
    "PenstockError": "penstock.errors",
    "Query": "penstock.session",
    "Script": "penstock.sql",
    "Session": "penstock.session",
    "SqlError": "penstock.errors",
    "SqlErrors": "penstock.errors",
    "UnboundedState": "penstock.register",
    "UnsafeQuery": "penstock.register",
    "UnsafeStream": "penstock.register",
    "UnusedProof": "penstock.register",
    "Verdict": "penstock.register",
    "bind_text": "penstock.sql",
    "check": "penstock.verdicts",
    "check_sql": "penstock.verdicts",
    "format_text": "penstock.sql.formatting",
    "implies": "penstock.verdicts",
    "function": "penstock.functions",
    "guard": "penstock.verdicts",
    "latest_changes": "penstock.session",
    "plan_text": "penstock.algebra.printing",
    "spark_session": "penstock.session",
}

__all__ = [
    "Adaptive",
    "DoubtfulUnit",
    "Forgetting",
    "Implication",
    "Metrics",
    "OpenQuery",
    "PenstockError",
    "Query",
    "Script",
    "Session",
    "SqlError",
    "SqlErrors",
    "UnboundedState",
    "UnsafeQuery",
    "UnsafeStream",
    "UnusedProof",
    "Verdict",
    "__version__",
    "bind_text",
    "check",
    "check_sql",
    "format_text",
    "function",
    "guard",
    "implies",
    "latest_changes",
    "plan_text",
    "spark_session",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Returns the public names, which notebooks and shells complete."""
    return __all__

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

from typing import TYPE_CHECKING, Any

from penstock.algebra.printing import plan_text
from penstock.errors import PenstockError, SqlError, SqlErrors
from penstock.register import UnsafeQuery, Verdict
from penstock.sql import Script, bind_text
from penstock.sql.formatting import format_text
from penstock.verdicts import check, check_sql

if TYPE_CHECKING:
    from penstock.session import Session

__version__ = "0.1.0"

__all__ = [
    "PenstockError",
    "Script",
    "Session",
    "SqlError",
    "SqlErrors",
    "UnsafeQuery",
    "Verdict",
    "__version__",
    "bind_text",
    "check",
    "check_sql",
    "format_text",
    "plan_text",
]


def __getattr__(name: str) -> Any:
    """A session brings the plan with it, which the language does without."""
    if name == "Session":
        from penstock.session import Session  # noqa: PLC0415

        return Session
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")

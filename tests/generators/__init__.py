"""Random cases: declarations, rows and a query over the whole language, always valid.

    from tests.generators import Case, Features, cases

Queries are built as small typed trees of their own (`syntax`) that print themselves as Penstock's SQL and as DuckDB's,
so a check of one against the other shares nothing with our binder.
"""

from tests.generators.cases import Case, cases, several_cases
from tests.generators.features import Features, WindowKind

__all__ = ["Case", "Features", "WindowKind", "cases", "several_cases"]

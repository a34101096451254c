"""Anti-joins that no row passes: the other occurrence is not read.

Assumes the normal form. Removes an anti-join in which each row of the left has a match (`matches.py`), and
leaves a selection of the rows in which a column that is compared is NULL. For a match with itself
nothing has to be declared.
"""

from __future__ import annotations

from penstock.algebra.expressions import FALSE, Expr, Or
from penstock.algebra.relations import AntiJoin, Relation, Select
from penstock.catalog import Catalog
from penstock.elimination.matches import always_matches
from penstock.elimination.occurrences import Elimination


def anti_joins(node: Relation, catalog: Catalog) -> tuple[Relation, Elimination] | None:
    """The node without an anti-join in which each row has a match, and why.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.elimination.rules import without_joins
    >>> from penstock.sql import bind_text
    >>> script = bind_text('''
    ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a FROM s x WHERE NOT EXISTS (SELECT * FROM s y WHERE y.a = x.a AND y.ts >= x.ts)
    ... ''')
    >>> relation, _ = without_joins(normalise(script.queries[0]).relation, script.catalog)
    >>> print(plan_text(relation))
    Project x.a
    └─ Select x.a IS NULL
       └─ s [UNBOUNDED] AS x
    """
    if not isinstance(node, AntiJoin):
        return None
    found = always_matches(node, catalog)
    if found is None:
        return None
    tests, reason = found
    missing: Expr = FALSE if not tests else tests[0] if len(tests) == 1 else Or(tests)
    return Select(node.left, (missing,)), reason

"""Semi-joins that every row passes: the other occurrence is not read.

Assumes the normal form. Removes a semi-join in which each row of the left input has a match (`matches.py`), and
leaves a selection of the rows whose columns that are compared are not NULL. For a match with itself
nothing has to be declared.
"""

from __future__ import annotations

from penstock.algebra.expressions import Expr, Not
from penstock.algebra.relations import Relation, Select, SemiJoin
from penstock.catalog import Catalog
from penstock.elimination.matches import always_matches
from penstock.elimination.occurrences import Elimination


def semi_joins(node: Relation, catalog: Catalog) -> tuple[Relation, Elimination] | None:
    """The node without a semi-join in which each row has a match, and why.

    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.elimination.rules import without_joins
    >>> from penstock.sql import bind_text
    >>> script = bind_text('''
    ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a FROM s [RANGE 1 HOUR] x WHERE EXISTS (SELECT * FROM s y WHERE y.a = x.a)
    ... ''')
    >>> relation, eliminations = without_joins(normalise(script.queries[0]).relation, script.catalog)
    >>> print(plan_text(relation))
    Project x.a
    └─ Select x.a IS NOT NULL
       └─ s [RANGE 1 HOUR] AS x
    >>> print(*eliminations)
    y is not read: the row of x itself matches
    """
    if not isinstance(node, SemiJoin):
        return None
    found = always_matches(node, catalog)
    if found is None:
        return None
    tests, reason = found
    present = tuple[Expr, ...](Not(test) for test in tests)
    return (Select(node.left, present) if present else node.left), reason

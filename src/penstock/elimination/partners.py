"""Whether every row of an occurrence has a partner in another one, at every instant at which it is there.

```text
          y            x
  ────────●────────────●───────────────────▶
          └── y is there, for ever                   y is not windowed, so it is enough that it is no later than x
                       └── x is there ──┐
```

That is a constraint over the streams: for each row x that passes its filters there is a row y with these conditions.
Declarations imply it or not; assertions are trusted, as `UNIQUE` is.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.expressions import Expr
from penstock.algebra.relations import Unbounded, Window
from penstock.catalog import AssertionDef, Catalog
from penstock.elimination.conditions import condition_of
from penstock.elimination.constraints import AtMost, Condition, Constraint, Row
from penstock.elimination.implication import decide
from penstock.elimination.occurrences import Occurrence
from penstock.elimination.proofs import used
from penstock.elimination.translation import theory_of
from penstock.types import TimeUnit


def partner(x: Occurrence, y: Occurrence, on: Iterable[Expr], catalog: Catalog) -> tuple[str, ...] | None:
    """The declarations by which every row of x has a partner in y that makes `on` true; None if none are known."""
    if not any(isinstance(definition, AssertionDef) for definition in catalog.definitions.values()):
        return None  # nothing else promises that a row exists
    together = _together(x, y)
    if together is None:
        return None
    assert isinstance(x.leaf, Window)
    assert isinstance(y.leaf, Window)
    timestamps = {each.stream.occurrence: each.stream.timestamp.name for each in (x.leaf, y.leaf)}
    conclusion: list[Condition] = list(together)
    for predicate in (*on, *y.predicates):
        conditions = condition_of(predicate, timestamps)
        if conditions is None:
            return None
        conclusion += conditions
    expressed = [condition_of(predicate, timestamps) for predicate in x.predicates]
    premise = tuple(each for conditions in expressed if conditions is not None for each in conditions)
    goal = Constraint("partner", (Row(x.declared, x.name),), premise, (Row(y.declared, y.name),), tuple(conclusion))
    theory = theory_of(catalog, about=(goal,)).constraints
    proof = decide(theory, goal).proof
    if proof is None:
        return None
    return tuple(dict.fromkeys(constraint.name for constraint in theory if constraint.name in used(proof)))


def _together(x: Occurrence, y: Occurrence) -> tuple[Condition, ...] | None:
    """When y is there as long as x is; None for windows that rows leave."""
    if not isinstance(x.leaf, Window) or not isinstance(y.leaf, Window) or x.declared == y.declared:
        return None
    if not x.leaf.stream.unit is y.leaf.stream.unit is TimeUnit.MICROSECONDS:
        return None
    return (AtMost(y.name, x.name, 0),) if isinstance(y.leaf.spec, Unbounded) else None

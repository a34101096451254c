"""Link monitors: what a query assumes of two streams that it does not join is watched, on a sample of their keys.

```text
  parent  ──●────────●─────▶      each child has one parent, no later and at most `delay` before it,
  child   ────●────────●───▶      and, if `one_child`, a parent has one child at most
```

Rows match that agree on some columns and whose times differ by `least` to `most`: the conditions of the join.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import Column, require
from penstock.algebra.relations import Relation, Schema
from penstock.types import BIGINT

#: The rows that a monitor remembers at most: its tables are of fixed size.
MOST_WATCHED = 1 << 13


@dataclass(frozen=True, slots=True)
class Promise:
    """What may be broken, and the declarations that promise it: if several, one of them is broken."""

    claim: str
    declarations: tuple[str, ...]
    #: Whether the run stops when it is broken, and whether it is watched at all.
    stops: bool = False
    is_watched: bool = True

    def __str__(self) -> str:
        return f"{' or '.join(self.declarations)}: {self.claim}"


@dataclass(frozen=True, slots=True)
class LinkMonitor(Relation):
    """Gives at each instant the keys of rows for which an assertion was broken then, and the earliest of their times.

    The first `matched` columns of both inputs are compared; behind them a child has its keys, and so has a parent
    whose children have the same ones.
    """

    parent: Relation
    child: Relation
    matched: int
    keys: Schema
    #: The differences of times, child minus parent, at which rows match; None: any.
    least: int | None
    most: int | None
    #: How long after its parent a child comes at most, if that is assumed.
    delay: int | None
    one_child: bool
    #: Of a child's parent, of a second parent, and of a second child.
    promises: tuple[Promise, Promise, Promise]
    #: One key in so many is watched.
    one_in: int

    def __post_init__(self) -> None:
        keyed = self.matched + len(self.keys)
        require(len(self.child.schema) == keyed, "a child has its keys behind what is compared")
        require(len(self.parent.schema) in (keyed, self.matched), "a parent has the same keys, or none")

    @property
    def has_parent_keys(self) -> bool:
        """Whether parents have the keys of their children."""
        return len(self.parent.schema) == len(self.child.schema)

    def _schema(self) -> Schema:
        return (*self.keys, Column(self.child.schema[0].scope if self.child.schema else "", "_since", BIGINT))

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.parent, self.child

    def with_inputs(self, inputs: tuple[Relation, ...]) -> LinkMonitor:
        parent, child = inputs
        return replace(self, parent=parent, child=child)

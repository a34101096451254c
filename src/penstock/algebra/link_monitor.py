"""Link monitors: what a query assumes of two streams that it does not join is watched, on a sample of their keys.

```text
  parent  ──●────────●─────▶      each child has one parent, no later and at most `delay` before it,
  child   ────●────────●───▶      and, if `one_child`, a parent has one child at most
```

Rows match that agree on some columns and whose times differ by `least` to `most`: the conditions of the join.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.algebra.expressions import require
from penstock.algebra.relations import Relation, Schema

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
    """Gives at each instant the keys of children for which an assertion was broken then.

    The first `matched` columns of both inputs are compared; behind them a child has its keys.
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
        require(len(self.parent.schema) == self.matched, "a parent is compared, and no more")
        require(len(self.child.schema) == self.matched + len(self.keys), "a child has its keys behind what is compared")

    def _schema(self) -> Schema:
        return self.keys

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.parent, self.child

    def with_inputs(self, inputs: tuple[Relation, ...]) -> LinkMonitor:
        parent, child = inputs
        return replace(self, parent=parent, child=child)

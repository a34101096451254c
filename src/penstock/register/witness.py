"""Witnesses: input after which any plan must remember as much as came.

N rows come, no two of them alike; each of them matters to what may come later, so that no two sets of them can lead to
one state. In words for messages, and as rows that `--witness N` writes.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.register.states import Holder, State


@dataclass(frozen=True, slots=True)
class Witness:
    words: str


def witness(query: Query, catalog: Catalog, unbounded: tuple[State, ...]) -> Witness | None:
    state = unbounded[0]
    names = ", ".join(dict.fromkeys(column.name for column in state.columns)) or "all columns"
    of = f" of {state.stream}" if state.stream else ""
    if state.holder in (Holder.JOIN, Holder.SEMI_JOIN, Holder.ANTI_JOIN):
        return Witness(f"let N rows{of} come, each with its own {names}: a partner of any of them may come next")
    return Witness(f"let N rows come, each with its own {names}: the next may be like any of them")

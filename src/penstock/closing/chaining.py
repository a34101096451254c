"""Chaining: from one input, closers reach others step by step; a row goes if they reach all (004, theorem 3).

Any order of steps reaches the same inputs, as with functional dependencies. A closer applies once rows of its sources
are bound and the values of its variables known: those of all inputs that are reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TypeVar

from penstock.algebra.expressions import Column
from penstock.closing.rules import Closer
from penstock.effort import spend

#: Of each variable the column of each input that holds it, or None.
VariableColumns = Sequence[Sequence[Column | None]]
C = TypeVar("C", bound=Closer)


class Granted(Enum):
    """What is taken for granted when it is asked whether rows go in the end."""

    #: Keys and clusters close an input once a row of it came, and none may ever come.
    NOTHING = "nothing"
    #: Rows that those of other inputs refer to come.
    PARTNERS = "partners"

    def holds(self, closer: Closer) -> bool:
        """Whether a closer applies in the end."""
        return closer.always and (closer.is_sure or self is Granted.PARTNERS)


def chain(
    variables: VariableColumns, closers: Iterable[C], start: int, count: int, granted: Granted = Granted.NOTHING
) -> tuple[C, ...] | None:
    """The closers by which each row of an input goes in the end, in their order; None if there are no such."""
    held = [{n for n, column in enumerate(columns) if column is not None} for columns in variables]
    applying = [closer for closer in closers if granted.holds(closer)]
    reached, used = {start}, list[C]()
    while len(reached) < count:
        before = frozenset(reached)
        spend(len(held) + len(applying))
        known = {v for v, inputs in enumerate(held) if inputs & before}
        for closer in applying:
            is_known = before.issuperset(closer.sources) and known.issuperset(closer.variables)
            if closer.target not in reached and is_known and (closer.is_sure or len(before) > 1):
                reached.add(closer.target)
                used.append(closer)
        if len(reached) == len(before):
            return None
    return tuple(used)

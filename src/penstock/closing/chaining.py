"""Chaining: from one input, closers reach others step by step; a row goes if they reach all (004, theorem 3).

Any order of steps reaches the same inputs, as with functional dependencies. A closer applies once rows of its sources
are bound and the values of its variables known: those of all inputs that are reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from penstock.algebra.expressions import Column
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import Closer, Rule
from penstock.effort import spend

#: Of each variable the column of each input that holds it, or None.
VariableColumns = Sequence[Sequence[Column | None]]
C = TypeVar("C", bound=Closer)


def chain(variables: VariableColumns, closers: Iterable[C], start: int, count: int) -> tuple[C, ...] | None:
    """The closers by which each row of an input goes in the end, in their order; None if there are no such.

    Keys and clusters are not among them: they close an input once a row of it came, and none may ever come.
    """
    return _chain(variables, [closer for closer in closers if closer.always and closer.is_sure], start, count)


def _chain(variables: VariableColumns, closers: Sequence[C], start: int, count: int) -> tuple[C, ...] | None:
    held = [{n for n, column in enumerate(columns) if column is not None} for columns in variables]
    reached, used = {start}, list[C]()
    while len(reached) < count:
        before = frozenset(reached)
        spend(len(held) + len(closers))
        known = {v for v, inputs in enumerate(held) if inputs & before}
        for closer in closers:
            is_known = before.issuperset(closer.sources) and known.issuperset(closer.variables)
            if closer.target not in reached and is_known and (closer.is_sure or len(before) > 1):
                reached.add(closer.target)
                used.append(closer)
        if len(reached) == len(before):
            return None
    return tuple(used)


def goes(variables: VariableColumns, closers: Iterable[C], start: int, count: int) -> bool:
    """Whether rows of an input go in the end, if those that other inputs' rows refer to come."""
    return _chain(variables, [closer for closer in closers if closer.always], start, count) is not None


def always_forgets(join: PhysicalJoin, rules: Sequence[Rule], number: int) -> bool:
    """Whether rows of an input of a join go in the end by rules, if those that other inputs' rows refer to come."""
    return goes(join_variables(join), rules, number, len(join.operands))

"""What tells rows of an input apart beside values and boxes: comparisons with columns of few values.

For each value of a list a comparison is a filter, whose outcome is computed when a row comes. Among the values of a
table a row's own has a place, which is found once the table is there. A value that is kept, for it is equal to one of
few, is one of these, or its row joins nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.algebra.buckets import TableInterval
from penstock.algebra.expressions import FALSE, Column, Expr, In
from penstock.algebra.relations import Output
from penstock.algebra.user_functions import calls_user
from penstock.closing.blocks import Block, Operand
from penstock.closing.finite import finite, truths
from penstock.register.finite_columns import against, cases, equal_columns, listed, of_table
from penstock.types import BIGINT, BOOLEAN


@dataclass(frozen=True, slots=True)
class PredicateOutcomes:
    """Columns that are to be kept, how they are computed or found, and what must be true of a row that counts."""

    values: tuple[Column, ...]
    computed: tuple[Output, ...]
    intervals: tuple[TableInterval, ...]
    #: BOOLEANs among what is found.
    true: tuple[Column, ...]
    where: tuple[Expr, ...]


def outcomes_of(
    block: Block, operand: Operand, compared: Sequence[Expr], values: frozenset[Column], split: frozenset[Column]
) -> PredicateOutcomes | None:
    """What answers these predicates for an input of whose columns `values` are kept; None if nothing does.

    Also None if some of `split`, values that the theory does not count, are few only by being equal to others, as to
    the keys of groups, and nothing tells beforehand to which.
    """
    own = frozenset(operand.relation.schema)
    scope = operand.relation.schema[0].scope
    known, same = listed(block.predicates), equal_columns(block.predicates)
    tables = {n: frozenset(o.relation.schema) for n, o in enumerate(block.operands) if o.is_static}
    outcomes: list[Expr] = []
    sides: list[tuple[Expr, int, Expr]] = []
    for predicate in compared:
        # A function is called on rows that arrived, not on those that might.
        if calls_user(predicate):
            return None
        by_case = cases(predicate, own, known)
        side = None if by_case is not None else against(predicate, own, tables, same)
        if by_case is None and side is None:
            return None
        outcomes += by_case or ()
        sides += [side] if side is not None else []
    computed = [Output(Column(scope, f"_outcome{n}", BOOLEAN), e) for n, e in enumerate(dict.fromkeys(outcomes))]
    intervals, sums = [], []
    for number, (mine, table, of) in enumerate(dict.fromkeys(sides)):
        own_side = mine if isinstance(mine, Column) else Column(scope, f"_side{number}", mine.type)
        intervals.append(TableInterval(Column(scope, f"_interval{number}", BIGINT), own_side, table, of))
        sums += [Output(own_side, mine)] if own_side != mine else []
    alone = listed(truths(operand.relation))
    few = sorted(values & known.keys() - alone.keys(), key=str)
    members = tuple(_members(scope, sorted(values - known.keys(), key=str), tables, same))
    if not split - known.keys() - {member.own for member in members} <= finite(operand.relation).keys():
        return None
    return PredicateOutcomes(
        (*(output.column for output in computed), *(interval.column for interval in intervals)),
        (*computed, *sums),
        (*intervals, *members),
        tuple(member.column for member in members),
        tuple(In(column, known[column]) if known[column] else FALSE for column in few),
    )


def _members(
    scope: str, values: list[Column], tables: dict[int, frozenset[Column]], same: list[set[Column]]
) -> Iterator[TableInterval]:
    """Of each value that is equal to a table's column, whether the table has it."""
    for column in values:
        found = ((n, of) for n, schema in tables.items() if (of := of_table(column, schema, same)) is not None)
        table = next(found, None)
        if table is not None:
            yield TableInterval(Column(scope, f"_member_{column.name}", BOOLEAN), column, *table)

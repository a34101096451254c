"""The checker of counter-models: evaluates constraints over rows that are given, without any reasoning.

It shares no code with the chase. A periodic row is unrolled as far as is needed. Let K be the largest constant, L the
least common multiple of periods and moduli, T a time after which only periodic rows are left, and let a constraint have
n rows and then m. Where times have a gap of more than (m + 1)(K + L), all rows above it may come L earlier without any
comparison coming out differently, whatever rows the conclusion needs; so rows up to T + n(m + 2)(K + L) suffice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm

from penstock.effort import spend
from penstock.elimination.constraints import ORIGIN, AtMost, Cell, Condition, Congruent, Constraint, Equal, Row
from penstock.elimination.models import Model, ModelRow

#: A model that unrolls to more rows, or to more choices of rows, is not checked, and so not accepted.
MOST_ROWS, MOST_CHOICES = 2_000, 20_000


def breaks(model: Model, theory: Sequence[Constraint], goal: Constraint) -> bool:
    """Whether the model satisfies every constraint of the theory, and not the goal."""
    if any(row.time < 0 or row.period < 0 for row in model.rows):
        return False
    for constraint in theory:
        unrolled = _unrolled(model, constraint)
        if unrolled is None or next(_broken(constraint, *unrolled), None) is not None:
            return False
    unrolled = _unrolled(model, goal)
    return unrolled is not None and next(_broken(goal, *unrolled), None) is not None


def _unrolled(model: Model, constraint: Constraint) -> tuple[list[ModelRow], list[ModelRow]] | None:
    """The rows for which a constraint is to be examined, and those among which to look for what it says exists."""
    if model.is_finite:
        return list(model.rows), list(model.rows)
    conditions = (*constraint.premise, *constraint.conclusion)
    largest = max((abs(each.most) for each in conditions if isinstance(each, AtMost)), default=0)
    common = lcm(*(row.period for row in model.rows if row.period))
    common = lcm(common, *(each.modulus for each in conditions if isinstance(each, Congruent)))
    gap = (len(constraint.some) + 2) * (largest + common + 1)
    start = max(largest, *(row.time for row in model.rows))
    examined = start + len(constraint.each) * gap + common
    rows = [list(_until(row, end)) for end in (examined, examined + gap) for row in model.rows if _fits(row, end)]
    if len(rows) < 2 * len(model.rows):
        return None
    flat = [[row for part in half for row in part] for half in (rows[: len(model.rows)], rows[len(model.rows) :])]
    is_small = len(flat[1]) <= MOST_ROWS and len(flat[0]) ** len(constraint.each) <= MOST_CHOICES
    return (flat[0], flat[1]) if is_small else None


def _fits(row: ModelRow, end: int) -> bool:
    return not row.period or (end - row.time) // row.period <= MOST_ROWS


def _until(row: ModelRow, end: int) -> Iterator[ModelRow]:
    for time in range(row.time, end + 1, row.period) if row.period else (row.time,):
        yield ModelRow(row.stream, time, row.cells)


def _broken(
    constraint: Constraint, examined: Sequence[ModelRow], all_rows: Sequence[ModelRow]
) -> Iterator[Mapping[str, ModelRow]]:
    for rows in _choices(constraint.each, constraint.premise, examined, {}):
        if next(_choices(constraint.some, constraint.conclusion, all_rows, rows), None) is None:
            yield rows


def _choices(
    variables: Sequence[Row], conditions: Sequence[Condition], rows: Sequence[ModelRow], chosen: dict[str, ModelRow]
) -> Iterator[dict[str, ModelRow]]:
    """The rows that variables may stand for so that the conditions are true."""
    spend()
    if not all(_is_true(condition, chosen) for condition in conditions):
        return
    if not variables:
        yield chosen
        return
    for row in rows:
        if row.stream == variables[0].stream:
            yield from _choices(variables[1:], conditions, rows, {**chosen, variables[0].name: row})


def _is_true(condition: Condition, chosen: Mapping[str, ModelRow]) -> bool:
    """Whether a condition is true, or about a row that is still to be chosen."""
    match condition:
        case Equal(Cell(row, _) as left, right):
            if row not in chosen or (isinstance(right, Cell) and right.row not in chosen):
                return True
            value = chosen[row].cell(left.column)
            other = chosen[right.row].cell(right.column) if isinstance(right, Cell) else right
            return value is not None and value == other
        case AtMost(one, other_row, most):
            times = [_time(name, chosen) for name in (one, other_row)]
            return times[0] is None or times[1] is None or times[0] - times[1] <= most
        case Congruent(one, other_row, modulus, residue):
            times = [_time(name, chosen) for name in (one, other_row)]
            return times[0] is None or times[1] is None or (times[0] - times[1]) % modulus == residue


def _time(name: str, chosen: Mapping[str, ModelRow]) -> int | None:
    if name == ORIGIN:
        return 0
    return chosen[name].time if name in chosen else None

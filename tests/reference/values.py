"""SQL values: their order, their equality, and rows as members of bags.

A value is held as `penstock.types` says, NULL as None. Of DOUBLE, NaN equals NaN and is larger than all others, and
-0.0 equals 0.0. In bags, groups and sets NULLs are alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from decimal import Decimal

Value = bool | int | float | Decimal | str | bytes | None
Row = tuple[Value, ...]
Bag = list[Row]


def less(a: Value, b: Value) -> bool:
    """Whether a is before b; neither is NULL and both have one type."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a):
            return False
        if math.isnan(b):
            return True
    return a < b  # type: ignore[operator]  # both have one type, and each type has an order


def equal(a: Value, b: Value) -> bool:
    """Whether a and b, neither NULL, are the same value."""
    return not less(a, b) and not less(b, a)


def canonical(value: Value) -> Value:
    """One of the values that are equal to `value`, always the same: 0.0 stands for -0.0."""
    return 0.0 if isinstance(value, float) and value == 0.0 else value


def identity(row: Row) -> Hashable:
    """Something that two rows share just if they are one member of a bag."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else canonical(v) for v in row)


def minus(left: Bag, right: Bag) -> Bag:
    """The bag difference: each row of `right` takes one row of `left` away."""
    to_take = Counter(identity(row) for row in right)
    kept = []
    for row in left:
        if to_take[identity(row)] > 0:
            to_take[identity(row)] -= 1
        else:
            kept.append(row)
    return kept


def same_bag(left: Bag, right: Bag) -> bool:
    return len(left) == len(right) and not minus(left, right)


def distinct(rows: Iterable[Row]) -> Bag:
    """Each row once, in its canonical form."""
    seen: dict[Hashable, Row] = {}
    for row in rows:
        seen.setdefault(identity(row), tuple(map(canonical, row)))
    return list(seen.values())


def sort_key(row: Row) -> tuple[tuple[int, Value], ...]:
    """An order of rows of one schema, for print: NULL first, NaN last."""
    return tuple(_sort_key(value) for value in row)


def _sort_key(value: Value) -> tuple[int, Value]:
    if value is None:
        return 0, 0
    if isinstance(value, float) and math.isnan(value):
        return 2, 0
    return 1, canonical(value)

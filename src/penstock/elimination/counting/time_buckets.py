"""Keys that cut time into buckets: of any length and offset, as people write them.

| key | bucket |
| --- | --- |
| `UNIX_SECONDS(ts) / 300`, `ts / 300000000`, `UNIX_MILLIS(ts) DIV 60000` | of that length |
| `(UNIX_SECONDS(ts) + 60) / 300` | the same, begun 60 seconds sooner |
| `ts - ts % 300000000` | of that length, named by its start |
| `DATE_TRUNC('MINUTE', ts)` | a second, minute, hour or day of UTC |
| `window(ts, '5 minutes')`, `TUMBLE(ts, INTERVAL 5 MINUTES)` | of that length, named by its start, moved or not |

Division truncates, so an offset that is subtracted would make the bucket at 0 longer than others: it is not taken.
"""

from __future__ import annotations

from penstock.algebra.bucket_counts import TimeBuckets
from penstock.algebra.expressions import Arithmetic, Call, Column, Expr, Literal, Operator
from penstock.algebra.predicates import unwidened

_UNITS = {"UNIX_MICROS": 1, "UNIX_MILLIS": 1_000, "UNIX_SECONDS": 1_000_000}
_TRUNCATED = {"SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": 86_400_000_000}


def time_buckets(key: Expr, times: frozenset[Column]) -> tuple[Column, TimeBuckets] | None:
    """The timestamp that a key cuts into buckets, and how; None if it is another key.

    >>> from penstock.types import BIGINT
    >>> ts = Column("s", "ts", BIGINT)
    >>> time_buckets(Arithmetic(Operator.DIVIDE, ts, Literal(300, BIGINT)), frozenset({ts}))[1]
    TimeBuckets(width=300, shift=0, step=1, base=0)
    """
    match unwidened(key):
        case Arithmetic(Operator.DIVIDE, number, Literal(int(length))) if length > 0:
            found = _shifted(number, times)
            if found is not None:
                column, unit, shift = found
                return column, TimeBuckets(length * unit, shift * unit)
        case Arithmetic(Operator.SUBTRACT, number, Arithmetic(Operator.MODULO, same, Literal(int(length)))):
            counted = _number(number, times)
            if counted is not None and number == same and length > 0:
                return counted[0], TimeBuckets(length * counted[1], step=length)
        case Call("DATE_TRUNC", (Literal(str(unit_name)), Column() as column), zone="UTC") if column in times:
            width = _TRUNCATED.get(unit_name.upper())
            if width is not None:
                return column, TimeBuckets(width, step=width)
        case Call("TIMESTAMP_MICROS", (start,)):
            return _window(start, times)
    return None


def _window(start: Expr, times: frozenset[Column]) -> tuple[Column, TimeBuckets] | None:
    """The start of a window (`sql/group_windows.py`): it is rounded down, also where it is moved."""
    floor, offset = _plus(start)
    match floor:
        case Arithmetic(
            Operator.SUBTRACT,
            moved,
            Arithmetic(
                Operator.MODULO,
                Arithmetic(Operator.ADD, Arithmetic(Operator.MODULO, same, Literal(int(length))), Literal(int(again))),
                Literal(int(once_more)),
            ),
        ) if moved == same and length == again == once_more > 0:
            time, back = _plus(moved)
            counted = _number(time, times)
            if counted is not None and counted[1] == 1 and back == -offset:
                shift = back % length
                return counted[0], TimeBuckets(length, shift, step=length, base=-shift)
    return None


def _plus(expr: Expr) -> tuple[Expr, int]:
    """A sum with a constant."""
    match expr:
        case Arithmetic(Operator.ADD, number, Literal(int(by))):
            return number, by
    return expr, 0


def _shifted(expr: Expr, times: frozenset[Column]) -> tuple[Column, int, int] | None:
    """A timestamp as a number of units, and how many are added to it."""
    match unwidened(expr):
        case Arithmetic(Operator.ADD, number, Literal(int(shift))) | Arithmetic(
            Operator.ADD, Literal(int(shift)), number
        ) if shift >= 0:
            counted = _number(number, times)
            return None if counted is None else (*counted, shift)
    counted = _number(expr, times)
    return None if counted is None else (*counted, 0)


def _number(expr: Expr, times: frozenset[Column]) -> tuple[Column, int] | None:
    """A timestamp as a number, and the microseconds that it counts in."""
    match unwidened(expr):
        case Call(function, (Column() as column,)) if function in _UNITS and column in times:
            return column, _UNITS[function]
        case Column() as column if column in times:
            return column, 1
    return None

"""The k that is proposed: more than the data required, since the next rows may require more, and a round number."""

from __future__ import annotations

from penstock.catalog import WithinRows, WithinTime
from penstock.types import DAY, HOUR, MINUTE, SECOND

#: A k is taken half as large again at least.
_NUMERATOR, _DENOMINATOR = 3, 2

_DECIMAL = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_SIXTIETHS = (1, 2, 5, 10, 20, 30)
_ROUND_TIMES = (
    *_DECIMAL,
    *(1_000 * n for n in _DECIMAL),
    *(SECOND * n for n in _SIXTIETHS),
    *(MINUTE * n for n in _SIXTIETHS),
    *(HOUR * n for n in (1, 2, 6, 12)),
)


def with_margin(within: WithinRows | WithinTime) -> WithinRows | WithinTime:
    """What to declare where the data required just this. What never happened is declared as never.

    >>> with_margin(WithinRows(0)).k, with_margin(WithinRows(1)).k, with_margin(WithinRows(340)).k
    (0, 2, 1000)
    >>> with_margin(WithinTime(2 * SECOND)).microseconds == 5 * SECOND
    True
    >>> with_margin(WithinTime(20 * DAY)).microseconds == 50 * DAY
    True
    """
    match within:
        case WithinRows(k):
            return WithinRows(_round(_more(k)))
        case WithinTime(time):
            return WithinTime(_round_time(_more(time)), within.is_latency)


def _more(k: int) -> int:
    return -(-k * _NUMERATOR // _DENOMINATOR)


def _round(number: int) -> int:
    """The least of 1, 2, 5, 10, 20, ... that is not smaller."""
    power = 1
    while 5 * power < number:
        power *= 10
    return next((n * power for n in (1, 2, 5) if n * power >= number), number) if number else 0


def _round_time(microseconds: int) -> int:
    if microseconds == 0:
        return 0
    return next((t for t in _ROUND_TIMES if t >= microseconds), DAY * _round(-(-microseconds // DAY)))

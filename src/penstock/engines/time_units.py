"""Checks whether a BIGINT timestamp without a unit counts microseconds, from its first value.

As microseconds, today's epoch seconds lie in the first hour of 1970, milliseconds in its first weeks, and nanoseconds
thousands of years ahead. Windows would then hold all rows, or none. Time that is simulated starts near 0: below a
hundred seconds there is no warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping

from penstock.catalog import StreamDef
from penstock.errors import DoubtfulUnit
from penstock.types import Kind, TimeUnit

#: Takes a warning's text.
Warn = Callable[[str], None]

#: The first value of each unit in which a clock is likely to count, and the value that is too large for it. As seconds
#: they lie between 1973 and 5138.
_LIKELY = (
    (TimeUnit.SECONDS, 10**8, 10**11),
    (TimeUnit.MILLISECONDS, 10**11, 10**14),
    (TimeUnit.NANOSECONDS, 10**17, 2**63),
)


def warn_in_python(text: str) -> None:
    warnings.warn(text, DoubtfulUnit, stacklevel=2)


def likely_unit(value: int) -> TimeUnit | None:
    """Returns the unit of a time that probably does not count microseconds.

    >>> likely_unit(1_700_000_000), likely_unit(1_700_000_000_000_000), likely_unit(0)
    (<TimeUnit.SECONDS: (1000000, 1)>, None, None)
    """
    return next((unit for unit, low, high in _LIKELY if low <= value < high), None)


class UnitDoubts:
    """Warns once for each stream."""

    def __init__(self, streams: Iterable[StreamDef], warn: Warn = warn_in_python) -> None:
        self._open = {stream.name: stream for stream in streams if _is_unsaid(stream)}
        self._warn = warn

    def examine(self, firsts: Mapping[str, int]) -> None:
        """Examines the first instant of each stream; below 0 there is none yet."""
        if not self._open:
            return
        for name, first in firsts.items():
            stream = self._open.pop(name, None) if first >= 0 else None
            unit = likely_unit(first)
            if stream is not None and unit is not None:
                self._warn(_text(stream, first, unit))


def _is_unsaid(stream: StreamDef) -> bool:
    (type_,) = (attribute.type for attribute in stream.attributes if attribute.name == stream.timestamp)
    return stream.written_unit is None and type_.kind is Kind.BIGINT


def _text(stream: StreamDef, first: int, unit: TimeUnit) -> str:
    return (
        f"{stream.name}: {stream.timestamp} starts with {first}, which looks like {unit.name.lower()} and is read as "
        f"microseconds: write TIMESTAMP BY {stream.timestamp} {unit.name}, or MICROSECONDS if that is what it counts"
    )

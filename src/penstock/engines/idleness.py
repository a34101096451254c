"""Idleness: a stream that has been quiet for too long is idle: time goes on without it until it delivers again.

    r   ●  ●  ●  ●  ●  ●  ●  ●                         ●  ●
    s   ●◀── IDLE AFTER ──▶|~~~ idle ~~~|              |◀── it waits anew
                                        a pause of all: nobody is idle

A pause of all streams, as long as the longest timeout, says nothing of any of them. What has arrived is closed, and
waiting begins anew behind it: so what stops and goes on together, as at night or when a producer is restarted, loses no
row. Where all streams are idle, time goes as far as the one that is farthest has closed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import monotonic_ns
from types import MappingProxyType

from penstock.catalog import StreamDef
from penstock.errors import PenstockError

#: No stream is ever idle: as where all rows are there from the start.
NO_TIMEOUTS: Mapping[str, int] = MappingProxyType({})

#: A clock that counts microseconds and never goes back.
Clock = Callable[[], int]


def wall_clock() -> int:
    """Returns the microseconds of this machine's steady clock."""
    return monotonic_ns() // 1000


def timeouts(streams: Iterable[StreamDef], default: int | None = None) -> dict[str, int]:
    """Returns after how long each stream is idle that can be: as it is declared, or else by default.

    For a stream that is alone nobody waits.
    """
    if default is not None and default <= 0:
        raise PenstockError("a stream is idle after a time that is more than zero", "for example '30 SECONDS'")
    streams = list(streams)
    if len(streams) < 2:
        return {}
    waits = {stream.name: default if stream.idle is None else stream.idle for stream in streams}
    return {name: after for name, after in waits.items() if after is not None}


class Idleness:
    """Which streams of a query are idle. `after` has the timeouts of those that can be."""

    def __init__(self, after: Mapping[str, int]) -> None:
        self._after = after
        #: Since when streams have been quiet.
        self._since: dict[str, int] = {}
        #: When a row arrived last, of any stream.
        self._latest: int | None = None

    def __bool__(self) -> bool:
        return bool(self._after)

    def delivered(self, stream: str, now: int) -> None:
        """Takes note that rows of a stream arrived."""
        if self._paused(now):
            self._since = {}
        for other in self._after:
            self._since.setdefault(other, now)
        if stream in self._after:
            self._since[stream] = now
        self._latest = now

    def idle(self, now: int) -> frozenset[str]:
        """Returns the streams that have been quiet for as long as they may.

        >>> quiet = Idleness({"r": 30, "s": 30})
        >>> quiet.delivered("s", 5), quiet.delivered("r", 25)
        (None, None)
        >>> quiet.idle(34), quiet.idle(35)
        (frozenset(), frozenset({'s'}))
        """
        return frozenset(stream for stream, since in self._since.items() if now - since >= self._after[stream])

    def rest(self, now: int) -> None:
        """Takes note that all is closed which the streams that were not idle at `now` leave closed.

        >>> quiet = Idleness({"s": 30})
        >>> quiet.delivered("r", 5), quiet.idle(90), quiet.rest(90), quiet.idle(91)
        (None, frozenset({'s'}), None, frozenset())
        """
        if self._paused(now):
            self._since = {}

    def _paused(self, now: int) -> bool:
        """Returns whether nothing has arrived for so long that every stream is due."""
        return self._latest is not None and now - self._latest >= max(self._after.values(), default=0)

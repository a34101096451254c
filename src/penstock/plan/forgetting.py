"""How a run forgets: how often it searches for what can go, and how long it waits for a punctuation (004, section 5).

An *eager* purge runs after each part of a step, a *lazy* one when enough rows have arrived since the last: that keeps
more and costs less. Results do not depend on it. Punctuations may be lost. A row that waits longer than `wait_timeout`
for one is dropped and counted. It joins nothing that comes later than that after it, whenever it is dropped.

Rows that go only because a k says so are *probably unnecessary* (thesis 6.1.6). They are lost if the data breaks the
constraint. With `spill` they go to disk instead, and come back when something joins them: results stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Forgetting:
    """How often a run purges, how long it waits for punctuations, and whether it spills.

    Times are in microseconds, by the timestamps of the streams.

    >>> import penstock
    >>> lazy = penstock.Forgetting(rows=100_000, spill=True)
    """

    #: A purge comes after this many rows; without it and `time`, after each part of a step.
    rows: int | None = None
    #: A purge comes after this much time.
    time: int | None = None
    #: A row that has waited this long for a punctuation is dropped, and counted.
    wait_timeout: int | None = None
    #: Whether rows that go because of a k-constraint are kept on disk, so that no result is lost if the data break it.
    spill: bool = False

    def __post_init__(self) -> None:
        for name, least in (("rows", 1), ("time", 0), ("wait_timeout", 0)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise PenstockError(f"Forgetting: {name} is a whole number from {least} on, not {value!r}")

    @property
    def is_lazy(self) -> bool:
        return self.rows is not None or self.time is not None


EAGER = Forgetting()

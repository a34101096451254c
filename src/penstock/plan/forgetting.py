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
    """Times are in microseconds, of the streams' clock."""

    #: A purge comes after so many rows, or so much time; without either, after each part of a step.
    rows: int | None = None
    time: int | None = None
    wait_timeout: int | None = None
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

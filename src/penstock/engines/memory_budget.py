"""A memory budget: how many rows the next step may take, and how much may wait, so that rows stay inside it.

    budget  ├──── state, or what was proved of it ────┼─ in flight ─┼─ read, not pushed ─┼── the next step ──┤

When input outruns the budget, steps get smaller, and so reading slows; nothing is dropped. Where state alone takes all
of it, steps are as small as can be, so that what can be purged goes soon. The interpreter and libraries do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.engines.embedded import EmbeddedEngine

#: What a row takes while a step goes on, in proportion to its Arrow columns: codes, routed rows, events, results.
COPIES = 6
#: The fewest rows of a step.
LEAST = 256


def rows_within(
    budget: int, engines: Iterable[EmbeddedEngine], waiting: int, row_bytes: float, proved: Mapping[str, int | None]
) -> int:
    """Returns how many rows of so many bytes a step may take.

    `waiting` are the bytes of rows that were read and not pushed, and `proved` the rows of state of each query at most.
    """
    used = sum(_held(engine, proved.get(engine.query.name)) for engine in engines) + waiting
    return rows_beside(budget, used, row_bytes)


def rows_beside(budget: int, used: float, row_bytes: float) -> int:
    """Returns how many rows of so many bytes a step may take where so much of a budget is used."""
    return max(LEAST, int((budget - used) / max(1.0, row_bytes * COPIES)))


def held_bytes(rows: int, size: int, in_flight: int, most_rows: int | None) -> float:
    """Returns the bytes that a query holds with so many rows of state, and may come to hold by what was proved."""
    to_come = max(0, most_rows - rows) * size / rows if most_rows is not None and rows else 0
    return size + in_flight + to_come


def bytes_that_may_wait(budget: int, engine: EmbeddedEngine, most_rows: int | None) -> int:
    """Returns how many bytes of rows may wait in the queues of a run to which rows are pushed.

    A step makes copies of the rows that it takes, so of what the state leaves all but one share of it is for those.
    """
    in_queues = sum(map(engine.inbox_bytes, engine.plan.fragments))
    return max(0, int((budget - _held(engine, most_rows) + in_queues) / (1 + COPIES)))


def _held(engine: EmbeddedEngine, most_rows: int | None) -> float:
    return held_bytes(*engine.state(), engine.in_flight_bytes(), most_rows)

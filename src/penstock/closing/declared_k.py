"""k in rows where a user declares RATE and LATENCY instead (000, A.1 to A.4; thesis 6.1.1).

A time is so many rows of the stream whose rows k counts: of the parent for RIDS, of the stream itself for CA and OA.
RATE limits what *arrives*, so example A.2's k, which is too small where a limit on what is sent is meant, holds here.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.catalog import Catalog, Clustered, Constraint, Ordered, Reference, StreamDef, WithinRows, WithinTime
from penstock.closing.contents import declared_rate, rate_texts
from penstock.closing.kconstraints.rates import clustered_by_delay, ordered_by_delays, rids_by_latency


@dataclass(frozen=True, slots=True)
class RowsFromRate:
    """k, and the rate that makes a number of rows of a time, as it is written."""

    within: WithinRows
    leans_on: tuple[str, ...]


def rows_from_rate(constraint: Constraint, definition: StreamDef, catalog: Catalog) -> RowsFromRate | None:
    """The number of rows that the time of a constraint stands for, if a rate is declared.

    >>> from penstock.sql import bind_text
    >>> script = bind_text('''
    ...     CREATE STREAM hop (packet BIGINT, ts TIMESTAMP, CLUSTERED BY packet LATENCY 2 SECONDS, RATE 10 PER SECOND)
    ...     TIMESTAMP BY ts''')
    >>> hop = script.catalog.get("hop")
    >>> rows_from_rate(hop.constraints[0], hop, script.catalog)
    RowsFromRate(within=WithinRows(k=28), leans_on=('hop: RATE 10 PER SECOND',))
    """
    match constraint:
        case Clustered(_, WithinTime(time)):
            counted, k = definition, clustered_by_delay(1, declared_rate(definition), time)
        case Ordered(_, WithinTime(time)):
            # The rows of a time, both ends included: the latencies of two rows differ by less than one more.
            counted, k = definition, ordered_by_delays(0, time + 1, arriving=declared_rate(definition))
        case Reference(_, parent, _, WithinTime(time)):
            found = catalog.get(parent)
            if not isinstance(found, StreamDef):
                return None
            counted, k = found, rids_by_latency(time, declared_rate(found))
        case _:
            return None
    return None if k is None else RowsFromRate(WithinRows(k.n), rate_texts(counted))

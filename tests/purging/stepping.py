"""Steps of a run in which rows come by their times, so that what is kept between them can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from tests.engines.comparing import Log, batch, bound, logged
from tests.generators import Case


def steps(
    engine: EmbeddedEngine, catalog: Catalog, data: Mapping[str, Sequence[tuple[Any, ...]]], every: int
) -> Iterator[pa.Table]:
    """Lets the rows of so many instants come, and then time go on; after each step what came out.

    The last column of a row is its time.
    """
    last = max(rows[-1][-1] for rows in data.values() if rows)
    for start in range(0, last + 1, every):
        for stream in catalog.streams:
            rows = [row for row in data[stream.name] if start <= row[-1] < start + every]
            if rows and stream.name in engine.streams:
                engine.push(stream.name, batch(stream, rows))
        yield engine.advance()


def most_kept(case: Case, every: int) -> tuple[int, Log]:
    """The most rows of state after a step of so many instants, and all that comes out."""
    query, catalog = bound(case)
    engine = EmbeddedEngine(query, catalog)
    most, log = 0, Log()
    for out in steps(engine, catalog, case.data, every):
        log += logged(out, query)
        most = max(most, engine.state()[0])
    log += logged(engine.finish(), query)
    return most, log

"""The queries of a run that read `sysstream`: those of the file, and those of `--watch`. They run beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.errors import PenstockError
from penstock.sql import Script
from penstock.sql.system_streams import SYSSTREAM, reads_sysstream


@dataclass(frozen=True, slots=True)
class WatchedQuery:
    """A query over what the run publishes, and where its results go."""

    query: Query
    catalog: Catalog
    output: str


def watched_queries(
    script: Script, queries: Sequence[tuple[Query, str]], watches: Sequence[Script]
) -> list[WatchedQuery]:
    """Returns the queries over `sysstream` among those of a file, with their outputs, and those of `--watch`."""
    found = [WatchedQuery(query, script.catalog, output) for query, output in queries if reads_sysstream(query)]
    if len(found) == len(queries):
        message = f"{found[0].query.name} reads {SYSSTREAM.name}, which other queries of the same run fill"
        raise PenstockError(message, "let another query run with it; penstock run --watch adds one to any run")
    for number, bound in enumerate(watches, 1):
        if len(bound.queries) != 1:
            raise PenstockError(f"--watch has {len(bound.queries)} queries", "give one SELECT; --watch may be repeated")
        (query,) = bound.queries
        if not reads_sysstream(query):
            hint = f"write SELECT ... FROM {SYSSTREAM.name} [RANGE 1 MINUTE] ..., or read a view such as sys.state"
            raise PenstockError(f"--watch reads no {SYSSTREAM.name}", hint)
        name = query.name if len(watches) == 1 and query.name != "query" else f"watch{number}"
        found.append(WatchedQuery(replace(query, name=name), bound.catalog, "-"))
    return found

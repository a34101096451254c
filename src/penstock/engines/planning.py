"""The plan of a run. It is made once, and whatever else a run must know of its query is read off that one plan.

A plan depends on the number of cells and on how the run forgets, and so does which streams are read for their
punctuations: two plans of one query need not read the same streams.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Query, Table
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan, plan


def plan_of(query: Query, catalog: Catalog, cells: int = 1, forgetting: Forgetting = EAGER) -> Plan:
    """The plan by which a query runs, with up to so many cells per fragment."""
    return plan(normalise(query), cells, catalog, forgetting)


def read_by(plans: Iterable[Plan], catalog: Catalog) -> tuple[list[StreamDef], list[TableDef]]:
    """The streams and tables that plans read, each once; streams of punctuations too."""
    names: dict[str, None] = {}
    for planned in plans:
        for leaf in (route.leaf for fragment in planned.fragments for route in fragment.routes):
            if isinstance(leaf, Scan):
                names[leaf.stream.name] = None
            elif isinstance(leaf, Table):
                names[leaf.name] = None
    definitions = [catalog.get(name) for name in names]
    streams = [definition for definition in definitions if isinstance(definition, StreamDef)]
    return streams, [definition for definition in definitions if isinstance(definition, TableDef)]

"""The plan of a run. It is made once, and all that a run needs about its query is derived from that plan.

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
    """Returns the plan by which a query runs, with up to so many cells per fragment."""
    return plan(normalise(query), cells, catalog, forgetting)


def read_by(plans: Iterable[Plan], catalog: Catalog) -> tuple[list[StreamDef], list[TableDef]]:
    """Returns the streams (those of punctuations, too) and tables that plans read, in the order of the catalog."""
    leaves = [route.leaf for planned in plans for fragment in planned.fragments for route in fragment.routes]
    names = {leaf.stream.name for leaf in leaves if isinstance(leaf, Scan)}
    names |= {leaf.name for leaf in leaves if isinstance(leaf, Table)}
    streams = [definition for definition in catalog.streams if definition.name in names]
    return streams, [definition for definition in catalog.tables if definition.name in names]

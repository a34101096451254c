"""The plan of a run. It is made once, and all that a run needs about its query is derived from that plan.

A plan depends on the number of cells and on how the run forgets, and so does which streams are read for their
punctuations: two plans of one query need not read the same streams.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Query, Table
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog, StreamDef, TableDef
from penstock.errors import PenstockError
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Plan
from penstock.plan.planner import plan


def plan_of(
    query: Query, catalog: Catalog, cells: int = 1, forgetting: Forgetting = EAGER, adaptive: Adaptive = FULL
) -> Plan:
    """Returns the plan by which a query runs, with up to so many cells per fragment.

    What the query itself says of its adaptivity goes before `adaptive`.
    """
    require_cells(cells)
    mode = query.adaptive
    own = adaptive if mode is None else replace(adaptive, mode=mode)
    return replace(plan(normalise(query), cells, catalog, forgetting), adaptive=own)


def require_cells(cells: object) -> None:
    """Refuses a number of cells that is none."""
    if not isinstance(cells, int) or isinstance(cells, bool) or cells < 1:
        raise PenstockError(f"cells is {cells!r}", "give a whole number from 1 on")


def read_by(plans: Iterable[Plan], catalog: Catalog) -> tuple[list[StreamDef], list[TableDef]]:
    """Returns the streams (those of punctuations, too) and tables that plans read, in the order of the catalog."""
    leaves = [route.leaf for planned in plans for fragment in planned.fragments for route in fragment.routes]
    names = {leaf.stream.name for leaf in leaves if isinstance(leaf, Scan)}
    names |= {leaf.name for leaf in leaves if isinstance(leaf, Table)}
    streams = [definition for definition in catalog.streams if definition.name in names]
    return streams, [definition for definition in catalog.tables if definition.name in names]

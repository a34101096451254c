"""The plan of a query: what runs of it goes through the passes, is cut into fragments, and its leaves get guards."""

from __future__ import annotations

from dataclasses import replace

from penstock.algebra.bucket_counts import FallBack
from penstock.algebra.expressions import Expr
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import physical
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import (
    Query,
    Shared,
    StreamKind,
    ToStream,
    walk_relations,
)
from penstock.catalog import Catalog
from penstock.closing.join_variables import is_monotone
from penstock.effort import answering, nesting
from penstock.elimination.running import running
from penstock.plan.cutting import Cutter
from penstock.plan.early import Early, early
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.plan.fragments import Dimension, Fragment, Plan, Route, leaves_of
from penstock.plan.guards import Guard, Ruling, Rulings, rulings
from penstock.plan.keys import comes_once
from penstock.plan.passes import Wanted, physical_plan

_NOTHING_DECLARED = Catalog()


@nesting
def plan(query: Query, cells: int = 1, catalog: Catalog = _NOTHING_DECLARED, forgetting: Forgetting = EAGER) -> Plan:
    """The plan of a query in normal form, with up to so many cells per fragment."""
    with answering():
        return _plan(query, cells, catalog, forgetting)


def _plan(query: Query, cells: int, catalog: Catalog, forgetting: Forgetting) -> Plan:
    runs = running(query, catalog)
    query = runs.query
    kind = query.root.kind if isinstance(query.root, ToStream) else None
    wanted = Wanted(catalog, cells, forgetting.spill, emits=kind is StreamKind.ON_CLOSE)
    relation = physical_plan(query.relation, wanted)
    once, ruled = comes_once(relation, catalog), rulings(relation, catalog)
    monitors = tuple(map(physical, runs.monitors))
    has_fragments = (isinstance(node, LinkMonitor | FallBack | Shared) for node in walk_relations(relation))
    if cells == 1 and not monitors and not any(has_fragments):
        routes = tuple(Route(leaf, ()) for leaf in leaves_of(relation))
        whole = _guarded(Fragment(0, relation, routes, ()), ruled)
        return Plan(query, _with_early((whole,), kind, query), kind, once, forgetting)
    cutter = Cutter(cells, catalog)
    for monitor in monitors:
        cutter.finish(cutter.piece(monitor))
    piece = cutter.piece(relation)
    if kind is StreamKind.RSTREAM:
        piece = cutter.received(piece, (None,), (1,))
    elif not once and not is_monotone(relation):
        # Rows that are equal must net in one cell.
        piece = cutter.partitioned(piece, piece.relation.schema)
    cutter.finish(piece)
    fragments = tuple(_guarded(fragment, ruled) for fragment in cutter.fragments)
    return Plan(query, _with_early(fragments, kind, query), kind, once, forgetting)


def _with_early(fragments: tuple[Fragment, ...], kind: StreamKind | None, query: Query) -> tuple[Fragment, ...]:
    """The fragments, of which the last says how results come early, if the query asks for it."""
    if not query.early:
        return fragments
    *before, last = fragments
    how = early(last.root, [route.leaf for route in last.routes], last.guards, kind)
    if before and how.obstacle is None:
        how = Early("its rows are exchanged between fragments")
    return (*before, replace(last, early=how))


def _guarded(fragment: Fragment, ruled: Rulings) -> Fragment:
    """The fragment with guards of its leaves. Their evidence goes to where the rows are of which it speaks."""
    routes, guards = list(fragment.routes), []

    def numbered(route: Route) -> int:
        if route not in routes:
            routes.append(route)
        return routes.index(route)

    for number, route in enumerate(fragment.routes):
        for own in (own for scan, own in ruled if scan is route.leaf):
            evidence = numbered(Route(own.evidence, tuple(_along(each, own) for each in route.dimensions)))
            ticks = None if own.ticks is None else numbered(Route(own.ticks, (None,) * len(route.dimensions)))
            guards.append(Guard(number, own.places, evidence, own.lifespan, own.stops, own.by, ticks))
    return replace(fragment, routes=tuple(routes), guards=tuple(guards))


def _along(dimension: Dimension, ruling: Ruling) -> Dimension:
    """How punctuations go where the rows go that they rule out: to all cells, where they say too little for that."""
    if ruling.by is not None:
        return None  # rows are counted where all of them come
    held: dict[Expr, Expr] = {c: o.expr for c, o in zip(ruling.columns, ruling.evidence.outputs, strict=True)}
    own = [unwidened(expr) for expr in dimension or ()]
    return tuple(held[expr] for expr in own) if own and held.keys() >= set(own) else None

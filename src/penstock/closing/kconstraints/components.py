"""Each stream has a Yes, a No and an Unknown component (6.3); constraints and windows bound them.

A row x of X is Yes when its rows of G_X(Q) are there, No when they never will be, Unknown before that is known. What
must be kept follows from the deadlines of `together`:

- *Unknown* rows wait for the streams of G_X(Q), until the last deadline of these or until a partner leaves its window.
- *Yes* rows wait for all other streams. If there are none, x gives its results as it becomes Yes and is forgotten
  (theorem 6.3.5). The thesis forgets it with windows, too; but then nobody can take its results back when a row leaves
  its window (6.3.2), so it is kept until then unless only insertions are asked for.
- *No* rows answer parents that ask. Nothing but the parents' patience depends on them, so they can always be left out
  (6.3.1). They are kept if parents cannot help themselves and the keys are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from penstock.closing.kconstraints.join_graph import JoinGraph, join_graph
from penstock.closing.kconstraints.lookups import lookups
from penstock.closing.kconstraints.rids import ArrivalGuard
from penstock.closing.kconstraints.streams import ConstrainedJoin
from penstock.closing.kconstraints.together import Deadlines, deadlines, guards, takes_back
from penstock.closing.kconstraints.verdicts import (
    BoundedComponent,
    Component,
    ComponentBound,
    ComponentKind,
    ComponentProof,
    EmptyComponent,
)
from penstock.closing.kconstraints.waits import Fact, Wait, WindowOn, step_within


@dataclass(frozen=True, slots=True)
class Situation:
    """The components of a graph follow from its guards and its deadlines."""

    graph: JoinGraph
    guards: tuple[ArrivalGuard, ...]
    deadlines: Mapping[str, Deadlines]


def situation_of(query: ConstrainedJoin) -> Situation:
    """Derive the join graph of a query, its guards and its deadlines."""
    graph = join_graph(query)
    found = guards(graph)
    return Situation(graph, found, deadlines(graph, found))


def bounded_components(query: ConstrainedJoin) -> Callable[[str], dict[Component, ComponentBound] | None]:
    """Give a function from a stream to the bounds of its components, or to None where one of them is unbounded.

    Bids refer to items, and the item of a bid comes at most 100 items after the bid:

    >>> from penstock.closing.join_predicates import JoinAttribute, JoinEquality
    >>> from penstock.closing.kconstraints.streams import Rids, RowCount, ConstrainedStream
    >>> bid = ConstrainedStream("bid", ("auction",))
    >>> item = ConstrainedStream("item", ("id",), keys=(frozenset({"id"}),))
    >>> in_time = Rids("bid", ("auction",), "item", ("id",), RowCount(100))
    >>> join = JoinEquality(JoinAttribute("bid", "auction"), JoinAttribute("item", "id"))
    >>> components = bounded_components(ConstrainedJoin((bid, item), (join,), (in_time,)))
    >>> for component, bound in components("bid").items():
    ...     print(f"{component.value}: {bound}")
    Unknown: the rows of bid that arrive during 100 rows of item
    Yes: nothing
    No: nothing
    >>> components("item") is None
    True
    """
    situation = situation_of(query)

    def components(stream: str) -> dict[Component, ComponentBound] | None:
        found = {}
        for component, bound_of in _COMPONENTS.items():
            bound = bound_of(situation, stream)
            if bound is None:
                return None
            found[component] = bound
        return found

    return cache(components)


def unknown_component(situation: Situation, name: str) -> ComponentBound | None:
    """Unknown rows wait for the streams of G_S(Q); None if nothing bounds them."""
    due, awaited = situation.deadlines[name], situation.graph.descendants[name]
    if not awaited:
        return EmptyComponent(
            ComponentProof(f"no many-one join leads from {name}, so its rows are Yes as they come (theorem 6.3.1)")
        )
    waits = due.shortest((due.last(awaited), due.expiry()))
    if waits is None:
        return None
    return _bounded(
        due, waits, "RIDS, order or a window ends the wait for rows that are referred to (6.6, 6.8.5, 6.3.2)"
    )


def yes_component(situation: Situation, name: str) -> ComponentBound | None:
    """Yes rows wait for the streams outside G_S(Q), or until their results are deleted; None if nothing bounds them."""
    graph, awaited = situation.graph, awaited_by_yes(situation.graph, name)
    if not awaited and not takes_back(graph):
        return EmptyComponent(
            ComponentProof(
                f"{name} covers the join graph, so its rows give their results as they become Yes (theorem 6.3.5)"
            )
        )
    found = [
        _bounded(one, waits, _YES_RULE)
        for one in (situation.deadlines[twin] for twin in twins(graph, name))
        if (waits := yes_waits(graph, one, awaited)) is not None
    ]
    return min(found, key=_preference, default=None)


def no_component(situation: Situation, name: str) -> ComponentBound:
    """The No component holds keys of rows that parents need not wait for."""
    graph, due = situation.graph, situation.deadlines[name]
    parents = graph.parents[name]
    if not parents:
        return EmptyComponent(ComponentProof(f"no stream refers to {name} (6.3.1)"))
    if all(name in situation.deadlines[parent] for parent in parents):
        facts = tuple(fact for parent in parents for fact in situation.deadlines[parent].waits[name].leans_on)
        return EmptyComponent(
            ComponentProof("RIDS or order tells parents that nothing more comes (6.6.1, 6.8.5)", _once(facts))
        )
    if not _can_fail(situation, name):
        return EmptyComponent(
            ComponentProof(f"a row of {name} never turns out not to join: no filter, window or missing row comes in")
        )
    waits = no_waits(situation, name)
    if waits is None:
        return EmptyComponent(
            ComponentProof("No rows can be left out: parents that refer to them stay Unknown for longer (6.3.1)")
        )
    return _bounded(
        due, waits, "a key is kept until no more parents come, or until it leaves its window (6.7.1, 6.3.2)"
    )


#: The cheapest to derive come first.
_COMPONENTS: Mapping[Component, Callable[[Situation, str], ComponentBound | None]] = {
    Component.UNKNOWN: unknown_component,
    Component.YES: yes_component,
    Component.NO: no_component,
}


def awaited_by_yes(graph: JoinGraph, name: str) -> tuple[str, ...]:
    """Yes rows of S wait for the streams outside G_S(Q)."""
    return tuple(other for other in graph.names if other != name and other not in graph.descendants[name])


def no_waits(situation: Situation, name: str) -> tuple[Wait, ...] | None:
    """After these waits no more parents of a key arrive, or the key has left its window."""
    due = situation.deadlines[name]
    window = situation.graph.stream(name).window
    own = None if window is None else (Wait().then(step_within(name, window), WindowOn(name, window)),)
    return due.shortest((due.last(situation.graph.parents[name]), own))


_YES_RULE = "RIDS or order ends the wait for rows that join, and a window ends all results of its rows (6.7.1, 6.3.2)"


def yes_waits(graph: JoinGraph, due: Deadlines, awaited: Iterable[str]) -> tuple[Wait, ...] | None:
    """After these waits rows have had all results with the awaited streams, and none of these is left to be deleted."""
    return due.expiry() if takes_back(graph) else due.shortest((due.last(awaited), due.expiry()))


def twins(graph: JoinGraph, name: str) -> Iterable[str]:
    """A Yes row has its own row in each stream that is joined one-one with its stream, directly or along a cycle."""
    return (name, *(other for other in graph.descendants[name] if name in graph.descendants[other]))


def _can_fail(situation: Situation, name: str) -> bool:
    """Say whether a row may become No: by a filter, a window, a missing row, or rows that do not fit each other."""
    graph = situation.graph
    reached = (name, *graph.descendants[name])
    streams = [graph.stream(one) for one in reached]
    overdue = any(child in situation.deadlines[one] for one in reached for child in graph.children[one])
    misfit = any(lookup.checks for lookup in lookups(graph, name))
    return overdue or misfit or any(stream.filtered or stream.window is not None for stream in streams)


def _bounded(due: Deadlines, waits: tuple[Wait, ...], rule: str) -> ComponentBound:
    proof = ComponentProof(rule, _once(fact for wait in waits for fact in wait.leans_on))
    if all(wait.is_nothing for wait in waits):
        return EmptyComponent(proof)
    if any(wait.is_open for wait in waits):
        kind = ComponentKind.OPEN
    elif len(waits) == 1 and waits[0].is_window:
        kind = ComponentKind.WINDOW
    else:
        kind = ComponentKind.K
    return BoundedComponent(kind, due.stream.name, waits, due.rows(waits), proof)


_RANKS = {kind: rank for rank, kind in enumerate(ComponentKind)}


def _preference(bound: ComponentBound) -> tuple[bool, bool, int, int]:
    """An empty component is best, then a wait that ends by itself, then a known number of rows, then a smaller one."""
    if not isinstance(bound, BoundedComponent):
        return (False, False, 0, 0)
    return bound.kind is ComponentKind.OPEN, bound.number is None, bound.number or 0, _RANKS[bound.kind]


def _once(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(dict.fromkeys(facts))

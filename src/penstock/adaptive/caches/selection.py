"""Offline cache selection (thesis 5.5.4): which candidates that do not overlap save most, given what each does.

The value of a choice is the sum of its caches' benefits, less the cost of each of its stores, once. Without sharing the
best choice is found in linear time, tree by tree (theorem 5.5.1). With it the problem is NP-hard; then all choices are
tried where there are few, and else a greedy algorithm is at most O(log n) away in what is spent (theorem 5.5.3). Caches
that are globally consistent may overlap without being nested: they are considered where all choices are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.adaptive.caches.cost_model import Estimate
from penstock.adaptive.caches.hierarchy import Tree, forest, sharing
from penstock.plan.caches import Cache

Estimates = Mapping[Cache, Estimate]
Selected = frozenset[Cache]
#: An operator: the stage of a pipeline.
Stage = tuple[int, int]

#: Of so many candidates all choices are tried; joins of six inputs rarely have more.
MOST_CANDIDATES = 12
NOTHING: Selected = frozenset()


def selected(estimates: Estimates) -> Selected:
    """The candidates to use."""
    if any(cache.semijoined for cache in estimates):
        return exhaustive(estimates) if len(estimates) <= MOST_CANDIDATES else selected(_prefix_only(estimates))
    if all(len(group) == 1 for group in sharing(estimates).values()):
        return optimal(estimates)
    return exhaustive(estimates) if len(estimates) <= MOST_CANDIDATES else greedy(estimates)


def _prefix_only(estimates: Estimates) -> Estimates:
    return {cache: own for cache, own in estimates.items() if not cache.semijoined}


def value(chosen: Iterable[Cache], estimates: Estimates) -> float:
    """What a choice saves: benefits, and the cost of each store once."""
    groups = sharing(chosen)
    benefits = sum(estimates[cache].benefit for group in groups.values() for cache in group)
    return benefits - sum(max(estimates[cache].cost for cache in group) for group in groups.values())


def optimal(estimates: Estimates) -> Selected:
    """The best choice where no two candidates share a store (theorem 5.5.1): a tree's is its root, or its parts'."""

    def best(tree: Tree) -> tuple[float, Selected]:
        below = [best(child) for child in tree.children]
        parts = sum(saved for saved, _ in below)
        own = estimates[tree.cache].net
        if own > max(parts, 0.0):
            return own, frozenset({tree.cache})
        return parts, NOTHING.union(*(chosen for _, chosen in below))

    return NOTHING.union(*(best(tree)[1] for tree in forest(tuple(estimates))))


def exhaustive(estimates: Estimates) -> Selected:
    """The best of all choices without overlaps."""
    return max(_choices(tuple(estimates)), key=lambda chosen: value(chosen, estimates))


def _choices(candidates: Sequence[Cache]) -> Iterator[Selected]:
    """All sets of candidates of which no two overlap, the empty one first."""
    if not candidates:
        yield NOTHING
        return
    *others, last = candidates
    for chosen in _choices(others):
        yield chosen
        if not any(last.overlaps(cache) for cache in chosen):
            yield chosen | {last}


def spent(chosen: Iterable[Cache], estimates: Estimates, operators: Mapping[Stage, float]) -> float:
    """Σ proc + cost (5.5.4): of caches that are used, and of the operators that none of them covers."""
    groups = sharing(chosen)
    caches = [cache for group in groups.values() for cache in group]
    covered = {(cache.pipeline, depth) for cache in caches for depth in cache.stages}
    stores = sum(max(estimates[cache].cost for cache in group) for group in groups.values())
    plain = sum(time for stage, time in operators.items() if stage not in covered)
    return stores + sum(estimates[cache].processing for cache in caches) + plain


def greedy(estimates: Estimates, operators: Mapping[Stage, float] | None = None) -> Selected:
    """A choice that spends at most O(log n) times as much as the best one (theorem 5.5.3).

    It is the greedy cover of weighted sets: all operators are covered, by themselves or by caches, and each time by
    that group of a store's caches which spends least for each operator that was not covered. A cache that lies within
    a later one is left out, which spends less. If it is no better than no cache at all, there is none.

    Without `operators`, what a segment takes without its cache is spread over its stages.
    """
    alone = dict(operators) if operators is not None else _spread(estimates)
    covered: set[Stage] = set()
    chosen: list[Cache] = []
    open_stores = set(sharing(estimates))
    while len(covered) < len(alone):
        best = min((time for stage, time in alone.items() if stage not in covered), default=0.0)
        group: tuple[Cache, ...] = ()
        for store in open_stores:
            density, caches = _densest(sharing(estimates)[store], estimates, covered)
            if caches and density < best:
                best, group = density, caches
        if group:
            chosen += group
            covered |= {(cache.pipeline, depth) for cache in group for depth in cache.stages}
        else:
            covered.add(min((stage for stage in alone if stage not in covered), key=alone.__getitem__))
    outer = frozenset(c for c in chosen if not any(c != other and c.within(other) for other in chosen))
    useful = _without_losses(outer, estimates)
    return useful if value(useful, estimates) > 0 else NOTHING


def _densest(group: Sequence[Cache], estimates: Estimates, covered: set[Stage]) -> tuple[float, tuple[Cache, ...]]:
    """Those of a store's caches that spend least for each operator which is not covered: a prefix by that ratio."""
    new = {cache: sum((cache.pipeline, depth) not in covered for depth in cache.stages) for cache in group}
    useful = sorted((c for c in group if new[c]), key=lambda c: estimates[c].processing / new[c])
    best, chosen = float("inf"), tuple[Cache, ...]()
    time, count = max((estimates[cache].cost for cache in group), default=0.0), 0
    for number, cache in enumerate(useful, start=1):
        time, count = time + estimates[cache].processing, count + new[cache]
        if time / count < best:
            best, chosen = time / count, tuple(useful[:number])
    return best, chosen


def _without_losses(chosen: Selected, estimates: Estimates) -> Selected:
    """The choice without stores that save less than they cost."""
    groups = sharing(chosen).values()
    return NOTHING.union(*(group for group in groups if value(group, estimates) > 0))


def _spread(estimates: Estimates) -> dict[Stage, float]:
    """The time of each operator: that of the smallest segment around it, in equal parts."""
    alone: dict[Stage, float] = {}
    for cache in sorted(estimates, key=lambda cache: -len(cache.stages)):
        time = (estimates[cache].benefit + estimates[cache].processing) / len(cache.stages)
        alone |= {(cache.pipeline, depth): time for depth in cache.stages}
    return alone

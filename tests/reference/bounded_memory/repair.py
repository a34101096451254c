"""What would make a query bounded: the smallest sets of bounds on its attributes, with DISTINCT or without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from penstock.register.arithmetic.closure import Closure, close, closed
from penstock.register.arithmetic.folding import fold
from penstock.register.arithmetic.judge import findings
from penstock.register.arithmetic.judgement import BoundSide, Failure, Missing
from penstock.register.arithmetic.query import Comparison, ConjunctiveQuery, Domain, Op
from penstock.register.arithmetic.solution import Solution, solve
from penstock.register.arithmetic.witness import decode

#: More bounds than these nobody wants to be told.
BOUNDS = 4

#: How many sets of bounds are tried, at most, and how many entries of matrices are looked at for them.
PATIENCE, ENTRIES = 2_000, 400_000


@dataclass(frozen=True, slots=True)
class Repair:
    """Bounds to add, all of them, perhaps with DISTINCT, to make the query bounded. No smaller set of them would."""

    bounds: frozenset[Missing]
    distinct: bool = False


def repairs(query: ConjunctiveQuery) -> tuple[Repair, ...]:
    """Every smallest set of bounds that makes the query bounded, perhaps with DISTINCT; those with fewest bounds first.

    A bound is to be read as "by some constant". One for each side of a dense attribute, or of one without an order,
    means that it is to be equal to a constant.

    >>> from penstock.register.arithmetic import ComparedAttribute
    >>> a, b, d = ComparedAttribute("S", "a"), ComparedAttribute("S", "b"), ComparedAttribute("T", "d")
    >>> conditions = [Comparison(10, Op.LT, a), Comparison(a, Op.LT, 20), Comparison(b, Op.LT, d)]
    >>> for repair in repairs(ConjunctiveQuery.over("ST", conditions, [a], distinct=False)):
    ...     print(sorted(f"{bound.attribute} {bound.side.value}" for bound in repair.bounds), repair.distinct)
    [] True
    ['S.b above', 'S.b below'] False
    ['S.b above', 'T.d below'] False
    ['S.b below', 'T.d above'] False
    ['T.d above', 'T.d below'] False
    """
    if _failure(query) is None:
        return ()
    found = [Repair(bounds) for bounds in _sets(query)]
    if not query.distinct:
        alone = [repair.bounds for repair in found]
        sets = _sets(replace(query, distinct=True))
        found += [Repair(bounds, distinct=True) for bounds in sets if not any(less <= bounds for less in alone)]
    return tuple(sorted(found, key=lambda repair: (len(repair.bounds), not repair.distinct)))


def _sets(query: ConjunctiveQuery) -> list[frozenset[Missing]]:
    """Smaller sets first: one that fails for some reason is extended by each bound that is missing for that reason."""
    waiting: list[frozenset[Missing]] = [frozenset()]
    seen: set[frozenset[Missing]] = set()
    found: list[frozenset[Missing]] = []
    patience = min(PATIENCE, ENTRIES // (len(query.attributes) + 1) ** 2)
    while waiting and len(seen) < patience:
        bounds = min(waiting, key=len)
        waiting.remove(bounds)
        if bounds in seen or any(smaller <= bounds for smaller in found):
            continue
        seen.add(bounds)
        failure = _failure(bound(query, bounds))
        if failure is not None:
            waiting.extend(more for more in _extended(bounds, failure) if len(more) <= BOUNDS and more not in seen)
        elif not any(_failure(bound(query, bounds - less)) is None for less in _units(bounds)):
            found.append(bounds)
    return sorted(found, key=lambda bounds: (len(bounds), sorted(f"{one.attribute} {one.side}" for one in bounds)))


def _failure(query: ConjunctiveQuery) -> Failure | None:
    query, _ = fold(query)
    closure = close(query)
    finding = None if closure is None else next(findings(query, closure), None)
    return None if finding is None else finding.failure


def _extended(bounds: frozenset[Missing], failure: Failure) -> Iterator[frozenset[Missing]]:
    """With one more bound on an attribute that the failure speaks of, on whichever side: another may follow from it."""
    attributes = dict.fromkeys(missing.attribute for missing in failure.missing)
    attributes |= dict.fromkeys(a for condition in failure.conditions for a in sorted(condition.attributes))
    for attribute in attributes:
        both = frozenset(Missing(attribute, side) for side in BoundSide)
        if attribute.domain is Domain.INTEGER:
            yield from (bounds | {one} for one in both - bounds)
        else:
            yield bounds | both


def _units(bounds: frozenset[Missing]) -> Iterator[frozenset[Missing]]:
    """The bounds that can be left out by themselves: one, or both of an attribute that is to be equal to a constant."""
    for one in bounds:
        whole = one.attribute.domain is Domain.INTEGER
        yield frozenset({one}) if whole else frozenset(Missing(one.attribute, side) for side in BoundSide)


def bound(query: ConjunctiveQuery, bounds: frozenset[Missing]) -> ConjunctiveQuery:
    """The query with bounds added, by constants that contradict nothing."""
    closure = close(query)
    matrix = None if closure is None else closed(len(closure.matrix), closure.limits())
    if closure is None or matrix is None or not bounds:
        return query
    values = solve(matrix, closure.aparts, closure.steps, closure.one) or solve(matrix, (), closure.steps, closure.one)
    assert values is not None, "a closed matrix has a solution"
    most = 1 + max(abs(ceil(closure.number(value))) for value in values.values())
    added = [_bound(closure, values, missing, most) for missing in sorted(bounds, key=str)]
    return replace(query, conditions=(*query.conditions, *added))


def _bound(closure: Closure, values: Solution, missing: Missing, most: int) -> Comparison:
    attribute, node = missing.attribute, closure.node(missing.attribute)
    if attribute.domain is not Domain.INTEGER:
        return Comparison(attribute, Op.EQ, decode(closure, node, values[node]))
    return (
        Comparison(attribute, Op.LE, most) if missing.side is BoundSide.ABOVE else Comparison(-most, Op.LE, attribute)
    )

"""The smallest sets that suffice, cheapest first: minimal hitting sets of conflicts that are found as one goes.

Of a monotone property (more never suffices less) a *conflict* is a set of which every sufficient set has a member. The
minimal sufficient sets are just the minimal hitting sets of all conflicts (Reiter 1987; MARCO, Liffiton 2016). Few of
them are ever needed: the cheapest set that hits those known so far is tried; if it does not suffice, it misses another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")

#: How many partial sets are examined for each item: where conflicts overlap, as in a ring, there may be too many.
_PATIENCE = 8

Suffices: TypeAlias = Callable[[frozenset[T]], bool]
#: Finds conflicts that a set misses; none, where that is not known.
Missed: TypeAlias = Callable[[frozenset[T]], Iterable[frozenset[T]]]


class Exhausted(Exception):
    """There is no more effort to spend. Who is asked whether a set suffices may say so, too."""


@dataclass(frozen=True, slots=True)
class Sets(Generic[T]):
    """Minimal sets, cheapest first; all that there are, if `complete`."""

    found: tuple[frozenset[T], ...]
    complete: bool


def cheapest_sets(
    costs: Mapping[T, int], suffices: Suffices[T], most: int, missed_by: Missed[T] = lambda _: ()
) -> Sets[T]:
    """Up to `most` minimal sufficient sets.

    >>> needed = [{"a", "b"}, {"b", "c"}]
    >>> enough = lambda chosen: all(chosen & each for each in needed)
    >>> [sorted(each) for each in cheapest_sets({"a": 1, "b": 3, "c": 1}, enough, 9).found]
    [['a', 'c'], ['b']]
    """
    pool = frozenset(costs)
    found: list[frozenset[T]] = []
    hitting = _HittingSets(costs)
    try:
        if not suffices(pool):
            return Sets((), complete=True)
        for chosen in hitting.cheapest():
            if any(one <= chosen for one in found):
                hitting.drop()
            elif suffices(chosen):
                if len(found) == most:
                    return Sets(tuple(found), complete=False)
                found.append(chosen)
                hitting.drop()
            else:
                missed = list(missed_by(chosen))
                if not missed:
                    grown: frozenset[T] = _grown(chosen, list(costs), suffices)
                    missed = [pool - grown]
                hitting.conflicts += missed
    except Exhausted:
        return Sets(tuple(found), complete=False)
    return Sets(tuple(found), complete=True)


def shrunk(items: Iterable[T], suffices: Suffices[T]) -> frozenset[T]:
    """One minimal sufficient set of a sufficient one: what comes last is spared first, in halves while that works."""
    kept = list(items)[::-1]
    size = max(1, len(kept) // 2)
    while size:
        start, before = 0, len(kept)
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            if suffices(frozenset(rest)):
                kept = rest
            else:
                start += size
        size = size // 2 if len(kept) < before else min(1, size - 1)
    return frozenset(kept)


def _grown(chosen: frozenset[T], pool: list[T], suffices: Suffices[T]) -> frozenset[T]:
    """A largest set with these that does not suffice: members are added many at a time while that works."""
    waiting = [[item for item in pool if item not in chosen]]
    while waiting:
        some = waiting.pop()
        if not suffices(chosen.union(some)):
            chosen = chosen.union(some)
        elif len(some) > 1:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return chosen


class _HittingSets(Generic[T]):
    """The sets that hit all conflicts, cheapest first, each once: best first over partial sets.

    A partial set is worth at least its cost and that of one more member for each of some disjoint conflicts that it
    misses. Where it branches on a conflict, a branch leaves out the members that earlier branches took.
    """

    def __init__(self, costs: Mapping[T, int]) -> None:
        self.conflicts: list[frozenset[T]] = []
        self._costs = costs
        self._rank = {member: number for number, member in enumerate(costs)}
        #: Of equals the last one first, so that one of them is finished before others are begun.
        self._ties = count(0, -1)
        self._queue: list[tuple[int, int, frozenset[T], frozenset[T]]] = []
        self._push(frozenset(), frozenset())

    def cheapest(self) -> Iterator[frozenset[T]]:
        """Each set comes again until it is dropped, or misses a conflict that was added."""
        for _ in range(_PATIENCE * len(self._costs) + 1):
            if not self._queue:
                return
            worth, _, chosen, left_out = self._queue[0]
            missed = self._missed(chosen)
            if missed is None:
                yield chosen
                continue
            heappop(self._queue)
            least = self._least(chosen, left_out)
            if least is None or least > worth:
                self._push(chosen, left_out)
                continue
            taken = left_out
            for member in sorted(missed - left_out, key=self._rank.__getitem__):
                self._push(chosen | {member}, taken)
                taken |= {member}
        raise Exhausted

    def drop(self) -> None:
        heappop(self._queue)

    def _push(self, chosen: frozenset[T], left_out: frozenset[T]) -> None:
        least = self._least(chosen, left_out)
        if least is not None:
            heappush(self._queue, (least, next(self._ties), chosen, left_out))

    def _missed(self, chosen: frozenset[T]) -> frozenset[T] | None:
        return next((conflict for conflict in self.conflicts if not conflict & chosen), None)

    def _least(self, chosen: frozenset[T], left_out: frozenset[T]) -> int | None:
        """What a set with these members and without those costs at least; None if there is none."""
        total = sum(self._costs[member] for member in chosen)
        counted: set[T] = set()
        for conflict in self.conflicts:
            if conflict.isdisjoint(chosen):
                open_ = conflict - left_out
                if not open_:
                    return None
                if counted.isdisjoint(conflict):
                    counted |= conflict
                    total += min(self._costs[member] for member in open_)
        return total

"""The cheapest probe path by how many combinations each set of inputs has, and the greedy one.

A path goes from the empty set to that of all other inputs, one input at a time. Each combination of a set on the way
is found once, and probes the next input once. So the cost of a path is that of its sets: the cheapest path is the
shortest one through the sets, and counts what a probe expands as well as what it drops. Thesis 5.2 counts drops alone.
A probe walks over rows that it does not see: those of the same part that come later, or are gone. Of an input with many
arrivals these are many, so that probing it is dear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from penstock.plan.join_sets import may_follow

Order = tuple[int, ...]

#: What things cost, in probes: to take an event in, a row that a probe walks over, a match, a result.
EVENT, WALKED, MATCH, RESULT = 2.0, 0.3, 0.5, 2.0
#: What it costs to keep a row in one more index, and to put it there when the index is built.
KEPT, BUILT = 1.5, 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of events of one input: how many combinations they have with each set of others, and how far probes walk."""

    #: By set of other inputs, as bits.
    combinations: Mapping[int, float]
    #: By input, the rows that a probe walks over.
    walks: tuple[float, ...]

    def probe(self, target: int) -> float:
        """What it costs to probe an input."""
        return 1.0 + WALKED * self.walks[target]

    def step(self, members: int, target: int) -> float:
        """What it costs to go on from all combinations of a set by an input."""
        before = self.combinations[members] if members else 1.0
        return before * self.probe(target) + MATCH * self.combinations[members | 1 << target]

    def knows(self, order: Order) -> bool:
        """Whether it has all sets along an order."""
        return all(members in self.combinations for members in sets_along(order)[1:])


def sets_along(order: Order) -> tuple[int, ...]:
    """The sets along an order, from the empty one to that of all inputs.

    >>> sets_along((2, 0, 1))
    (0, 4, 5, 7)
    """
    found = [0]
    for target in order:
        found.append(found[-1] | 1 << target)
    return tuple(found)


def path_cost(order: Order, sizes: Sizes) -> float:
    """What an event costs along a path, in probes.

    >>> sizes = Sizes({0b010: 3.0, 0b100: 0.5, 0b110: 1.0}, (0, 0, 0))
    >>> path_cost((1, 2), sizes), path_cost((2, 1), sizes)
    (10.0, 6.25)
    """
    along = sets_along(order)
    steps = (sizes.step(members, target) for members, target in zip(along, order, strict=False))
    return EVENT + sum(steps) + RESULT * sizes.combinations[along[-1]]


def weights(order: Order, sizes: Sizes) -> dict[int, float]:
    """What each combination of a set on the way costs, and under 0 what every event does, without its results.

    >>> weights((2, 1), Sizes({0b010: 3.0, 0b100: 0.5, 0b110: 1.0}, (0, 0, 0)))
    {0: 1.0, 4: 1.5}
    """
    along = zip(sets_along(order), order, strict=False)
    return {members: sizes.probe(target) + (MATCH if members else 0.0) for members, target in along}


@cache
def _ways(start: int, own: tuple[frozenset[int], ...]) -> tuple[tuple[int, int, int], ...]:
    """All (set, input, larger set) by which paths go, smaller sets first."""
    ways, level = [], {0}
    while level:
        here = [(members, target) for members in sorted(level) for target in may_follow(members | 1 << start, own)]
        ways += [(members, target, members | 1 << target) for members, target in here]
        level = {members | 1 << target for members, target in here}
    return tuple(ways)


def cheapest_order(start: int, own: tuple[frozenset[int], ...], sizes: Sizes) -> Order:
    """The order of the cheapest path of an input's rows, by the variables that inputs have.

    >>> star = (frozenset({1, 2}), frozenset({1}), frozenset({2}))
    >>> cheapest_order(0, star, Sizes({0b010: 3.0, 0b100: 0.5, 0b110: 1.0}, (0, 0, 0)))
    (2, 1)
    """
    best: dict[int, tuple[float, Order]] = {0: (0.0, ())}
    for members, target, larger in _ways(start, own):
        cost, order = best[members]
        found = (cost + sizes.step(members, target), (*order, target))
        if larger not in best or found < best[larger]:
            best[larger] = found
    return best[max(best)][1]


def greedy_order(start: int, own: Sequence[frozenset[int]], sizes: Sizes) -> Order:
    """The order in which each probe leaves the fewest combinations: A-Greedy's invariant (4.2) with expansions.

    >>> star = [frozenset({1, 2}), frozenset({1}), frozenset({2})]
    >>> greedy_order(0, star, Sizes({0b010: 3.0, 0b100: 0.5, 0b110: 1.0}, (0, 0, 0)))
    (2, 1)
    """
    order: Order = ()
    members = 0
    while len(order) < len(own) - 1:
        target = min(may_follow(members | 1 << start, own), key=lambda t: sizes.combinations[members | 1 << t])
        members |= 1 << target
        order = (*order, target)
    return order


def moved_forward(start: int, own: Sequence[frozenset[int]], sizes: Sizes, order: Order) -> Order:
    """The order with the first violation of that invariant repaired, where only sets beside the order are known.

    >>> star = [frozenset({1, 2, 3}), frozenset({1}), frozenset({2}), frozenset({3})]
    >>> moved_forward(0, star, Sizes({0b0010: 3.0, 0b0100: 2.0, 0b1000: 0.5}, (0, 0, 0, 0)), (1, 2, 3))
    (3, 1, 2)
    """
    members = 0
    for depth, current in enumerate(order[:-1]):
        target = min(may_follow(members | 1 << start, own), key=lambda t: sizes.combinations[members | 1 << t])
        if sizes.combinations[members | 1 << target] < sizes.combinations[members | 1 << current]:
            return (*order[:depth], target, *(t for t in order[depth:] if t != target))
        members |= 1 << current
    return order


def probed_by(start: int, own: Sequence[frozenset[int]], order: Order) -> frozenset[tuple[int, frozenset[int]]]:
    """The inputs that a path probes, each with the variables that are bound then: the indexes that it needs.

    >>> sorted((target, sorted(by)) for target, by in probed_by(0, [frozenset({1}), frozenset({1, 2})], (1,)))
    [(1, [1])]
    """
    known = own[start]
    found = []
    for target in order:
        found.append((target, own[target] & known))
        known |= own[target]
    return frozenset(found)

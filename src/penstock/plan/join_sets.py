"""Sets of inputs that the rows of one input are joined with, on the way along some probe path.

    hub with a, b          ∅ ─▶ {a} ─▶ {a, b}        a path goes from set to set, by one input each;
                             └▶ {b} ─▶ {a, b}        it costs what all its sets have of combinations

How many combinations a set has does not depend on the order in which it was reached. So what is to be known for all
paths is one number for each set, and each set is counted along one way only: the sets are nodes of a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.plan.probe_paths import Variables

#: Joins of more inputs have too many sets: of those only the ones along the current order, and one input off it.
MOST_INPUTS = 7


@dataclass(frozen=True, slots=True)
class SetNode:
    """A set, and the probe by which it is reached from a smaller one."""

    #: The inputs, as bits. The one whose rows arrive is not among them.
    members: int
    #: The number of the smaller set; -1 if it is empty.
    parent: int
    target: int
    #: The join variables that are bound when `target` is probed.
    variables: tuple[int, ...]


#: How well an input can be probed by some variables; the more the better.
Probing = Callable[[int, tuple[int, ...]], int]


def variable_sets(variables: Sequence[Variables]) -> list[frozenset[int]]:
    """Of each input the variables that it has."""
    return [frozenset(v for v, column in enumerate(own) if column is not None) for own in variables]


def may_follow(bound: int, own: Sequence[frozenset[int]]) -> list[int]:
    """The inputs that may be probed next: those that share a variable with what is bound, or else all.

    >>> own = [frozenset({0, 1}), frozenset({0}), frozenset({1, 2}), frozenset({2})]
    >>> may_follow(0b0001, own), may_follow(0b0101, own), may_follow(0b0010, own[:2] + [frozenset({5})])
    ([1, 2], [1, 3], [0])
    """
    known = frozenset[int]().union(*(own[n] for n in range(len(own)) if bound >> n & 1))
    left = [n for n in range(len(own)) if not bound >> n & 1]
    return [n for n in left if own[n] & known] or left


def set_tree(
    start: int, own: Sequence[frozenset[int]], order: Sequence[int], probing: Probing = lambda target, shared: 0
) -> tuple[SetNode, ...]:
    """The sets on the way of an input's rows, smaller ones first, each reached by the best probe.

    `order` is the one in which the input's rows probe now.

    >>> for node in set_tree(0, [frozenset({0, 1}), frozenset({0}), frozenset({1})], (1, 2)):
    ...     print(f"{node.members:03b}", node.parent, node.target, node.variables)
    010 -1 1 (0,)
    100 -1 2 (1,)
    110 0 2 (1,)
    """
    nodes: list[SetNode] = []
    before: dict[int, int] = {0: -1}
    for size in range(1, len(own)):
        found: dict[int, SetNode] = {}
        for members, parent in _expanded(before, order, size, len(own)):
            bound = members | 1 << start
            known = frozenset[int]().union(*(own[n] for n in range(len(own)) if bound >> n & 1))
            for target in may_follow(bound, own):
                node = SetNode(members | 1 << target, parent, target, tuple(sorted(own[target] & known)))
                other = found.get(node.members)
                if other is None or probing(target, node.variables) > probing(other.target, other.variables):
                    found[node.members] = node
        before = {members: len(nodes) + number for number, members in enumerate(found)}
        nodes += found.values()
    return tuple(nodes)


def _expanded(before: dict[int, int], order: Sequence[int], size: int, inputs: int) -> Iterable[tuple[int, int]]:
    """The sets of one size that larger ones are made of."""
    if inputs <= MOST_INPUTS:
        return before.items()
    prefix = sum(1 << n for n in order[: size - 1])
    return [(prefix, before[prefix])]

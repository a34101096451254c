"""Ordered multisets for MIN and MAX: treaps (Seidel, Aragon 1996) that share one table of nodes.

A treap is a search tree by value and a heap by priority; with random priorities its depth is O(log n) whatever the
order of the changes. The priority of a node is the hash of its slot, so none is stored. A multiset is its root; nodes
of one that is emptied serve the others. Values are compared as integers, or, if `ranked`, through an array of ranks:
ranks may be dealt anew as long as values that are there keep their order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import slots
from penstock.kernels.hashing import word_hash
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

LEFT, RIGHT, VALUE, COUNT = 0, 1, 2, 3
WIDTH = 4

_LARGEST = 0x7FFF_FFFF_FFFF_FFFF


@lean
def change(tree: Ints, root: int, value: int, weight: int, ranks: Ints, ranked: bool) -> int:
    """Adds `weight` copies of a value, and gives the new root. Counts may dip below zero inside one instant."""
    key = ranks[value] if ranked else value
    # Slot 0, which is no node, stands in for the parent of the root.
    tree[0, LEFT] = root
    parent, side = 0, LEFT
    node = root
    while node != 0 and tree[node, VALUE] != value:
        parent = node
        side = RIGHT if _key(tree, node, ranks, ranked) < key else LEFT
        node = tree[node, side]
    if node == 0:
        _insert(tree, slots.take(tree), key, value, weight, ranks, ranked)
    else:
        tree[node, COUNT] += weight
        if tree[node, COUNT] == 0:
            _join(tree, parent, side, tree[node, LEFT], tree[node, RIGHT])
            slots.give(tree, node)
    root = tree[0, LEFT]
    tree[0, LEFT] = 0
    return root


@lean
def least(tree: Ints, root: int) -> int:
    """The smallest value of a multiset that is not empty."""
    while tree[root, LEFT] != 0:
        root = tree[root, LEFT]
    return tree[root, VALUE]  # type: ignore[no-any-return]


@lean
def greatest(tree: Ints, root: int) -> int:
    while tree[root, RIGHT] != 0:
        root = tree[root, RIGHT]
    return tree[root, VALUE]  # type: ignore[no-any-return]


@lean
def drop(tree: Ints, root: int) -> None:
    """Gives back all nodes of a multiset: each left child is turned up, until there is none."""
    while root != 0:
        left = tree[root, LEFT]
        if left != 0:
            tree[root, LEFT] = tree[left, RIGHT]
            tree[left, RIGHT] = root
            root = left
        else:
            right = tree[root, RIGHT]
            slots.give(tree, root)
            root = right


@lean
def double_order(bits: int) -> int:
    """The bits of a DOUBLE as an integer in the order of DOUBLEs, and back again: it is its own inverse.

    Negative numbers have their magnitude's bits turned round. The canonical NaN is positive, so it comes out on top.
    """
    return bits if bits >= 0 else bits ^ _LARGEST


@lean
def _key(tree: Ints, node: int, ranks: Ints, ranked: bool) -> int:
    value = tree[node, VALUE]
    return ranks[value] if ranked else value  # type: ignore[no-any-return]


@lean
def _insert(tree: Ints, new: int, key: int, value: int, weight: int, ranks: Ints, ranked: bool) -> None:
    """Puts a node where its priority wants it; the subtree that was there is split by its key below it."""
    tree[new, VALUE] = value
    tree[new, COUNT] = weight
    priority = word_hash(new)
    parent, side = 0, LEFT
    node = tree[0, LEFT]
    while node != 0 and word_hash(node) > priority:
        parent = node
        side = RIGHT if _key(tree, node, ranks, ranked) < key else LEFT
        node = tree[node, side]
    tree[parent, side] = new
    low, low_side = new, LEFT
    high, high_side = new, RIGHT
    while node != 0:
        if _key(tree, node, ranks, ranked) < key:
            tree[low, low_side] = node
            low, low_side = node, RIGHT
            node = tree[node, RIGHT]
        else:
            tree[high, high_side] = node
            high, high_side = node, LEFT
            node = tree[node, LEFT]
    tree[low, low_side] = 0
    tree[high, high_side] = 0


@lean
def _join(tree: Ints, parent: int, side: int, low: int, high: int) -> None:
    """Hangs two treaps, all of one before all of the other, below a parent as one."""
    while low != 0 and high != 0:
        if word_hash(low) > word_hash(high):
            tree[parent, side] = low
            parent, side = low, RIGHT
            low = tree[low, RIGHT]
        else:
            tree[parent, side] = high
            parent, side = high, LEFT
            high = tree[high, LEFT]
    tree[parent, side] = low if low != 0 else high

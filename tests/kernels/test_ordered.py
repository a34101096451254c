"""Treaps against sorted lists."""

import math
import struct
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import ordered, slots
from tests.reference.values import less
from tests.seeds import CHEAP

NO_RANKS = np.zeros(0, np.int64)


@CHEAP
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-20, 20), st.integers(-2, 2).filter(bool)), max_size=80))
def test_the_ends_are_the_least_and_greatest_whatever_comes_and_goes(changes: list[tuple[int, int, int]]) -> None:
    tree = np.zeros((100, ordered.WIDTH), np.int64)
    roots, models = [0, 0], [Counter[int](), Counter[int]()]
    for which, value, weight in changes:
        roots[which] = ordered.change(tree, roots[which], value, weight, NO_RANKS, False)
        models[which][value] += weight
        for root, model in zip(roots, models, strict=True):
            there = [value for value, count in model.items() if count != 0]
            assert (root == 0) == (not there)
            if there:
                assert ordered.least(tree, root) == min(there)
                assert ordered.greatest(tree, root) == max(there)
        assert slots.in_use(tree) == sum(count != 0 for model in models for count in model.values())


@CHEAP
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-20, 20)), max_size=60))
def test_a_multiset_that_is_dropped_leaves_the_others(values: list[tuple[int, int]]) -> None:
    tree = np.zeros((100, ordered.WIDTH), np.int64)
    roots = [0, 0]
    for which, value in values:
        roots[which] = ordered.change(tree, roots[which], value, 1, NO_RANKS, False)
    ordered.drop(tree, roots[0])
    left = {value for which, value in values if which == 1}
    assert slots.in_use(tree) == len(left)
    if left:
        assert (ordered.least(tree, roots[1]), ordered.greatest(tree, roots[1])) == (min(left), max(left))


@CHEAP
@given(st.permutations(range(12)), st.permutations(range(12)))
def test_ranked_values_may_be_ranked_anew(values: list[int], words: list[int]) -> None:
    """The first half is ranked among itself; then the others come in between."""
    tree = np.zeros((20, ordered.WIDTH), np.int64)
    root = 0
    for position, value in enumerate(values):
        known = values[: 6 if position < 6 else 12]
        ranks = np.zeros(12, np.int64)
        for rank, one in enumerate(sorted(known, key=words.__getitem__)):
            ranks[one] = rank
        root = ordered.change(tree, root, value, 1, ranks, True)
    left = set(values)
    for value in sorted(values):
        assert ordered.least(tree, root) == min(left, key=words.__getitem__)
        assert ordered.greatest(tree, root) == max(left, key=words.__getitem__)
        root = ordered.change(tree, root, value, -1, ranks, True)
        left.discard(value)
    assert root == 0


def depth(tree: np.ndarray, root: int) -> int:
    level, levels = [root], 0
    while level:
        level = [int(tree[node, side]) for node in level for side in (ordered.LEFT, ordered.RIGHT) if tree[node, side]]
        levels += 1
    return levels


def test_sorted_input_makes_no_deep_tree() -> None:
    tree = np.zeros((3000, ordered.WIDTH), np.int64)
    root = 0
    for value in range(2048):
        root = ordered.change(tree, root, value, 1, NO_RANKS, False)
    assert depth(tree, root) < 40
    # A window that slides over rising values.
    for value in range(2048, 6000):
        root = ordered.change(tree, root, value, 1, NO_RANKS, False)
        root = ordered.change(tree, root, value - 2048, -1, NO_RANKS, False)
    assert depth(tree, root) < 40


@CHEAP
@given(st.lists(st.floats().map(lambda x: x + 0.0), min_size=2, max_size=2))
def test_bits_of_doubles_in_their_order(pair: list[float]) -> None:
    codes = [0x7FF8 << 48 if math.isnan(x) else struct.unpack("<q", struct.pack("<d", x))[0] for x in pair]
    left, right = (ordered.double_order(code) for code in codes)
    assert [ordered.double_order(left), ordered.double_order(right)] == codes
    assert (left < right) == less(*pair)

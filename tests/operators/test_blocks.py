"""Blocks of changes: cut anywhere, they mean the same; who works on whole instants gets them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators import blocks as cutting
from penstock.operators.blocks import in_step, together, whole_instants
from penstock.operators.netting import netted
from penstock.synopsis.deltas import Deltas
from tests.seeds import CHEAP

#: Time, weight, value.
CHANGE = st.tuples(st.integers(0, 4), st.sampled_from([-1, 1, 2]), st.integers(0, 2))


def deltas(changes: list[tuple[int, int, int]]) -> Deltas:
    table = np.array(sorted(changes, key=lambda change: change[0]), np.int64).reshape(-1, 3)
    return Deltas(table[:, 0].copy(), table[:, 1].copy(), table[:, 2:].copy())


@st.composite
def cut(draw: st.DrawFn) -> tuple[Deltas, list[Deltas]]:
    """Changes, and the same in blocks, of which some are empty."""
    whole = deltas(draw(st.lists(CHANGE, max_size=12)))
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    return whole, [whole.take(slice(a, b)) for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def net(changes: Deltas) -> list[tuple[int, int, int]]:
    left = netted(changes)
    return sorted(zip(left.ts.tolist(), left.weight.tolist(), left.rows[:, 0].tolist(), strict=True))


@CHEAP
@given(cut())
def test_no_instant_is_in_two_blocks_and_nothing_is_lost(case: tuple[Deltas, list[Deltas]]) -> None:
    whole, parts = case
    made = list(whole_instants(parts))
    assert made
    instants = [set(block.ts.tolist()) for block in made]
    assert sum(map(len, instants)) == len(set().union(*instants))
    assert net(together(made)) == net(whole)
    assert together(made).ts.tolist() == whole.ts.tolist()


def test_of_a_long_instant_its_bag_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "BLOCK", 2)
    parts = [deltas([(1, 1, 5), (1, 1, 5), (1, 1, 6)])] * 20
    (made,) = whole_instants(parts)
    assert len(made) < 12
    assert net(made) == [(1, 20, 6), (1, 40, 5)]


@CHEAP
@given(st.lists(cut(), min_size=1, max_size=3))
def test_blocks_of_several_relations_are_cut_at_the_same_instants(cases: list[tuple[Deltas, list[Deltas]]]) -> None:
    made = list(in_step([parts for _, parts in cases]))
    assert made
    for side, (whole, _) in enumerate(cases):
        assert net(together(blocks[side] for blocks in made)) == net(whole)
    ends = -1
    for blocks in made:
        times = np.concatenate([block.ts for block in blocks])
        assert not len(times) or times.min() > ends
        ends = max([ends, *times.tolist()])

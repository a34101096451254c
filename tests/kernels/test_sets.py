"""Sets of keys, against Python's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.sets import among, distinct, first_equals
from tests.seeds import CHEAP

WIDTHS = st.integers(1, 3)
VALUES = st.one_of(st.integers(0, 3), st.sampled_from([-(1 << 63), (1 << 63) - 1]))


@st.composite
def keys(draw: st.DrawFn, count: int) -> list[list[tuple[int, ...]]]:
    width = draw(WIDTHS)
    return [draw(st.lists(st.tuples(*[VALUES] * width), max_size=40)) for _ in range(count)] + [[(0,) * width]]


def matrix(lines: list[tuple[int, ...]], like: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(lines, np.int64).reshape(-1, len(like[0]))


@CHEAP
@given(keys(1))
def test_each_is_found_once(drawn: list[list[tuple[int, ...]]]) -> None:
    lines, like = drawn
    assert first_equals(matrix(lines, like)).tolist() == [lines.index(line) for line in lines]
    assert [tuple(line) for line in distinct(matrix(lines, like)).tolist()] == list(dict.fromkeys(lines))


@CHEAP
@given(keys(2))
def test_some_are_among_others(drawn: list[list[tuple[int, ...]]]) -> None:
    lines, others, like = drawn
    assert among(matrix(lines, like), matrix(others, like)).tolist() == [line in others for line in lines]

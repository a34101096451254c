"""Columns of an Arrow batch give the rows that are asked for, in the order in which they are asked for."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.operators.filters.arrow_columns import ArrowColumns
from penstock.synopsis.dictionary import Dictionary
from penstock.types import BIGINT, STRING, decimal

COUNT = 6
VALUES = (
    ([5, None, 3, 2, 1, 0], pa.int64(), BIGINT),
    (["f", "e", None, "c", "b", "a"], pa.string(), STRING),
    ([Decimal(n) / 10 for n in range(COUNT)], pa.decimal128(20, 1), decimal(20, 1)),
)


@given(st.lists(st.lists(st.integers(0, COUNT - 1), unique=True) | st.permutations(range(COUNT)), min_size=1))
def test_rows_come_in_the_order_in_which_they_are_asked_for(asked: list[list[int]]) -> None:
    arrays, types = [pa.array(values, type_) for values, type_, _ in VALUES], [type_ for _, _, type_ in VALUES]
    columns = ArrowColumns(arrays, types, Dictionary())
    whole = ArrowColumns(arrays, types, Dictionary())
    for rows in asked:
        some = np.array(rows, np.int64)
        for position in range(len(VALUES)):
            codes, nulls = columns.column(position, some)
            every, missing = whole.column(position)
            present = np.ones(len(some), np.bool_) if nulls is None else ~nulls
            assert (nulls is None) == (missing is None)
            assert nulls is None or nulls.tolist() == missing[some].tolist()
            if types[position] == BIGINT:
                assert codes[present].tolist() == every[some][present].tolist()
            else:
                texts = columns.strings(columns._dictionary).values(codes[present])
                assert texts == whole.strings(whole._dictionary).values(every[some][present])


@given(st.lists(st.lists(st.integers(0, COUNT - 1), unique=True), min_size=1), st.integers(0, 3))
def test_functions_get_the_strings_of_the_rows_that_are_asked_for(asked: list[list[int]], skipped: int) -> None:
    """Whatever was asked for before: strings of a chunk are made once, some of them or all."""
    texts = ["f", "e", None, "c", "b", "a"]
    array = pa.array(["left out"] * skipped + texts).slice(skipped)
    columns = ArrowColumns([array], [STRING], Dictionary())
    for rows in asked:
        strings, nulls = columns.arguments(0, np.array(rows, np.int64))
        assert nulls is not None
        assert [None if null else text for text, null in zip(strings, nulls, strict=True)] == [texts[n] for n in rows]


def test_several_dear_filters_read_the_same_rows_whatever_was_sampled() -> None:
    """The first rows are all profiled, so that later filters see dropped rows behind those that are left."""
    count = 200
    widths = pa.array([Decimal(n % 40 - 20) / 10 for n in range(count)], pa.decimal128(20, 1))
    rows = pa.table({"w": widths, "ts": pa.array(range(10**14, 10**14 + count))})
    session = penstock.Session()
    session.stream("s", rows, timestamp="ts")
    found = session.query("SELECT ISTREAM(w) FROM s [NOW] WHERE w >= 0.5 AND w <= 0.7 AND w <> 0.6").to_arrow()
    assert sorted(set(found["w"].to_pylist())) == [Decimal("0.5"), Decimal("0.7")]
    assert found.num_rows == 2 * count // 40

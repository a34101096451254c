"""Tests of strings give the same over Arrow arrays, over codes, and in the reference interpreter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.expressions import Call, Column, Expr, Like, Literal, Not
from penstock.operators.filters.arrow_columns import ArrowColumns
from penstock.operators.filters.columns import RowColumns
from penstock.operators.scalars import compile_filter
from penstock.synopsis.dictionary import Dictionary
from penstock.types import STRING
from tests.operators.columns import coded
from tests.reference.scalar import evaluate
from tests.seeds import CHEAP

NAME = Column("s", "name", STRING)
#: What means something in patterns, in regular expressions, or in UTF-8.
LETTERS = st.sampled_from("ab%_\\.*[(é\n\x00😀")
TEXTS = st.text(LETTERS, max_size=6)


def call(function: str) -> st.SearchStrategy[Expr]:
    return st.builds(lambda part: Call(function, (NAME, Literal(part, STRING))), TEXTS)


TESTS: st.SearchStrategy[Expr] = st.one_of(
    st.builds(Like, st.just(NAME), st.text(st.one_of(LETTERS, st.just("%")), max_size=6), st.sampled_from("\\a%")),
    call("CONTAINS"),
    call("STARTSWITH"),
    call("ENDSWITH"),
    st.builds(lambda pattern: Call("RLIKE", (NAME, Literal(pattern, STRING))), st.sampled_from("ab.")),
)


@CHEAP
@given(TESTS, st.lists(st.none() | TEXTS, min_size=1, max_size=8), st.booleans(), st.data())
def test_arrays_and_codes_agree_with_the_reference(
    test: Expr, texts: list[str | None], is_negated: bool, data: st.DataObject
) -> None:
    test = Not(test) if is_negated else test
    rows = data.draw(st.lists(st.sampled_from(range(len(texts))), unique=True))
    expected = [evaluate(test, {NAME: text}) is True for text in texts]
    holds, dictionary = compile_filter([test], (NAME,)), Dictionary()
    array = pa.array(["left out", *texts], pa.string()).slice(1)
    codes = RowColumns(coded([[text] for text in texts], (NAME,), dictionary), 1)
    for columns in (ArrowColumns([array], [STRING], dictionary), codes):
        assert holds(columns, dictionary, np.array(rows, np.int64)).tolist() == [expected[row] for row in rows]
        assert holds(columns, dictionary, None).tolist() == expected


def test_a_pattern_of_many_wildcards_takes_linear_time() -> None:
    """Python's own regular expressions would try each way to part the string."""
    holds, dictionary = compile_filter([Like(NAME, "%a" * 40 + "b")], (NAME,)), Dictionary()
    columns = ArrowColumns([pa.array(["a" * 5000])], [STRING], dictionary)
    assert holds(columns, dictionary, None).tolist() == [False]

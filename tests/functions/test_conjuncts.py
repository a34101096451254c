"""Conjuncts commute: which rows a filter keeps, and whether it fails, depends on neither order, cuts nor cells."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.algebra.expressions import Column, conjuncts
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.errors import PenstockError
from penstock.functions import declare
from penstock.operators.filters.columns import RowColumns
from penstock.operators.functions.outcomes import Outcome
from penstock.operators.scalars import compile_conjuncts
from penstock.plan.adaptivity import Adaptive
from penstock.sql import bind_text
from penstock.synopsis.codes import encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.types import BIGINT
from tests.engines.comparing import batch, logged
from tests.functions.running import session_over

DDL = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;"


def failing(*values: int | None, true: Callable[[Any], bool | None]) -> Callable[[Any], bool | None]:
    """Fails on some values, and is true, false or NULL on others."""

    def tested(a: Any) -> bool | None:
        if a in values:
            raise ValueError(a)
        return true(a)

    return tested


#: Conjuncts as SQL, and as Python.
CONJUNCTS: dict[str, Callable[[Any], bool | None]] = {
    "a > 1": lambda a: None if a is None else a > 1,
    "a IS NOT NULL": lambda a: a is not None,
    "f(a)": failing(1, 4, true=lambda a: a != 5),
    "g(a)": failing(None, 4, true=lambda a: None if a == 1 else a != 2),
    "h(a)": failing(3, true=lambda a: a != 4),
}


def catalog_of(*names: str) -> Catalog:
    catalog = Catalog()
    for name in names:
        python = CONJUNCTS[f"{name}(a)"]
        catalog = catalog.calling(declare(name, arguments=["BIGINT"], returns="BOOLEAN").of(python))
    return catalog


def outcome(conjunct: Callable[[Any], bool | None], a: Any) -> bool | str | None:
    try:
        return conjunct(a)
    except ValueError:
        return "fails"


def expected(chosen: tuple[str, ...], values: list[Any]) -> list[Any] | str:
    kept = []
    for a in values:
        outcomes = [outcome(CONJUNCTS[each], a) for each in chosen]
        if all(each is True or each == "fails" for each in outcomes):
            if "fails" in outcomes:
                return "fails"
            kept.append(a)
    return kept


def found(chosen: tuple[str, ...], values: list[Any], size: int, cells: int) -> list[Any] | str:
    text = f"{DDL} SELECT a FROM s WHERE {' AND '.join(chosen)}"
    script = bind_text(text, catalog=catalog_of("f", "g", "h")).checked()
    engine = EmbeddedEngine(script.queries[0], script.catalog, {}, cells)
    rows, log = list(zip(values, range(len(values)), strict=True)), []
    try:
        for start in range(0, len(rows), size):
            engine.push("s", batch(script.catalog.streams[0], rows[start : start + size]))
            log += logged(engine.advance(), script.queries[0]).elements()
        log += logged(engine.finish(), script.queries[0]).elements()
    except PenstockError as error:
        return "fails" if "raised ValueError" in error.message else str(error)
    return [row[2] for row in sorted(log)]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([None, 1, 2, 3, 4, 5, 6]), min_size=1, max_size=8),
    st.sets(st.sampled_from(sorted(CONJUNCTS)), min_size=1, max_size=3),
    st.integers(1, 8),
    st.sampled_from([1, 3]),
)
def test_any_order_of_conjuncts_gives_the_same(values: list[Any], some: set[str], size: int, cells: int) -> None:
    for order in permutations(sorted(some)):
        assert found(order, values, size, cells) == expected(order, values)


def test_one_conjunct_has_three_outcomes_and_what_it_takes_to_raise_an_error_later() -> None:
    column, dictionary = Column("s", "a", BIGINT), Dictionary()
    script = bind_text(f"{DDL} SELECT a FROM s WHERE f(a)", catalog=catalog_of("f")).checked()
    (predicate,) = conjuncts(script.queries[0].relation.inputs[0].predicates[0])  # type: ignore[attr-defined]
    rows = assemble([encode_column(pa.array([6, 5, 4, None, 4]), BIGINT, dictionary)], 5)
    got: Outcome = compile_conjuncts([predicate], (column,))(RowColumns(rows, 1), dictionary, None)
    assert got.failures is not None
    assert got.true.tolist() == [True, False, False, True, False]
    assert got.failures.mask.tolist() == [False, False, True, False, True]
    assert got.open.tolist() == [True, False, True, True, True]
    got.failures.where(np.array([True, True, False, True, False])).raise_first()
    with pytest.raises(PenstockError, match=r"f\(4\) raised ValueError: 4"):
        got.failures.raise_first()
    assert list(got.failures.errors()) == [2, 4]


@pytest.mark.parametrize("written", list(permutations(["f(a)", "g(a)", "h(a)"])), ids=" ".join)
@pytest.mark.parametrize("strategy", ["random", "auto", None])
def test_failed_calls_that_give_null_are_counted_on_the_same_rows_in_every_order(
    written: tuple[str, ...], strategy: str | None
) -> None:
    """They count on rows that no other conjunct drops: a NULL after a failure drops a row for no other reason."""
    values = [None, 1, 2, 3, 4, 5, 6] * 40
    session = session_over(s={"a": values})
    for name in "fgh":
        python = CONJUNCTS[f"{name}(a)"]
        session.function(name, python, arguments=["BIGINT"], returns="BOOLEAN", on_error="null")
    query = session.query(f"SELECT a FROM s WHERE {' AND '.join(written)} AND (a > 1 OR a IS NULL)")
    settings = Adaptive(mode="off") if strategy is None else Adaptive(strategy=strategy)
    with patch("penstock.operators.filters.filter_chain.CHUNK", 50):
        kept = pa.concat_tables(query.run(adaptive=settings)).column("a").to_pylist()
    errors = 0
    for a in values:
        outcomes = [outcome(CONJUNCTS[each], a) for each in written]
        if a != 1 and all(each is True or each == "fails" for each in outcomes):
            errors += outcomes.count("fails")
    assert errors > 0
    assert sum(line["function_errors"] for line in query.metrics()) == errors
    assert kept == [6] * 40


def test_with_more_conjuncts_than_a_profile_tuple_holds_failures_count_on_the_same_rows() -> None:
    session = session_over(s={"a": [1, 2, 3]})
    session.function("ratio", lambda a, b: a / (a - b), arguments=["BIGINT"] * 2, returns="DOUBLE")
    others = [f"ratio(a, {n}) <> 0" for n in range(10, 80)]
    dropped = session.query(f"SELECT a FROM s WHERE {' AND '.join(others)} AND ratio(a, 2) > 1 AND ratio(a, 7) > -0.3")
    assert dropped.to_arrow().column("a").to_pylist() == []
    with pytest.raises(PenstockError, match=r"ratio\(2, 2\) raised ZeroDivisionError"):
        session.query(f"SELECT a FROM s WHERE {' AND '.join(others)} AND ratio(a, 2) > 1").to_arrow()

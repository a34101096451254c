"""The result does not depend on tasks, micro-batches, cells, workers, hosts or retries."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.work import make_work, tables_of, with_tables
from tests.engines.comparing import bound, expected, table
from tests.engines.spark.examples import QUERIES, example
from tests.engines.spark.pretending import PretendedSpark, pretended
from tests.generators import Case, cases
from tests.reference.interpreter import late_rows


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("name", QUERIES)
def test_an_example_gives_what_the_reference_says(name: str, cells: int) -> None:
    case = example(name)
    query, catalog = bound(case)
    assert pretended(case, query, catalog, cells, Random(cells)) == expected(case, query, catalog)


@settings(max_examples=15)
@given(cases(), st.integers(1, 3), st.integers(0, 1000))
def test_a_random_query_gives_what_the_reference_says(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    assert pretended(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@pytest.mark.parametrize("seed", range(5))
def test_late_rows_are_counted_however_they_were_cut(seed: int) -> None:
    case = example("join", horizon=9)
    query, catalog = bound(case)
    work = make_work(query, catalog, 2, case.horizon)
    contents = {t.name: table(t, case.data[t.name]) for t in tables_of(work, catalog)}
    spark = PretendedSpark(with_tables(work, contents), Random(seed))
    spark.run(case)
    (streams,) = [note["streams"] for note in spark.notes if "streams" in note]
    for stream in work.streams:
        assert streams[stream.name]["late_rows"] == late_rows(stream, case.data[stream.name], 9)
        assert streams[stream.name]["rows"] == len(case.data[stream.name])

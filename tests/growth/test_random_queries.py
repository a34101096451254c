"""Safe means flat: random queries that are called safe, over data for which all that is declared holds, do not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice

import pytest

from penstock.register import Verdict
from penstock.sql import Script
from tests.growth.promises import bound, growth_of, is_promised, verdict_of
from tests.growth.queries import Growing, computed_query, random_query

#: Queries per test, so that processes share them evenly.
PART = 10
#: Far more than are tried for one part.
SEEDS = 100_000


def promised(
    seeds: Iterator[int], make: Callable[[int], Growing] = random_query
) -> Iterator[tuple[Growing, Script, Verdict]]:
    """Random queries that should be flat."""
    for seed in seeds:
        query = make(seed)
        script = bound(query.chosen, query.select, query.views)
        verdict = verdict_of(script)
        if is_promised(verdict, query.nulls):
            yield query, script, verdict


def assert_flat(part: int, make: Callable[[int], Growing] = random_query) -> None:
    """So many queries, in one and in three cells. A failure says what to paste: the SQL, and the seed that made it."""
    for query, script, _ in islice(promised(count(part * SEEDS), make), PART):
        for cells in (1, 3):
            grown = growth_of(script, query.nulls, cells)
            assert not grown, f"in {cells} cells of {query}\ngrew: {'; '.join(map(str, grown))}"


@pytest.mark.parametrize("part", range(14))
def test_a_safe_query_is_flat(part: int) -> None:
    assert_flat(part)


@pytest.mark.parametrize("part", range(6))
def test_a_safe_query_over_computed_inputs_is_flat(part: int) -> None:
    assert_flat(part, computed_query)


#: Queries that were called safe, and grew: punctuations that several inputs ask for beside a table; groups in several
#: cells; two schemes of a stream, of which one comes late; distinct values that only the join below closes; two
#: schemes, each of which seemed enough because of the other; values of groups that show on close; punctuations that two
#: occurrences of a stream read as other variables; keys that ask for a punctuation with further columns, or in a cell
#: to which their one row does not go; clusters noted in cells to which nothing else of them goes; and rows of computed
#: inputs beside a window that slides.
GREW = (
    3200010,
    8200013,
    11800004,
    14100042,
    14400001,
    20300014,
    28300018,
    30400017,
    31600002,
    32300008,
    34700030,
)


@pytest.mark.parametrize("seed", GREW)
def test_what_grew_is_flat_or_not_safe(seed: int) -> None:
    for query, script, _ in promised(iter((seed,))):
        for cells in (1, 3):
            assert not growth_of(script, query.nulls, cells)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20, 520))
def test_many_safe_queries_are_flat(part: int) -> None:
    assert_flat(part)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20, 120))
def test_many_safe_queries_over_computed_inputs_are_flat(part: int) -> None:
    assert_flat(part, computed_query)

"""A witness obeys all constraints, and every one of its N rows is needed: each by a future that needs no other."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from penstock.closing.kconstraints import Component, RowCount
from tests.reference.kconstraints import Row, Unbounded, analyse
from tests.register.kconstraints.cases import random_query
from tests.register.kconstraints.model import Event, is_admissible, needed, results

GROUPS = 5


def events(rows: Iterable[Row]) -> list[Event]:
    return [Event(row.stream, row.at, row.values) for row in rows]


@pytest.mark.parametrize("seed", range(8))
def test_every_row_of_a_witness_is_needed(seed: int) -> None:
    random = Random(f"witness {seed}")
    shown = missing = 0
    while shown < 12:
        query = random_query(random)
        analysis = analyse(query)
        for one in analysis.components:
            if not isinstance(one.bound, Unbounded):
                continue
            if one.bound.witness is None:
                missing += 1
                continue
            shown += 1
            past = events(one.bound.witness.rows(range(1, GROUPS + 1)))
            assert all(is_admissible(query, past[:place], event) for place, event in enumerate(past)), query
            kept = [event for event in past if event.stream == one.stream]
            assert len(kept) == GROUPS, query
            assert all(needed(query, past, event) for event in kept), query
            reached = (one.stream, *analysis.graph.descendants[one.stream])
            joined = {joined[one.stream] for joined in results(query, past, reached)}
            assert all((event in joined) is (one.component is Component.YES) for event in kept), query
    assert missing <= shown


@pytest.mark.parametrize("seed", range(8))
def test_a_future_tells_whether_its_group_came(seed: int) -> None:
    """2^N pasts that must be told apart: future i has a result just if group i came."""
    random = Random(f"future {seed}")
    shown = 0
    while shown < 4:
        query = random_query(random)
        found = [one.bound.witness for one in analyse(query).components if isinstance(one.bound, Unbounded)]
        for witness in [one for one in found if one is not None][:1]:
            shown += 1
            for groups in ({1, 2, 3}, {1, 3}, {2}, set[int]()):
                for group in (1, 2, 3):
                    past = events(witness.rows(groups))
                    future = past + events(witness.future(group, 3))
                    assert all(is_admissible(query, future[:place], event) for place, event in enumerate(future)), query
                    assert bool(list(results(query, future))) is (group in groups), query


def test_most_unbounded_components_have_a_witness() -> None:
    random = Random("how many")
    with_one = without = 0
    for _ in range(400):
        query = random_query(random)
        for one in analyse(query).components:
            if isinstance(one.bound, Unbounded):
                has_tiny_window = any(stream.window == RowCount(0) for stream in query.streams)
                with_one += one.bound.witness is not None
                without += one.bound.witness is None and not has_tiny_window
    assert without * 5 < with_one, (with_one, without)

"""Answers do not depend on adaptivity: random queries under orders that change at random after every few rows.

Every conjunct is taken for dear here, so that all of them are ordered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.adaptive.tuners import Tuners
from penstock.algebra.expressions import conjuncts
from penstock.operators.filters.conjuncts import Conjuncts
from penstock.plan.adaptivity import Adaptive
from tests.engines.comparing import bound, embedded, expected
from tests.engines.restarting import restarted
from tests.generators import Case, cases

SOME = settings(max_examples=settings().max_examples // 3)


@contextmanager
def random_orders() -> Iterator[None]:
    """All conjuncts are ordered, at random, in chunks of three rows."""

    def all_dear(exprs: object, schema: object) -> Conjuncts:
        return Conjuncts((), (), tuple(part for expr in exprs for part in conjuncts(expr)))  # type: ignore[attr-defined]

    with (
        patch("penstock.engines.embedded.tuners_of", lambda settings: Tuners(Adaptive(strategy="random"))),
        patch("penstock.operators.filters.filters.Conjuncts.of", all_dear),
        patch("penstock.operators.filters.filter_chain.CHUNK", 3),
    ):
        yield


@SOME
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_random_orders_give_the_reference_over_cuts_and_cells(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with random_orders():
        for cuts in (0, Random(seed)):
            assert embedded(case, query, catalog, cells, cuts) == expected(case, query, catalog)


@SOME
@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_random_orders_give_the_reference_over_restarts(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    with random_orders():
        assert restarted(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)

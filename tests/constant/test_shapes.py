"""Queries of all shapes that are bounded run from buckets, with the reference's answer, and seldom warn."""

from __future__ import annotations

from random import Random

import pytest

from penstock.plan.exploited import unused_proof
from tests.constant.shapes import shaped_cases
from tests.engines.comparing import embedded, expected


@pytest.mark.parametrize("block", range(2))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed, found, _ in shaped_cases(block * 1000, 14, rows=8):
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (3, Random(seed))):
            got = embedded(found.case, found.query, found.catalog, cells, cuts)
            assert got == want, (seed, cells, found.case.script)


def test_nearly_all_of_them_keep_buckets() -> None:
    unused = [found.case.script for _, found, verdict in shaped_cases(10_000, 100, 1) if unused_proof(verdict)]
    assert len(unused) <= 5, unused

"""What is purged is not missed: with data that keeps its declarations, the answer is the reference's."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.comparing import embedded, expected
from tests.purging.cases import purging_case


@pytest.mark.parametrize("block", range(4))
def test_the_answer_is_the_reference_s(block: int) -> None:
    for seed in range(block * 40, block * 40 + 40):
        found = purging_case(seed)
        want = expected(found.case, found.query, found.catalog)
        for cells, cuts in ((1, 0), (1, Random(seed)), (3, Random(seed + 1))):
            assert embedded(found.case, found.query, found.catalog, cells, cuts) == want, (seed, found.case.script)

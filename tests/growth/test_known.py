"""The least query of each known shape that grows. Whoever mends one removes it from `known.py`: then all are tried."""

from __future__ import annotations

import pytest

from tests.growth.known import KNOWN, Known
from tests.growth.promises import bound, growth_of, is_promised, verdict_of


@pytest.mark.parametrize(
    "known", [pytest.param(k, id=k.name, marks=pytest.mark.xfail(strict=True, reason=k.name)) for k in KNOWN]
)
def test_a_known_shape_is_flat(known: Known) -> None:
    script = bound(known.declarations, known.select)
    if is_promised(verdict_of(script)):
        assert not growth_of(script, known.nulls, known.cells)

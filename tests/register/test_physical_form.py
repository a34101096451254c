"""What the register finds of an input in the physical form, and what it takes for granted where it finds nothing."""

from __future__ import annotations

from penstock.algebra.rewrites import normalise
from penstock.register.physical_form import PhysicalForm
from penstock.sql import bind_text

SCRIPT = """
CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT s.a FROM s, t [RANGE 1 MINUTE] WHERE s.a = t.a AND s.ts >= t.ts;
"""


def test_a_computed_input_that_is_not_found_is_kept() -> None:
    """Were it taken for one that is not joined, a query that grows would be called safe."""
    found = bind_text(SCRIPT).checked()
    form = PhysicalForm(normalise(found.queries[0]).relation, found.catalog)
    assert form.retention("s", "s").goes
    assert not form.retention("a name that no input has", "it").goes

"""The proofs by which queries of the examples count instead of joining, as golden files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.elimination.counting import counting
from penstock.elimination.proof_checker import check_proof
from penstock.elimination.translation import theory_of
from penstock.sql import bind_text

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["syn_flood", "join_elimination"])
def test_the_proofs_of_an_example(name: str) -> None:
    script = bind_text((ROOT / "examples" / f"{name}.sql").read_text()).checked()
    found = [each for query in script.queries if (each := counting(query, script.catalog)) is not None]
    assert found
    for each in found:
        for shown in each.shown:
            check_proof(theory_of(script.catalog, about=(shown.goal,)).constraints, shown.goal, shown.proof)
    text = "\n\n".join(f"{each.query.name}\n\n" + "\n\n".join(s.text() for s in each.shown) for each in found) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), "`make golden` rewrites this"

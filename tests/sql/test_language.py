"""Every form of the language binds to the plan that its golden file shows.

`PENSTOCK_GOLDEN=rewrite` writes the golden file anew; the diff is to be read.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.algebra.printing import plan_text
from penstock.sql import bind_text

LANGUAGE = Path(__file__).parent / "language.sql"
GOLDEN = Path(__file__).parent / "golden" / "language.txt"


def test_every_form_of_the_language_has_the_plan_of_the_golden_file() -> None:
    script = bind_text(LANGUAGE.read_text(), LANGUAGE.name).checked()
    plans = "\n\n".join(plan_text(query) for query in script.queries) + "\n"
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        GOLDEN.write_text(plans)
    assert plans == GOLDEN.read_text()

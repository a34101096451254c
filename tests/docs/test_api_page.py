"""The API reference is what the docstrings say, of all public names; `PENSTOCK_GOLDEN=rewrite` writes it anew."""

from __future__ import annotations

import os
from pathlib import Path

from tests.docs.api_page import PAGE, api_page

import penstock

API = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_is_what_the_docstrings_say() -> None:
    text = api_page()
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        API.write_text(text, encoding="utf-8")
    assert text == API.read_text(encoding="utf-8"), "`make golden` rewrites this"


def test_every_public_name_is_on_the_page() -> None:
    named = {name for names in PAGE.values() for name in names}
    assert dir(penstock) == sorted(penstock.__all__)
    assert {*penstock.__all__} - {"__version__"} == {name for name in named if "." not in name}

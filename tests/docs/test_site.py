"""The pages of the documentation, opened from disk: their search works, no code scrolls sideways, nobody is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.monitor.page.browser import needs_chromium, started

ROOT = Path(__file__).parents[2]

SIDEWAYS = """() => [...document.querySelectorAll("pre > code")]
  .filter((code) => code.scrollWidth > code.clientWidth + 1).map((code) => code.textContent.slice(0, 80))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.mark.slow
@needs_chromium
def test_pages_open_from_disk(site: Path) -> None:
    with started() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.fill("input.md-search__input", "punctuation")
        page.wait_for_selector(".md-search-result__item", state="attached", timeout=60_000)
        sideways = {}
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            if found := page.evaluate(SIDEWAYS):
                sideways[str(path.relative_to(site))] = found
        assert not sideways
        assert not [url for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))]

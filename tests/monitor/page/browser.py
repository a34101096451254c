"""A Chromium that is found on this machine, and windows of it in which nothing goes wrong unseen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("PENSTOCK_CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: make browser installs one")


@contextmanager
def started() -> Iterator[Browser]:
    """Starts the browser; its profile is a folder that ends with it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """A window that notes what is said in its console, what fails, and what it asks for."""

    def __init__(self, browser: Browser, scheme: Any = "light") -> None:
        self.page: Page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type != "log" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, address: str) -> Page:
        """Opens an address, and returns the page when it is drawn."""
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

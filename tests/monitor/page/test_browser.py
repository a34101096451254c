"""The page in a real browser: what a person sees and does there. Skipped where there is no Chromium: `make browser`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import time

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, expect

from penstock.engines.embedded_run import Result
from penstock.monitor.control import Controls
from penstock.monitor.page.query_graphs import QueryGraphs
from penstock.monitor.page.recorder import Recorder
from penstock.monitor.page.report import write_report
from penstock.monitor.page.serving import PageServer
from tests.monitor.page.browser import Window, needs_chromium, started
from tests.monitor.page.conftest import Watched, many_operators, watched

pytestmark = needs_chromium

JOIN = "[data-id='dear/0/join2']"
WINDOW = "[data-id='dear/0/scan3']"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture
def window(browser: Browser) -> Iterator[Window]:
    made = Window(browser)
    yield made
    made.page.close()
    assert made.wrong == []


AUCTIONS = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, over BOOLEAN, ts BIGINT, PUNCTUATED BY (auction) WHEN over) TIMESTAMP BY ts;
CREATE QUERY sold AS SELECT i.id, b.over FROM item i, bid b WHERE i.id = b.auction;
"""


class Live:
    """A query that runs as far as a test lets it, and its page."""

    def __init__(self, run: Watched, server: PageServer) -> None:
        self.run, self.server = run, server
        self._results = run.running.results()

    def step(self, steps: int = 1) -> None:
        """Takes steps, and closes the frame in which they are."""
        while steps:
            result = next(self._results, None)
            if result is None:
                self.run.recorder.end()
                return
            if self._take(result):
                steps -= 1
        recorder = self.run.recorder
        recorder._history.close(recorder._latest())
        recorder.version += 1

    def _take(self, result: Result) -> bool:
        if result.ends_step:
            self.run.recorder.take(result.engine.metrics())
        return result.ends_step


@pytest.fixture
def live() -> Iterator[Live]:
    yield from followed(watched())


@pytest.fixture
def auctions() -> Iterator[Live]:
    """A join that purges, with rows that wait for a punctuation."""
    rows = 3 * 70_000
    times = list(range(0, 10 * rows, 10))
    bid = {"auction": [n // 7 for n in range(rows)], "over": [n % 35 == 6 for n in range(rows)], "ts": times}
    item = {"id": list(range(rows // 7)), "ts": times[::7]}
    run = watched(AUCTIONS, {"bid": pa.table(bid), "item": pa.table(item)})
    ticks = count(round(time() * 1e6), 300_000)
    run.recorder.graphs = QueryGraphs(clock=lambda: next(ticks))
    yield from followed(run)


def followed(run: Watched) -> Iterator[Live]:
    """A run with its page."""
    run.recorder.controls = Controls(run.running.engines)
    run.running.between_steps = run.recorder.controls.apply
    server = PageServer()
    server.show(run.recorder)
    with server:
        yield Live(run, server)
        run.running.close()


@pytest.fixture(scope="module")
def report(recorder: Recorder, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("report") / "run.html"
    write_report(recorder, str(path))
    return path.as_uri()


def test_the_page_of_a_running_query_follows_it(window: Window, live: Live) -> None:
    live.step(2)
    page = window.open(live.server.address)
    expect(page.locator("#status")).to_have_text("live")
    expect(page.locator(".node")).to_have_count(len(live.run.recorder.document()["nodes"]))
    before = page.locator("#totals").inner_text()
    live.step(2)
    expect(page.locator("#totals")).not_to_have_text(before)
    while live.run.recorder.is_live:
        live.step()
    expect(page.locator("#status")).to_have_text("run is over")
    assert all(address.startswith(live.server.address) for address in window.asked)


def test_an_entity_shows_its_properties_its_bound_and_its_text(window: Window, report: str) -> None:
    page = window.open(report)
    page.click(WINDOW)
    inspector = page.locator("#inspector")
    expect(inspector.locator("h2")).to_contain_text("b scan3")
    expect(inspector.locator(".proved")).to_contain_text("≤ 5050 rows of b")
    expect(inspector.get_by_role("meter")).to_have_attribute("aria-valuemax", "50")
    inspector.get_by_text("Proof:").click()
    expect(inspector.locator(".proof")).to_be_visible()
    expect(page.locator("#sql mark").first).to_contain_text("bid [ROWS 50]")
    page.click(JOIN)
    expect(inspector).to_contain_text("Probes by depth")
    page.click("[data-id='source/bid']")
    expect(inspector).to_contain_text("40 rows of bid were late, and dropped")


def test_a_graph_is_added_and_its_address_shows_it_again(window: Window, browser: Browser, report: str) -> None:
    page = window.open(report)
    page.click(JOIN)
    page.get_by_role("button", name="Graph of rows in").click()
    expect(page.locator("figure")).to_have_count(1)
    page.get_by_role("button", name="+ Add a graph").click()
    page.get_by_label("Entity").select_option("dear/0/scan3")
    page.get_by_label("Property").select_option("state_rows")
    text = page.get_by_label("The query over sysstream")
    assert "entity = '0.scan3'" in text.input_value()
    text.fill(text.input_value().replace("state_rows", "state_bytes"))
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("figure")).to_have_count(2)
    expect(page.locator("figure").last).to_contain_text("bytes kept")
    page.keyboard.press("2")
    again = Window(browser)
    other = again.open(page.url)
    expect(other.locator("figure")).to_have_count(2)
    expect(other.locator("#inspector h2")).to_contain_text("join2")
    expect(other.get_by_role("radio", name="State")).to_have_attribute("aria-checked", "true")
    other.close()
    assert again.wrong == []
    page.get_by_role("button", name="Remove the graph of join2").click()
    expect(page.locator("figure")).to_have_count(1)


def test_any_query_over_sysstream_is_drawn_edited_and_kept_in_the_address(live: Live, browser: Browser) -> None:
    ticks = count(round(time() * 1e6), 300_000)
    live.run.recorder.graphs = QueryGraphs(clock=lambda: next(ticks))
    window = Window(browser)
    live.step(1)
    page = window.open(live.server.address)
    page.get_by_role("button", name="+ Add a graph").click()
    text = page.get_by_label("The query over sysstream")
    text.fill("SELECT entity, SUM(value) AS n FROM sysstream GROUP BY entity")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".editor")).to_contain_text("give each sysstream a window")
    text.fill("SELECT entity, SUM(value) AS n FROM sysstream [RANGE 1 HOUR] WHERE kind = 'source' GROUP BY entity")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("figure")).to_have_count(1)
    while live.run.recorder.is_live:
        live.step()
    expect(page.locator("figure .names")).to_contain_text("bid")
    expect(page.locator("figure .uplot")).to_be_visible()
    again = Window(browser)
    other = again.open(page.url)
    expect(other.locator("figure .names")).to_contain_text("item")
    other.get_by_role("button", name="The query that this is").click()
    assert "[RANGE 1 HOUR]" in other.get_by_label("The query over sysstream").input_value()
    other.close()
    page.close()
    assert [text for text in (*window.wrong, *again.wrong) if "422" not in text] == []


def test_pending_rows_are_shown_by_what_they_wait_for_and_drawn(window: Window, auctions: Live) -> None:
    auctions.step(2)
    page = window.open(auctions.server.address)
    page.click("[data-id='sold/0/join1']")
    inspector = page.locator("#inspector")
    expect(inspector).to_contain_text("Pending rows, by what they wait for")
    expect(inspector).to_contain_text("i until punctuation (auction) of b")
    page.get_by_role("button", name="Graph of pending rows").click()
    while auctions.run.recorder.is_live:
        auctions.step()
    expect(page.locator("figure .names")).to_contain_text("i: punctuation (auction) of b")
    assert "waiting_rows" in page.url


def test_a_setting_takes_effect_and_is_on_the_timeline(window: Window, live: Live) -> None:
    live.step(2)
    page = window.open(live.server.address)
    page.get_by_role("tab", name="Settings").click()
    form = page.locator(".setting").filter(has_text="step_rows_most")
    form.get_by_role("textbox").fill("70000")
    form.get_by_role("button", name="Set").click()
    expect(form).to_contain_text("set from the next step on")
    while live.run.recorder.is_live:
        live.step()
    assert all(engine.settings.steps.most == 70_000 for engine in live.run.running.engines)
    page.get_by_role("tab", name="Decisions").click()
    expect(page.locator(".timeline")).to_contain_text("step_rows_most set")


def test_a_setting_that_cannot_be_is_refused_with_its_reason(live: Live, browser: Browser) -> None:
    window = Window(browser)
    live.step(2)
    page = window.open(live.server.address)
    page.get_by_role("tab", name="Settings").click()
    form = page.locator(".setting").filter(has_text="step_rows_most")
    form.get_by_role("textbox").fill("many")
    form.get_by_role("button", name="Set").click()
    expect(form).to_contain_text("give a whole number")
    page.close()
    assert [text for text in window.wrong if "422" not in text] == []


def test_all_is_reached_by_keys(window: Window, report: str) -> None:
    page = window.open(f"{report}#query=dear")
    page.locator(JOIN).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#inspector h2")).to_contain_text("join2")
    chosen = page.locator(".node.selected")
    visited = set()
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
        expect(chosen).to_have_count(1)
        visited.add(chosen.get_attribute("data-id"))
    assert len(visited) > 1
    page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)
    page.keyboard.press("3")
    expect(page.get_by_role("radio", name="Time")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    expect(page.get_by_label("Entity")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".editor")).to_have_count(0)
    page.get_by_role("tab", name="Graphs").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Decisions")).to_be_focused()


def test_a_run_that_is_over_is_replayed(window: Window, report: str) -> None:
    page = window.open(report)
    expect(page.locator("#status")).to_have_text("report")
    page.evaluate("document.body.focus()")
    page.keyboard.press(",")
    assert "frame=" in page.url
    page.keyboard.press(".")
    assert "frame=" not in page.url
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("#play")).to_have_text("▶")  # it has come to the end
    assert window.asked == [report]


def test_sixty_operators_are_readable_and_all_of_them_can_be_reached(window: Window, tmp_path: Path) -> None:
    recorder = watched(many_operators()).finish()
    write_report(recorder, str(tmp_path / "many.html"))
    page = window.open((tmp_path / "many.html").as_uri())
    nodes = page.locator("#graph > svg:not(.overview) .node")
    assert nodes.count() >= 60
    assert min(page.evaluate(TITLE_SIZES)) >= 10  # pixels
    expect(page.locator(".overview")).to_be_visible()
    page.keyboard.press("0")
    expect(page.locator(".overview")).to_be_hidden()
    boxes, stage = page.evaluate(BOXES), page.locator("#graph").bounding_box()
    assert stage is not None
    for number, one in enumerate(boxes):
        assert one["left"] >= stage["x"] - 1
        assert one["right"] <= stage["x"] + stage["width"] + 1
        for other in boxes[number + 1 :]:
            apart = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
            assert apart or one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
    nodes.nth(30).click()
    expect(page.locator(".node.selected")).to_have_count(1)


BOXES = "[...document.querySelectorAll('g.node')].map((node) => node.getBoundingClientRect().toJSON())"
TITLE_SIZES = """[...document.querySelectorAll('.node .title')].map(
    (title) => parseFloat(getComputedStyle(title).fontSize) * title.getScreenCTM().a)"""

#: Of each text that is seen its contrast with what is behind it, and of each control its name.
AUDIT = (Path(__file__).parent / "audit.js").read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["graphs", "decisions", "lateness", "cells"])
def test_texts_stand_out_and_controls_have_names(browser: Browser, report: str, scheme: str, tab: str) -> None:
    window = Window(browser, scheme)
    for entity in ("", "dear/0/scan3"):
        page = window.open(f"{report}#tab={tab}&entity={entity}")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate(AUDIT) == {"low": [], "nameless": []}
    window.page.close()
    assert window.wrong == []

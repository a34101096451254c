"""Notebooks show verdicts with the query, and what grows underlined."""

from __future__ import annotations

import re

import penstock
from penstock.session import Metrics, Query

DDL = """
CREATE STREAM item (id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
"""


def _query(select: str) -> Query:
    session = penstock.Session()
    session.sql(DDL)
    return session.query(select)


def test_what_grows_is_underlined() -> None:
    html = _query("SELECT i.id FROM item i, bid [RANGE 1 HOUR] b WHERE i.id = b.auction AND i.id < 7")._repr_html_()
    assert re.findall(r"<span style=[^>]*>(.*?)</span>", html) == ["item i"]
    assert "i.id &lt; 7" in html
    assert ">not safe</b>" in html
    assert "any of these would make it safe" in html


def test_a_safe_query_says_how_much_it_keeps() -> None:
    html = _query("SELECT id FROM item [ROWS 5]").verdict._repr_html_()
    assert ">safe, at most 5 rows of item</b>" in html
    assert "<span" not in html


def test_names_are_text_and_not_html() -> None:
    html = _query("CREATE QUERY `<b>` AS SELECT id AS `<i>` FROM item [ROWS 5]")._repr_html_()
    assert "<b>&lt;b&gt;</b>" in html
    assert "<i>" not in html


def test_metrics_show_the_latest_step() -> None:
    assert Metrics()._repr_html_() == "<div>no step is complete yet</div>"
    line = {"step": 3, "watermark": 1_767_268_800_000_000, "operator": "source", "stream": "s", "rows_in": 1200}
    shown = Metrics([{**line, "step": 2}, line])._repr_html_()
    assert "step 3, watermark 2026-01-01 12:00:00 UTC" in shown
    assert shown.count("<tr>") == 2
    assert "<td>1,200</td>" in shown

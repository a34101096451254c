"""How many pending rows wait for what: asked of the structures of retention, and counted by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock import bind_text
from penstock.engines.embedded import EmbeddedEngine
from penstock.plan.forgetting import Forgetting
from penstock.plan.waiting_report import WaitingReport
from penstock.retention import waiting as asking
from tests.engines.comparing import batch

AUCTION = """
CREATE STREAM item (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, kind STRING, ts BIGINT, PUNCTUATED BY (auction) WHEN kind = 'close')
TIMESTAMP BY ts;
CREATE QUERY q AS SELECT i.id, b.kind FROM item i, bid b WHERE i.id = b.auction;
"""
CHAIN = """
CREATE STREAM a (x BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (x BIGINT, y BIGINT, over BOOLEAN, ts BIGINT, PUNCTUATED BY (x) WHEN over) TIMESTAMP BY ts;
CREATE STREAM c (y BIGINT, over BOOLEAN, ts BIGINT, PUNCTUATED BY (y) WHEN over) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT a.x, b.y FROM a, b, c WHERE a.x = b.x AND b.y = c.y;
"""
BOTH = """
CREATE STREAM item (id BIGINT, ts BIGINT, PUNCTUATED BY (id) FROM over (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, kind STRING, ts BIGINT, PUNCTUATED BY (auction) WHEN kind = 'close')
TIMESTAMP BY ts;
CREATE STREAM over (id BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT i.id, b.kind FROM item i, bid b WHERE i.id = b.auction;
"""
BAND = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT ISTREAM(s.a) FROM s, t WHERE s.a = t.a AND t.ts BETWEEN s.ts AND s.ts + 10;
"""


def engine_of(
    ddl: str, cells: int = 1, forgetting: Forgetting | None = None, **rows: list[tuple[object, ...]]
) -> EmbeddedEngine:
    script = bind_text(ddl).checked()
    more = {} if forgetting is None else {"forgetting": forgetting}
    engine = EmbeddedEngine(script.queries[0], script.catalog, cells=cells, **more)
    step(engine, **rows)
    return engine


def step(engine: EmbeddedEngine, **rows: list[tuple[object, ...]]) -> None:
    for name, own in rows.items():
        engine.push(name, batch(engine.streams[name].definition, own))
    engine.advance()


def waits(engine: EmbeddedEngine) -> dict[tuple[str, str], int]:
    found = Counter[tuple[str, str]]()
    for line in engine.metrics():
        for each in line.waiting:
            found[each.input, each.waits_for] += each.rows
    return dict(found)


@pytest.mark.parametrize("cells", [1, 3])
def test_rows_wait_for_their_punctuation(cells: int) -> None:
    bids = [(n, "close" if n % 2 else "bid", n) for n in range(12)]
    engine = engine_of(AUCTION, cells, item=[(n, n) for n in range(12)], bid=bids)
    # Instants up to 10 are closed.
    assert waits(engine) == {("i", "punctuation (auction) of b"): 6}
    step(engine, item=[(50, 20)], bid=[(2, "close", 15), (4, "bid", 15), (7, "bid", 15), (0, "bid", 21)])
    assert waits(engine) == {("i", "punctuation (auction) of b"): 5}
    step(engine, item=[(51, 30)], bid=[(60, "bid", 25), (61, "bid", 30)])
    assert waits(engine) == {("i", "punctuation (auction) of b"): 6, ("b", "the row (id) of i"): 1}


def test_a_row_waits_for_what_stops_the_chain_from_it() -> None:
    engine = engine_of(
        CHAIN,
        a=[(1, 1), (2, 1), (3, 1), (9, 9)],
        b=[(1, 10, False, 2), (1, 11, False, 2), (2, 20, False, 2), (1, 1, True, 3), (3, 3, True, 3), (9, 9, False, 9)],
        c=[(10, True, 4), (20, False, 4), (9, False, 9)],
    )
    own = {text: rows for (name, text), rows in waits(engine).items() if name == "a"}
    # More rows of b may join 2. Those that join 1 and 3 are there, and more rows of c may join these.
    assert own == {"punctuation (x) of b": 1, "punctuation (y) of c": 2}


def test_a_lazy_purge_says_which_rows_wait_for_nothing_else() -> None:
    rows = {"s": [(n, n) for n in range(50)], "t": [(n, n) for n in range(40)]}
    late = ("s", "t is 10 MICROSECONDS later")
    assert waits(engine_of(BAND, **rows)) == {late: 10}
    lazy = engine_of(BAND, forgetting=Forgetting(rows=1000), **rows)
    assert waits(lazy) == {("s", "the next purge"): 29, late: 10, ("t", "the next purge"): 39}


def test_a_row_in_a_result_that_is_taken_back_waits_for_the_end_of_it() -> None:
    windows = AUCTION.replace("item i, bid b", "item [RANGE 100 MICROSECONDS] i, bid [RANGE 100 MICROSECONDS] b")
    engine = engine_of(windows, item=[(1, 1), (2, 1), (9, 9)], bid=[(1, "close", 2), (8, "bid", 9)])
    assert waits(engine)["i", "the end of the results that it is in"] == 1


def test_rows_without_a_match_wait_for_one() -> None:
    exists = BOTH.replace(
        "SELECT i.id, b.kind FROM item i, bid b WHERE i.id = b.auction",
        "SELECT ISTREAM(i.id) FROM item i WHERE EXISTS (SELECT 1 FROM bid b WHERE i.id = b.auction)",
    )
    rows = {"item": [(1, 1), (2, 1), (9, 9)], "bid": [(1, "bid", 2), (8, "bid", 9)], "over": [(77, 9)]}
    found = waits(engine_of(exists, **rows))
    assert found == {("i", "a match, or punctuation (auction) of b"): 1, ("b", "punctuation (id) of i"): 1}


def test_of_many_rows_some_are_asked_about() -> None:
    """Of every third row the other's punctuation is there, a rhythm that a sample must not fall into."""
    count = 3 * 4000
    bids = [(n, "bid", n) for n in range(count)]
    over = [(n, n) for n in range(0, count, 3)]
    engine = engine_of(BOTH, item=[(n, n) for n in range(count)], bid=bids, over=[*over, (count, count)])
    found = waits(engine)
    assert found["i", "punctuation (auction) of b"] == count - 1
    assert found["b", "punctuation (id) of i"] == pytest.approx(count * 2 / 3, rel=0.02)
    shares = asking.spread(count, asking.SAMPLE) % 3
    assert all(abs(float((shares == n).mean()) - 1 / 3) < 0.01 for n in range(3))


def test_nobody_is_asked_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> list[WaitingReport]:
        raise AssertionError("somebody asked")

    monkeypatch.setattr(asking.Waiting, "reports", refuse)
    engine = engine_of(AUCTION, item=[(1, 1), (2, 5)], bid=[(1, "bid", 2), (2, "bid", 5)])
    assert engine.totals().state_rows > 0
    engine.finish()


def test_totals_take_no_counts_from_those_who_look() -> None:
    engine = engine_of(AUCTION, item=[(1, 1), (2, 5)], bid=[(1, "bid", 2), (2, "bid", 5)])
    engine.totals()
    step(engine, item=[(3, 9)], bid=[(3, "bid", 9)])
    assert sum(line.rows_out for line in engine.metrics() if line.operator.startswith("join")) == 2

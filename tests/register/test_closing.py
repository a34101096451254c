"""What closes a value and what does not: the ways in which theories could help each other wrongly."""

from __future__ import annotations

import pytest

import penstock
from penstock.register import State, Theory, Verdict, check_query
from penstock.register.states import StatefulOperator
from penstock.sql import bind_text

DECLARATIONS = """
CREATE STREAM item (id BIGINT, seller BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction)) TIMESTAMP BY ts DELAY 1 MINUTE;
CREATE STREAM step (run BIGINT, n BIGINT, ts TIMESTAMP, CLUSTERED BY run WITHIN 5 ROWS) TIMESTAMP BY ts;
CREATE STREAM flow (ip STRING, n BIGINT, ts TIMESTAMP, PUNCTUATED BY (ip) LIFESPAN 1 HOUR) TIMESTAMP BY ts;
CREATE STREAM ask (ip STRING, m BIGINT, ts TIMESTAMP, PUNCTUATED BY (ip)) TIMESTAMP BY ts;
CREATE STREAM link (a BIGINT, b BIGINT, ts TIMESTAMP, FOREIGN KEY (b) REFERENCES item (id) WITHIN 7 ROWS)
TIMESTAMP BY ts;
"""


def verdict(sql: str) -> Verdict:
    script = bind_text(DECLARATIONS + sql).checked()
    return check_query(script.queries[0], script.catalog)


@pytest.mark.parametrize(
    "sql",
    [
        # UNIQUE and CLUSTERED BY close values that were there. A bid may wait for an item, or a run, that never comes.
        "SELECT * FROM item, bid WHERE id = auction",
        "SELECT x.id FROM (SELECT DISTINCT id FROM item) x, bid WHERE x.id = auction",
        "SELECT * FROM step, bid WHERE run = auction",
        # A reference on other columns than those that join says nothing.
        "SELECT * FROM link, item WHERE link.a = item.id",
        # After its lifespan a value may come again: its group has to go on, and stored rows join it.
        "SELECT ip, COUNT(*) AS n FROM flow GROUP BY ip",
        "SELECT * FROM flow, ask WHERE flow.ip = ask.ip",
        # Groups of a join are not closed by clusters: their values may never come in the other stream.
        "SELECT run, COUNT(*) AS n FROM step, bid WHERE run = auction GROUP BY run",
        # A column that nothing is said of.
        "SELECT price, COUNT(*) AS n FROM bid GROUP BY price",
        # A later time does not end: only an upper limit does.
        "SELECT * FROM bid b, ask a WHERE b.price = a.m AND a.ts >= b.ts",
        # Rows leave a window of rows at any time, so its changes do not end.
        "SELECT * FROM item, bid [ROWS 10] WHERE id = auction",
    ],
)
def test_not_closed(sql: str) -> None:
    assert not verdict(sql).safe


@pytest.mark.parametrize(
    ("sql", "by"),
    [
        ("SELECT DISTINCT id FROM item", Theory.PUNCTUATION),
        ("SELECT run, COUNT(*) AS n FROM step GROUP BY run", Theory.PUNCTUATION),
        ("SELECT * FROM link, item [RANGE 1 HOUR] WHERE link.b = item.id", Theory.K_CONSTRAINTS),
        ("SELECT * FROM bid b, ask a WHERE b.price = a.m AND a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 HOUR",
         Theory.PUNCTUATION),
    ],
)  # fmt: skip
def test_closed(sql: str, by: Theory) -> None:
    found = verdict(sql)
    assert found.safe
    assert by in found.by


def test_a_delay_on_the_other_side_lengthens_the_wait() -> None:
    found = verdict("SELECT * FROM ask a, bid b WHERE a.m = b.price AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR")
    assert {state.bound.words for state in found.states} == {"61 MINUTES of a", "one instant of b"}


DOORS = """
CREATE STREAM l (a BIGINT, b BIGINT, ts TIMESTAMP, PUNCTUATED BY (b)) TIMESTAMP BY ts;
CREATE STREAM r (a BIGINT, b BIGINT, ts TIMESTAMP, PUNCTUATED BY (a)) TIMESTAMP BY ts;
CREATE STREAM k (a BIGINT, ts TIMESTAMP, PUNCTUATED BY (a)) TIMESTAMP BY ts;
"""


def state(sql: str, operator: StatefulOperator, stream: str | None) -> State:
    script = bind_text(DOORS + sql).checked()
    states = check_query(script.queries[0], script.catalog).states
    (found,) = (each for each in states if each.operator is operator and each.stream == stream)
    return found


def test_groups_over_an_anti_join_end_only_with_its_left_side() -> None:
    """What is punctuated closes all pairs with one a: r on a, hence l on b. Rows of l without a partner go on."""
    pairs = "WHERE r.a = l.a AND r.b = l.b"
    joined = state(f"SELECT l.a, COUNT(*) AS n FROM l, r {pairs} GROUP BY l.a", StatefulOperator.GROUP_BY, None)
    lonely = f"SELECT l.a, COUNT(*) AS n FROM l WHERE NOT EXISTS (SELECT * FROM r {pairs}) GROUP BY l.a"
    assert joined.is_safe
    assert not state(lonely, StatefulOperator.GROUP_BY, None).is_safe


@pytest.mark.parametrize(("by", "closed"), [("a", True), ("b", False), ("a, b", True)])
def test_a_punctuation_closes_a_partitioned_window_only_on_its_own_columns(by: str, closed: bool) -> None:
    """A row leaves its partition when another comes, whatever is punctuated of other columns."""
    sql = f"SELECT k.a FROM r [PARTITION BY {by} ROWS 2], k WHERE r.a = k.a"
    assert state(sql, StatefulOperator.JOIN, "k").is_safe is closed


def test_the_columns_of_a_scheme_that_refers_to_another_side_may_be_in_any_order() -> None:
    parent = "CREATE STREAM p (k BIGINT, g BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    said = set()
    for scheme in ("k, g", "g, k"):
        declared = f"FOREIGN KEY (k) REFERENCES p (k) WITHIN 9 SECONDS, PUNCTUATED BY ({scheme}) WHEN ends = 1"
        ddl = f"CREATE STREAM a (k BIGINT, g BIGINT, ends INT, ts BIGINT, {declared}) TIMESTAMP BY ts;"
        said.add(penstock.check(f"{parent} {ddl} SELECT k, g FROM a EXCEPT SELECT k, g FROM p")[0].message)
    assert len(said) == 1

"""What DDL declares: every clause ends up in the catalog, and what depends on something is not left without it."""

from __future__ import annotations

import pytest

from penstock.algebra.printing import expression_text
from penstock.catalog import (
    AssertionDef,
    Attribute,
    Clustered,
    Connector,
    Inferred,
    OnViolation,
    Ordered,
    Punctuated,
    Rated,
    Reference,
    StreamDef,
    TableDef,
    TupleVariable,
    Unique,
    ViewDef,
    WithinRows,
    WithinTime,
)
from penstock.closing.declarations import constraint_text
from penstock.sql import bind_text
from penstock.sql.formatting import format_text
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    HOUR,
    INT,
    MINUTE,
    SECOND,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from tests.sql.shop import SHOP, bound, refused


def stream(text: str, name: str) -> StreamDef:
    definition = bound(text).catalog.get(name)
    assert isinstance(definition, StreamDef)
    return definition


AUCTION = """
CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, ts TIMESTAMP, kind STRING,
  FOREIGN KEY (auction) REFERENCES item (id) WITHIN 100 ROWS,
  CLUSTERED BY auction WITHIN 500 ROWS,
  ORDERED BY ts WITHIN 20 ROWS,
  PUNCTUATED BY (auction) WHEN kind = 'close'
) TIMESTAMP BY ts DELAY 5 SECONDS
USING parquet OPTIONS (path 'data/bid');

CREATE STREAM item (id BIGINT, seller BIGINT, price BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts
USING json OPTIONS (path 'data/item');

CREATE TABLE category (id BIGINT, name STRING, UNIQUE (id)) USING csv OPTIONS (path 'category.csv', header 'true');
"""


def test_a_stream_with_everything() -> None:
    bid = stream(AUCTION, "bid")
    assert [(a.name, a.type) for a in bid.attributes] == [
        ("auction", BIGINT),
        ("bidder", BIGINT),
        ("price", BIGINT),
        ("ts", TIMESTAMP),
        ("kind", STRING),
    ]
    assert (bid.timestamp, bid.delay) == ("ts", 5 * SECOND)
    assert bid.connector == Connector("parquet", (("path", "data/bid"),))
    reference, clustered, ordered, punctuated = bid.constraints
    assert reference == Reference(("auction",), "item", ("id",), WithinRows(100))
    assert clustered == Clustered(("auction",), WithinRows(500))
    assert ordered == Ordered("ts", WithinRows(20))
    assert isinstance(punctuated, Punctuated)
    assert punctuated.when is not None
    assert expression_text(punctuated.when) == "kind = 'close'"


def test_a_table_has_columns_keys_and_a_source() -> None:
    (category,) = bound(AUCTION).catalog.tables
    assert category == TableDef(
        "category",
        (Attribute("id", BIGINT), Attribute("name", STRING)),
        (Unique(("id",)),),
        Connector("csv", (("path", "category.csv"), ("header", "true"))),
    )


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("BOOLEAN", BOOLEAN),
        ("INT", INT),
        ("INTEGER", INT),
        ("BIGINT", BIGINT),
        ("LONG", BIGINT),
        ("DOUBLE", DOUBLE),
        ("DECIMAL", decimal(10, 0)),
        ("DECIMAL(5)", decimal(5, 0)),
        ("NUMERIC(12, 2)", decimal(12, 2)),
        ("STRING", STRING),
        ("BINARY", BINARY),
        ("TIMESTAMP", TIMESTAMP),
        ("DATE", DATE),
        ("bigint", BIGINT),
    ],
)
def test_types(written: str, type_: Type) -> None:
    assert stream(f"CREATE STREAM s (x {written}, ts TIMESTAMP) TIMESTAMP BY ts", "s").attributes[0].type == type_


@pytest.mark.parametrize(
    ("within", "value"),
    [
        ("WITHIN 0 ROWS", WithinRows(0)),
        ("WITHIN 1 ROW", WithinRows(1)),
        ("WITHIN 2 HOURS", WithinTime(2 * HOUR)),
        ("within 1.5 minutes", WithinTime(90 * SECOND)),
        ("INFERRED", Inferred()),
        ("INFERRED (C 2, p 0.5, w 10, threshold 7)", Inferred(2.0, 0.5, 10, 7)),
    ],
)
def test_within_is_of_rows_or_of_time_or_inferred(within: str, value: object) -> None:
    text = f"CREATE STREAM s (a BIGINT, ts TIMESTAMP, ORDERED BY a {within}) TIMESTAMP BY ts"
    assert stream(text, "s").constraints == (Ordered("a", value),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "then"),
    [
        ("", "WARN"),
        (" ON VIOLATION error", "ERROR"),
        (" on violation WIDEN", "WIDEN"),
        (" ON VIOLATION IGNORE", "IGNORE"),
    ],
)
def test_a_violation_may_be_counted_stop_the_run_or_widen_k(written: str, then: str) -> None:
    text = (
        "CREATE STREAM s (a BIGINT, ts TIMESTAMP,"
        f" ORDERED BY a WITHIN 2 ROWS{written}, CLUSTERED BY a WITHIN 1 SECOND{written},"
        f" FOREIGN KEY (a) REFERENCES s (a) WITHIN 3 ROWS{written}) TIMESTAMP BY ts"
    )
    assert [each.on_violation for each in stream(text, "s").constraints] == [OnViolation[then]] * 3  # type: ignore[union-attr]


def test_punctuations_may_come_from_another_stream_and_live_for_a_while() -> None:
    bid = stream(
        "CREATE STREAM bid (a BIGINT, b BIGINT, ts TIMESTAMP,"
        " PUNCTUATED BY (a, b) FROM Closed (X, Y) LIFESPAN 4 HOURS,"
        " PUNCTUATED BY a LIFESPAN 30 MINUTES ON VIOLATION ERROR) TIMESTAMP BY ts;"
        "CREATE STREAM closed (x BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts",
        "bid",
    )
    assert bid.constraints == (
        Punctuated(("a", "b"), None, "closed", ("x", "y"), 4 * HOUR),
        Punctuated(("a",), lifespan=30 * MINUTE, on_violation=OnViolation.ERROR),
    )


def test_a_stream_may_refer_to_one_that_comes_later_in_any_spelling() -> None:
    child = stream(
        "CREATE STREAM child (p BIGINT, ts TIMESTAMP, FOREIGN KEY (P) REFERENCES PARENT (ID) INFERRED) TIMESTAMP BY ts;"
        "CREATE STREAM Parent (Id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts",
        "child",
    )
    assert child.constraints == (Reference(("p",), "Parent", ("Id",), Inferred()),)


def test_a_reference_to_a_table_needs_no_within() -> None:
    child = stream(
        "CREATE STREAM s (c BIGINT, ts TIMESTAMP, FOREIGN KEY (c) REFERENCES category (id)) TIMESTAMP BY ts; " + SHOP,
        "s",
    )
    assert child.constraints == (Reference(("c",), "category", ("id",), WithinRows(0)),)


def test_a_stream_may_refer_to_itself() -> None:
    text = (
        "CREATE STREAM s (a INT, p INT, ts TIMESTAMP, FOREIGN KEY (p) REFERENCES s (a) WITHIN 5 ROWS) TIMESTAMP BY ts"
    )
    assert stream(text, "s").constraints == (Reference(("p",), "s", ("a",), WithinRows(5)),)


def test_a_time_column_may_count_microseconds() -> None:
    assert stream("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts", "s").timestamp == "ts"


def test_the_clauses_of_a_stream_come_in_any_order() -> None:
    text = "CREATE STREAM s (UNIQUE (a), a BIGINT, ts TIMESTAMP) USING rate TIMESTAMP BY ts DELAY 1 MINUTE"
    assert stream(text, "s") == StreamDef(
        "s", (Attribute("a", BIGINT), Attribute("ts", TIMESTAMP)), "ts", MINUTE, (Unique(("a",)),), Connector("rate")
    )


def test_time_may_go_on_without_a_stream_that_is_quiet() -> None:
    head = "CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts"
    assert stream(f"{head} IDLE AFTER 2 MINUTES", "s").idle == 2 * MINUTE
    both = stream(f"{head} DELAY 1 MINUTE IDLE AFTER 30 SECONDS USING rate", "s")
    assert (both.delay, both.idle) == (MINUTE, MINUTE // 2)
    assert stream(head, "s").idle is None


def test_options_have_keys_of_many_parts_and_plain_values() -> None:
    text = (
        "CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts USING kafka"
        " OPTIONS (kafka.bootstrap.servers = 'host:9092', 'startingOffsets' earliest, maxRows 5, skew -1, flag true)"
    )
    connector = stream(text, "s").connector
    assert connector is not None
    assert connector.options == (
        ("kafka.bootstrap.servers", "host:9092"),
        ("startingOffsets", "earliest"),
        ("maxRows", "5"),
        ("skew", "-1"),
        ("flag", "true"),
    )


@pytest.mark.parametrize(
    "name", ["unique", "clustered", "ordered", "punctuated", "virtual", "stream", "query", "timestamp"]
)
def test_a_column_may_have_the_name_of_a_clause(name: str) -> None:
    assert stream(f"CREATE STREAM s ({name} BIGINT, ts TIMESTAMP) TIMESTAMP BY ts", "s").attributes[0].name == name


def test_a_virtual_column_is_in_no_row() -> None:
    script = bound(
        "CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time; SELECT * FROM syn"
    )
    assert script.catalog.streams[0].attributes[1] == Attribute("id", BIGINT, virtual=True)
    assert [column.name for column in script.queries[0].schema] == ["time", "ip"]


def test_an_assertion_is_over_tuple_variables() -> None:
    script = bound(
        "CREATE STREAM syn (time TIMESTAMP, VIRTUAL id BIGINT, ip STRING) TIMESTAMP BY time;"
        "CREATE ASSERTION same_ip FOR Syn x, syn AS y WHERE x.id = y.id THEN x.ip = y.ip AND x.time = y.time;"
        "CREATE ASSERTION comes_again FOR syn"
        " THEN EXISTS syn later WHERE later.time - syn.time <= INTERVAL 5 SECONDS AND later.time > syn.time"
    )
    same_ip, comes_again = (d for d in script.catalog.definitions.values() if isinstance(d, AssertionDef))
    assert same_ip.each == (TupleVariable("syn", "x"), TupleVariable("syn", "y"))
    assert [expression_text(e) for e in same_ip.premise] == ["x.id = y.id"]
    assert [expression_text(e) for e in same_ip.conclusion] == ["x.ip = y.ip", "x.time = y.time"]
    assert same_ip.some == ()
    assert comes_again.each == (TupleVariable("syn", "syn"),)
    assert comes_again.some == (TupleVariable("syn", "later"),)
    assert comes_again.premise == ()
    assert [expression_text(e) for e in comes_again.conclusion] == [
        "later.time - syn.time <= INTERVAL 5 SECONDS",
        "later.time > syn.time",
    ]


def test_a_premise_does_not_see_what_exists() -> None:
    text = "CREATE ASSERTION a FOR bid x WHERE y.id = x.auction THEN EXISTS item y WHERE y.id = x.auction"
    assert refused(SHOP + text) == ["there is no y in FOR"]


def test_a_view_remembers_all_that_it_reads() -> None:
    script = bound(
        SHOP + "CREATE VIEW v AS WITH q AS (SELECT * FROM bid) SELECT q.price FROM q, category;"
        "CREATE VIEW w AS SELECT price FROM v WHERE EXISTS (SELECT * FROM item)"
    )
    views = [d for d in script.catalog.definitions.values() if isinstance(d, ViewDef)]
    assert [view.reads for view in views] == [{"bid", "category"}, {"bid", "category", "v", "item"}]


def test_alter_adds_constraints() -> None:
    item = stream(SHOP + "ALTER STREAM Item ADD UNIQUE (ID), CLUSTERED BY name WITHIN 5 ROWS", "item")
    assert item.constraints == (Unique(("id",)), Clustered(("name",), WithinRows(5)))


def test_or_replace_replaces_and_if_not_exists_keeps() -> None:
    replaced = bound(SHOP + "CREATE OR REPLACE TABLE category (id INT)").catalog.tables[0]
    assert replaced.attributes == (Attribute("id", INT),)
    kept = bound(SHOP + "CREATE TABLE IF NOT EXISTS Category (id INT)").catalog.tables[0]
    assert len(kept.attributes) == 2


def test_queries_too_are_replaced_and_kept() -> None:
    first = SHOP + "CREATE QUERY q AS SELECT price FROM bid;"
    replaced = bound(first + "CREATE OR REPLACE QUERY Q AS SELECT auction FROM bid")
    assert [query.schema[0].name for query in replaced.queries] == ["auction"]
    kept = bound(first + "CREATE QUERY IF NOT EXISTS Q AS SELECT auction FROM bid")
    assert [query.schema[0].name for query in kept.queries] == ["price"]


def test_drop_removes() -> None:
    script = bound(
        SHOP + "CREATE VIEW v AS SELECT * FROM bid; CREATE QUERY q AS SELECT * FROM v;"
        "CREATE ASSERTION a FOR item x THEN x.price > 0;"
        "DROP QUERY Q; DROP VIEW V; DROP STREAM bid; DROP ASSERTION a; DROP STREAM item; DROP TABLE category;"
        "DROP TABLE IF EXISTS category; DROP QUERY IF EXISTS q"
    )
    assert not script.queries
    assert not script.catalog.definitions


@pytest.mark.parametrize(
    ("made", "user"),
    [
        ("CREATE VIEW v AS SELECT * FROM item", "v"),
        ("CREATE VIEW v AS SELECT * FROM bid WHERE EXISTS (SELECT * FROM item)", "v"),
        ("CREATE QUERY q AS SELECT * FROM item", "q"),
        ("CREATE ASSERTION a FOR item x THEN x.price > 0", "a"),
        ("CREATE ASSERTION a FOR bid x THEN EXISTS item y WHERE y.id = x.auction", "a"),
    ],
)
def test_what_is_used_is_neither_dropped_nor_replaced(made: str, user: str) -> None:
    assert refused(f"{SHOP}; {made}; DROP STREAM item") == [f"item cannot be dropped: {user} uses it"]
    replacing = "CREATE OR REPLACE STREAM item (ts TIMESTAMP) TIMESTAMP BY ts"
    assert refused(f"{SHOP}; {made}; {replacing}") == [f"item cannot be replaced: {user} uses it"]


def test_a_query_of_with_is_not_the_stream_of_that_name() -> None:
    bound(SHOP + "CREATE VIEW v AS WITH item AS (SELECT price FROM bid) SELECT * FROM item; DROP STREAM item")


def test_a_stream_that_another_refers_to_is_not_dropped() -> None:
    assert refused(AUCTION + "DROP STREAM item") == ["item cannot be dropped: bid uses it"]
    bound(AUCTION + "DROP STREAM bid; DROP STREAM item")


def test_the_constraints_of_a_stream_that_is_gone_are_not_checked() -> None:
    wrong = "CREATE STREAM s (a BIGINT, ts TIMESTAMP, FOREIGN KEY (a) REFERENCES nosuch (a) INFERRED) TIMESTAMP BY ts;"
    bound(wrong + "DROP STREAM s")
    bound(wrong + "CREATE OR REPLACE STREAM s (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")


def test_a_catalog_goes_on_in_the_next_text() -> None:
    first = bound(SHOP + "CREATE VIEW v AS SELECT price FROM bid")
    second = bind_text(
        "SELECT price FROM v; CREATE STREAM bid (ts TIMESTAMP) TIMESTAMP BY ts", "second.sql", first.catalog
    )
    assert [error.message for error in second.errors] == ["bid is there already"]
    assert len(second.queries) == 1


def test_a_catalog_is_not_changed_by_what_follows() -> None:
    first = bound(SHOP)
    bind_text("DROP STREAM bid", "second.sql", first.catalog).checked()
    assert first.catalog.get("bid") is not None


def test_several_errors_of_one_declaration_come_at_once() -> None:
    text = """
    CREATE STREAM s (
      a BIGNIT, b BIGINT, B INT, VIRTUAL v BIGINT,
      UNIQUE (c), ORDERED BY v WITHIN 5 ROWS, PUNCTUATED BY (b) WHEN b
    ) TIMESTAMP BY d;
    """
    assert refused(text) == [
        "there is no type BIGNIT",
        "the column B is declared twice",
        "there is no column c",
        "v is virtual: no row has it",
        "a condition is true or false, and this is a BIGINT",
        "there is no column d",
    ]


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("RATE 1000 PER SECOND", Rated(1000, None, SECOND)),
        ("RATE 1000 ROWS PER SECOND", Rated(1000, None, SECOND)),
        ("RATE BETWEEN 0 AND 7 PER MINUTE", Rated(7, 0, MINUTE)),
        ("RATE 1 PER 10 SECONDS", Rated(1, None, 10 * SECOND)),
    ],
)
def test_a_rate_is_read_and_written(text: str, rate: Rated) -> None:
    declared = stream(f"CREATE STREAM s (rate BIGINT, ts TIMESTAMP, {text}) TIMESTAMP BY ts", "s")
    assert declared.constraints == (rate,)
    assert [attribute.name for attribute in declared.attributes] == ["rate", "ts"]
    again = stream(f"CREATE STREAM s (ts TIMESTAMP, {constraint_text(rate)}) TIMESTAMP BY ts", "s")
    assert again.constraints == (rate,)


def test_a_latency_is_a_time() -> None:
    text = "CREATE STREAM s (a BIGINT, ts TIMESTAMP, {} LATENCY 2 SECONDS) TIMESTAMP BY ts"
    latency = WithinTime(2 * SECOND, is_latency=True)
    assert stream(text.format("CLUSTERED BY a"), "s").constraints == (Clustered(("a",), latency),)
    assert stream(text.format("ORDERED BY a"), "s").constraints == (Ordered("a", latency),)
    assert constraint_text(Ordered("a", latency)) == "ORDERED BY a LATENCY 2 SECONDS"
    formatted = format_text(text.format("ORDERED BY a"))
    assert "ORDERED BY a LATENCY 2 SECONDS" in formatted
    assert format_text(formatted) == formatted

"""What is read: windows, ISTREAM and its kin, names, comments, several statements in one text."""

from __future__ import annotations

import pytest

from penstock.algebra.relations import (
    NOW,
    PartitionRows,
    Range,
    Rows,
    StreamKind,
    ToStream,
    Unbounded,
    Window,
    WindowSpec,
    walk_relations,
)
from penstock.types import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from tests.sql.shop import SHOP, asked, bound, plan, refusals, refused


def window(select: str) -> WindowSpec:
    (spec,) = (node.spec for node in walk_relations(asked(select).relation) if isinstance(node, Window))
    return spec


@pytest.mark.parametrize(
    ("written", "spec"),
    [
        ("", Unbounded()),
        ("[UNBOUNDED]", Unbounded()),
        ("[ROWS UNBOUNDED]", Unbounded()),
        ("[RANGE UNBOUNDED]", Unbounded()),
        ("[NOW]", NOW),
        ("[RANGE 0 SECONDS]", NOW),
        ("[RANGE 10 MINUTES]", Range(10 * MINUTE)),
        ("[RANGE 10 MINUTES SLIDE 1 MINUTE]", Range(10 * MINUTE, MINUTE)),
        ("[RANGE 1 HOUR SLIDE 1 HOUR]", Range(HOUR, HOUR)),
        ("[ROWS 1]", Rows(1)),
        ("[ROWS 10000]", Rows(10_000)),
        ("[range 10 minutes slide 1 minute]", Range(10 * MINUTE, MINUTE)),
        ("[ Rows\n7 ]", Rows(7)),
    ],
)
def test_a_window_may_stand_before_and_after_the_alias(written: str, spec: WindowSpec) -> None:
    assert window(f"SELECT * FROM bid {written}") == spec
    assert window(f"SELECT * FROM bid {written} AS b") == spec
    assert window(f"SELECT * FROM bid {written} b WHERE b.price > 5") == spec
    assert window(f"SELECT * FROM bid AS b {written}") == spec
    assert window(f"SELECT * FROM bid b {written} WHERE b.price > 5") == spec
    assert window(f"SELECT * FROM (bid {written}) AS b") == spec


@pytest.mark.parametrize("written", ["PARTITION BY auction, bidder ROWS 3", "partition by Auction, BIDDER rows 3"])
def test_a_partitioned_window_holds_rows_per_value_of_its_columns(written: str) -> None:
    spec = window(f"SELECT * FROM bid [{written}] AS b")
    assert isinstance(spec, PartitionRows)
    assert [str(column) for column in spec.by] == ["b.auction", "b.bidder"]
    assert spec.count == 3


@pytest.mark.parametrize(
    ("time", "microseconds"),
    [
        ("5 MICROSECONDS", 5 * MICROSECOND),
        ("1 MICROSECOND", MICROSECOND),
        ("5 MILLISECONDS", 5 * MILLISECOND),
        ("1 second", SECOND),
        ("30 SECONDS", 30 * SECOND),
        ("1 Minute", MINUTE),
        ("2 hours", 2 * HOUR),
        ("7 DAYS", 7 * DAY),
        ("1.5 HOURS", 90 * MINUTE),
        ("0.000001 SECONDS", MICROSECOND),
        ("'10' MINUTES", 10 * MINUTE),
    ],
)
def test_times_have_units(time: str, microseconds: int) -> None:
    assert window(f"SELECT * FROM bid [RANGE {time}]") == Range(microseconds)


def test_each_occurrence_has_a_window_of_its_own() -> None:
    assert plan("SELECT x.price FROM bid [ROWS 5] x, bid [NOW] y") == (
        "Project x.price\n└─ Join\n   ├─ bid [ROWS 5] AS x\n   └─ bid [NOW] AS y"
    )


@pytest.mark.parametrize("kind", [kind for kind in StreamKind if kind is not StreamKind.ON_CLOSE])
@pytest.mark.parametrize(
    "form", ["{}(auction, price)", "{} auction, price", "{}( auction , price )", "{}\nauction, price"]
)
def test_a_relation_becomes_a_stream(kind: StreamKind, form: str) -> None:
    for written in (kind.value, kind.value.lower(), kind.value.capitalize()):
        root = asked(f"SELECT {form.format(written)} FROM bid").root
        assert isinstance(root, ToStream)
        assert root.kind is kind
        assert [column.name for column in root.schema] == ["auction", "price"]


@pytest.mark.parametrize("selected", ["ISTREAM(*)", "ISTREAM *", "ISTREAM bid.*", "ISTREAM(bid.*)"])
def test_all_columns_become_a_stream(selected: str) -> None:
    assert [column.name for column in asked(f"SELECT {selected} FROM bid").schema] == [
        "auction",
        "bidder",
        "price",
        "kind",
        "ts",
    ]


@pytest.mark.parametrize(
    "selected",
    ["DISTINCT ISTREAM(price)", "ISTREAM(DISTINCT price)", "ISTREAM DISTINCT price", "DISTINCT ISTREAM price"],
)
def test_distinct_may_stand_inside_and_outside_of_istream(selected: str) -> None:
    assert plan(f"SELECT {selected} FROM bid") == (
        "ISTREAM\n└─ Distinct\n   └─ Project bid.price\n      └─ bid [UNBOUNDED]"
    )


def test_istream_takes_a_list_that_begins_with_a_parenthesis() -> None:
    assert plan("SELECT ISTREAM (price + 1) * 2 AS x, kind FROM bid") == (
        "ISTREAM\n└─ Project (bid.price + 1) * 2 AS x, bid.kind\n   └─ bid [UNBOUNDED]"
    )
    assert plan("SELECT ISTREAM(price) AS x FROM bid") == "ISTREAM\n└─ Project bid.price AS x\n   └─ bid [UNBOUNDED]"


@pytest.mark.parametrize(
    "selected", ["istream", "istream AS x", "istream, istream", "istream + 1", "q.istream", "`istream`"]
)
def test_a_column_may_be_named_istream(selected: str) -> None:
    root = asked(f"SELECT {selected} FROM (SELECT price AS istream FROM bid) AS q").root
    assert not isinstance(root, ToStream)


def test_a_column_named_istream_can_be_streamed() -> None:
    root = asked("SELECT ISTREAM istream FROM (SELECT price AS istream FROM bid) AS q").root
    assert isinstance(root, ToStream)
    assert root.schema[0].name == "istream"


@pytest.mark.parametrize(
    "select", ["(SELECT ISTREAM price FROM bid)", "WITH q AS (SELECT * FROM bid) SELECT ISTREAM price FROM q"]
)
def test_the_outermost_select_may_stand_in_parentheses_and_after_with(select: str) -> None:
    assert isinstance(asked(select).root, ToStream)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT price FROM bid ALLOW UNBOUNDED",
        "SELECT price FROM bid [ROWS 5] allow unbounded",
        "SELECT price FROM bid b ALLOW UNBOUNDED",
        "SELECT price FROM bid WHERE price > 5 ALLOW UNBOUNDED",
        "SELECT price FROM bid GROUP BY price ALLOW UNBOUNDED",
        "SELECT price FROM bid GROUP BY price HAVING COUNT(*) > 1 ALLOW UNBOUNDED",
        "SELECT name FROM item JOIN category USING (id, name) ALLOW UNBOUNDED",
        "SELECT price FROM bid UNION SELECT id FROM item ALLOW UNBOUNDED",
        "CREATE QUERY q ALLOW UNBOUNDED AS SELECT price FROM bid",
        "CREATE QUERY q WITH (adaptive = 'off') ALLOW UNBOUNDED AS SELECT price FROM bid",
        "CREATE QUERY q WITH (adaptive = 'off', early = 'on') ALLOW UNBOUNDED AS SELECT price FROM bid",
        "CREATE QUERY q ALLOW UNBOUNDED WITH (adaptive 'orders') AS SELECT price FROM bid",
        "CREATE QUERY q AS SELECT price FROM bid ALLOW UNBOUNDED",
    ],
)
def test_a_query_may_be_allowed_to_be_unbounded(select: str) -> None:
    assert asked(select).allow_unbounded


def test_a_query_is_not_allowed_to_be_unbounded_by_itself() -> None:
    assert not asked("SELECT price FROM bid").allow_unbounded


def test_a_bare_query_has_a_name() -> None:
    assert asked("SELECT price FROM bid").name == "query"


def test_keywords_functions_and_names_have_no_case() -> None:
    lower = plan("select max(price) as p from bid [range 1 hour] where kind like 'a%' group by auction")
    upper = plan("SELECT MAX(PRICE) AS p FROM BID [RANGE 1 HOUR] WHERE KIND LIKE 'a%' GROUP BY AUCTION")
    assert lower == upper


def test_names_keep_the_spelling_of_their_declaration() -> None:
    script = bound("CREATE STREAM CarStr (Cid BIGINT, ts TIMESTAMP) TIMESTAMP BY TS; SELECT cid FROM carstr")
    assert script.catalog.streams[0].name == "CarStr"
    assert script.catalog.streams[0].timestamp == "ts"
    (query,) = script.queries
    assert str(query.relation.inputs[0].schema[0]) == "CarStr.Cid"
    assert query.schema[0].name == "cid", "an output is named as it was asked for"


def test_quoted_names_may_hold_anything() -> None:
    script = bound(
        "CREATE STREAM `my stream` (`a b` BIGINT, `select` BIGINT, `x``y` BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
        "SELECT `a b`, `select`, q.`x``y` AS `;` FROM `my stream` AS q"
    )
    assert [column.name for column in script.queries[0].schema] == ["a b", "select", ";"]


def test_a_keyword_in_backquotes_is_a_name() -> None:
    assert refused("CREATE QUERY union AS SELECT 1 FROM s")[0] == "expected the query's name"
    assert bound(SHOP + "CREATE QUERY `union` AS SELECT price FROM bid").queries[0].name == "union"


def test_comments_are_passed_over() -> None:
    assert (
        plan(
            """
        -- a comment; with a semicolon and an apostrophe: it's
        SELECT /* in the middle */ price -- at the end
        FROM bid /* over
        several lines /* and nested */ */ [ROWS 5] -- SELECT
        """
        )
        == "Project bid.price\n└─ bid [ROWS 5]"
    )


def test_a_text_of_comments_alone_says_nothing() -> None:
    script = bound("-- nothing\n;;/* at all */;")
    assert not script.queries
    assert not script.catalog.definitions


def test_a_text_may_hold_many_statements() -> None:
    script = bound(SHOP + ";;".join(f"CREATE QUERY q{i} AS SELECT price FROM bid [ROWS {i + 1}]" for i in range(50)))
    assert [query.name for query in script.queries] == [f"q{i}" for i in range(50)]


def test_semicolons_in_strings_and_names_end_nothing() -> None:
    assert plan("SELECT price AS `a;b` FROM bid WHERE kind = ';'") == (
        "Project bid.price AS `a;b`\n└─ Select bid.kind = ';'\n   └─ bid [UNBOUNDED]"
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it''s'", "it''s"),
        ('"it\'s"', "it''s"),
        ("'a' 'b'", None),
        (r"'tab\t'", r"tab\t"),
        (r"'\\'", r"\\"),
        ("''", ""),
        ("'--'", "--"),
        ("'/*'", "/*"),
    ],
)
def test_strings(written: str, value: str | None) -> None:
    shown = "CONCAT('a', 'b')" if value is None else f"'{value}'"
    assert plan(f"SELECT {written} AS x FROM bid") == f"Project {shown} AS x\n└─ bid [UNBOUNDED]"


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("1", "INT"),
        ("2147483647", "INT"),
        ("-2147483648", "INT"),
        ("2147483648", "BIGINT"),
        ("9223372036854775807", "BIGINT"),
        ("-9223372036854775808", "BIGINT"),
        ("9223372036854775808", "DECIMAL(19, 0)"),
        ("1.50", "DECIMAL(3, 2)"),
        ("0.001", "DECIMAL(3, 3)"),
        (".5", "DECIMAL(1, 1)"),
        ("1e3", "DOUBLE"),
        ("1.5E-3", "DOUBLE"),
        ("7L", "BIGINT"),
        ("7D", "DOUBLE"),
        ("X'1F'", "BINARY"),
        ("TRUE", "BOOLEAN"),
        ("DATE '2026-01-31'", "DATE"),
        ("TIMESTAMP '2026-01-31 12:00:00'", "TIMESTAMP"),
    ],
)
def test_constants_have_types(written: str, type_: str) -> None:
    assert str(asked(f"SELECT {written} AS x FROM bid").schema[0].type) == type_


@pytest.mark.parametrize("written", ["1e999", "-1e999", "9" * 39, "0." + "9" * 39, "9" * 5000])
def test_a_number_that_no_type_holds_is_refused(written: str) -> None:
    (message,) = refusals(f"SELECT {written} AS x FROM bid")
    assert message.startswith("no type holds ")


def test_a_hexadecimal_number_is_not_taken_for_bytes() -> None:
    assert refusals("SELECT 0x1F AS x FROM bid") == ["there are no hexadecimal numbers"]


def test_a_list_does_not_end_in_a_comma() -> None:
    assert refusals("SELECT price, FROM bid") == ["FROM is not expected here"]
    assert refusals("SELECT price FROM bid,") == ["expected the name of a stream"]
    assert refusals("SELECT price FROM bid GROUP BY price,") == ["something is missing at the end"]


@pytest.mark.parametrize("call", ["CAST(price AS INT", "EXTRACT(HOUR FROM ts", "POSITION('a' IN kind", "ABS(price"])
def test_a_call_ends_with_its_parenthesis(call: str) -> None:
    assert refusals(f"SELECT {call} FROM bid") == ["expected )"]


def test_a_statement_ends_with_a_semicolon() -> None:
    assert refusals("CREATE QUERY a AS SELECT price FROM bid CREATE QUERY b AS SELECT price FROM bid") == [
        "CREATE is not expected here"
    ]


@pytest.mark.parametrize(
    "select",
    [
        "SELECT " + "(" * 5000 + "price" + ")" * 5000 + " FROM bid",
        "SELECT " + "(" * 5000,
        "SELECT " + "ABS(" * 5000 + "price" + ")" * 5000 + " FROM bid",
        "SELECT " + "- " * 5000 + "price FROM bid",
        "SELECT price FROM bid WHERE " + "NOT " * 5000 + "price > 5",
        "SELECT " + "CASE WHEN TRUE THEN " * 2000 + "price" + " END" * 2000 + " AS x FROM bid",
        "SELECT " + " + ".join(["price"] * 5000) + " AS x FROM bid",
        " UNION ALL ".join(["SELECT price FROM bid"] * 2000),
        "SELECT price FROM bid WHERE " + "EXISTS (SELECT * FROM bid WHERE " * 500 + "price > 5" + ")" * 500,
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "bid" + ") AS q" * 500,
    ],
)
def test_what_is_nested_too_deeply_is_refused(select: str) -> None:
    (message,) = refusals(select)
    assert message.startswith("this is nested too deeply")


@pytest.mark.parametrize(
    "select",
    [
        "SELECT price FROM bid WHERE " + " AND ".join(["price > 5"] * 2000),
        "SELECT price FROM bid WHERE " + " OR ".join(["price = 5 AND bidder = 6"] * 1000),
        "SELECT price FROM bid WHERE price IN (" + ", ".join(map(str, range(2000))) + ")",
        "SELECT " + ", ".join(["price"] * 2000) + " FROM bid",
        "SELECT " + " || ".join(["kind"] * 1000) + " AS x FROM bid",
        "SELECT " + " + ".join(["price"] * 140) + " AS x FROM bid",
        "SELECT " + "(" * 30 + "price" + ")" * 30 + " AS x FROM bid",
    ],
)
def test_what_is_only_long_is_read(select: str) -> None:
    assert asked(select).schema

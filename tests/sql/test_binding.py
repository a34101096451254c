"""What queries mean: scopes, joins, subqueries, groups, views, and several errors at once."""

from __future__ import annotations

import pytest

from penstock.algebra.relations import streams
from tests.sql.shop import SHOP, asked, bound, plan, refusals, refused


def names(select: str) -> list[str]:
    return [column.name for column in asked(select).schema]


def test_an_output_is_named_after_its_column_or_its_expression() -> None:
    assert names("SELECT price, b.price AS p, price p2, (price), MAX(kind) FROM bid b GROUP BY price") == [
        "price",
        "p",
        "p2",
        "price_1",
        "max(kind)",
    ]


def test_outputs_of_one_name_are_numbered() -> None:
    assert names("SELECT b.price, i.price, b.price AS price_1 FROM bid b, item i") == ["price", "price_1", "price_1_1"]


def test_a_name_is_looked_for_in_all_of_from() -> None:
    assert plan("SELECT auction, name FROM bid, item") == (
        "Project bid.auction, item.name\n└─ Join\n   ├─ bid [UNBOUNDED]\n   └─ item [UNBOUNDED]"
    )


def test_an_alias_hides_the_name_of_its_stream() -> None:
    assert refusals("SELECT bid.price FROM bid AS b") == ["there is no bid in FROM"]


def test_one_occurrence_may_have_the_name_of_another_stream() -> None:
    assert plan("SELECT item.auction FROM bid AS item") == "Project item.auction\n└─ bid [UNBOUNDED] AS item"


def test_a_self_join_is_of_two_occurrences() -> None:
    assert plan("SELECT x.price FROM bid x, bid y WHERE x.auction = y.auction") == (
        "Project x.price\n└─ Select x.auction = y.auction\n   └─ Join\n"
        "      ├─ bid [UNBOUNDED] AS x\n      └─ bid [UNBOUNDED] AS y"
    )


def test_comma_and_join_make_one_join() -> None:
    assert plan("SELECT b.price FROM bid b JOIN item i ON b.auction = i.id, category c") == (
        "Project b.price\n└─ Join on b.auction = i.id\n   ├─ bid [UNBOUNDED] AS b\n"
        "   ├─ item [UNBOUNDED] AS i\n   └─ category AS c"
    )


def test_using_shows_its_columns_once_and_first() -> None:
    assert names("SELECT * FROM item JOIN category USING (name)") == ["name", "id", "price", "ts", "id_1"]
    assert names("SELECT * FROM item JOIN category USING (id, name)") == ["id", "name", "price", "ts"]


def test_a_column_of_using_is_not_ambiguous() -> None:
    assert plan("SELECT id, category.id AS c FROM item JOIN category USING (id)") == (
        "Project item.id, category.id AS c\n└─ Join on item.id = category.id\n   ├─ item [UNBOUNDED]\n   └─ category"
    )


def test_using_reaches_back_to_the_last_comma() -> None:
    assert refusals("SELECT 1 AS x FROM category c, bid b JOIN item i USING (id)") == [
        "id is not on both sides of the join"
    ]


@pytest.mark.parametrize(("kind", "node"), [("LEFT SEMI", "SemiJoin"), ("SEMI", "SemiJoin"), ("LEFT ANTI", "AntiJoin")])
def test_semi_and_anti_joins_keep_the_left_side_alone(kind: str, node: str) -> None:
    select = f"SELECT * FROM item {kind} JOIN bid ON auction = id AND bid.price > item.price"
    assert plan(select) == (
        "Project item.id, item.price, item.name, item.ts\n"
        f"└─ {node} on bid.auction = item.id AND bid.price > item.price\n   ├─ item [UNBOUNDED]\n   └─ bid [UNBOUNDED]"
    )
    assert refusals(f"{select} WHERE bid.price > 5") == ["there is no bid in FROM"]


def test_exists_is_a_semi_join_on_its_correlated_conditions() -> None:
    assert plan("SELECT id FROM item i WHERE EXISTS (SELECT * FROM bid b WHERE b.auction = i.id AND b.price > 5)") == (
        "Project i.id\n└─ SemiJoin on b.auction = i.id\n   ├─ item [UNBOUNDED] AS i\n"
        "   └─ Select b.price > 5\n      └─ bid [UNBOUNDED] AS b"
    )


def test_not_exists_is_an_anti_join() -> None:
    assert plan("SELECT id FROM item i WHERE NOT EXISTS (SELECT 1 FROM bid b WHERE b.auction = i.id)") == (
        "Project i.id\n└─ AntiJoin on b.auction = i.id\n   ├─ item [UNBOUNDED] AS i\n   └─ bid [UNBOUNDED] AS b"
    )


def test_a_condition_on_the_query_around_alone_stays_in_an_anti_join() -> None:
    assert plan("SELECT id FROM item i WHERE NOT EXISTS (SELECT 1 FROM bid WHERE i.price > 5)") == (
        "Project i.id\n└─ AntiJoin on i.price > 5\n   ├─ item [UNBOUNDED] AS i\n   └─ bid [UNBOUNDED]"
    )


def test_in_compares_with_the_subquery() -> None:
    assert plan("SELECT id FROM item WHERE id IN (SELECT auction FROM bid)") == (
        "Project item.id\n└─ SemiJoin on item.id = bid.auction\n   ├─ item [UNBOUNDED]\n   └─ bid [UNBOUNDED]"
    )


def test_in_compares_rows_of_values() -> None:
    assert "SemiJoin on item.id = bid.auction AND item.price = bid.price" in plan(
        "SELECT id FROM item WHERE (id, price) IN (SELECT auction, price FROM bid)"
    )


def test_not_in_is_not_true_where_a_comparison_is_unknown() -> None:
    assert "AntiJoin on item.id = bid.auction OR item.id IS NULL OR bid.auction IS NULL\n" in plan(
        "SELECT id FROM item WHERE id NOT IN (SELECT auction FROM bid)"
    )
    assert (
        "AntiJoin on (item.id = bid.auction OR item.id IS NULL OR bid.auction IS NULL)"
        " AND (item.price = 5 OR item.price IS NULL)\n"
    ) in plan("SELECT id FROM item WHERE (id, price) NOT IN (SELECT auction, 5 FROM bid)")


def test_not_in_of_constants_needs_no_nulls() -> None:
    assert "AntiJoin on 5 = 3\n" in plan("SELECT id FROM item WHERE 5 NOT IN (SELECT 3 FROM bid)")
    assert "AntiJoin on NULL = 3 OR NULL IS NULL\n" in plan("SELECT id FROM item WHERE NULL NOT IN (SELECT 3 FROM bid)")


@pytest.mark.parametrize(
    ("condition", "node"),
    [
        ("NOT (id NOT IN (SELECT auction FROM bid))", "SemiJoin"),
        ("NOT id IN (SELECT auction FROM bid)", "AntiJoin"),
        ("(NOT (EXISTS (SELECT * FROM bid)))", "AntiJoin"),
        ("NOT NOT EXISTS (SELECT * FROM bid)", "SemiJoin"),
        ("price > 5 AND (name = 'a' AND EXISTS (SELECT * FROM bid))", "SemiJoin"),
    ],
)
def test_negations_and_parentheses_around_a_subquery(condition: str, node: str) -> None:
    assert f"\n└─ {node}" in plan(f"SELECT id FROM item WHERE {condition}")


def test_whether_the_rows_of_an_existence_repeat_does_not_matter() -> None:
    of_set = plan("SELECT id FROM item WHERE id IN (SELECT DISTINCT auction FROM bid)")
    assert of_set == plan("SELECT id FROM item WHERE id IN (SELECT auction FROM bid)")


def test_a_subquery_of_exists_prefers_its_own_columns() -> None:
    assert "SemiJoin\n" in plan("SELECT id FROM item WHERE EXISTS (SELECT * FROM bid WHERE price > 5)")


def test_a_subquery_may_hold_a_subquery() -> None:
    assert plan(
        "SELECT id FROM item i WHERE EXISTS (SELECT * FROM bid b WHERE b.auction = i.id"
        " AND NOT EXISTS (SELECT * FROM category c WHERE c.id = b.bidder))"
    ) == (
        "Project i.id\n└─ SemiJoin on b.auction = i.id\n   ├─ item [UNBOUNDED] AS i\n"
        "   └─ AntiJoin on c.id = b.bidder\n      ├─ bid [UNBOUNDED] AS b\n      └─ category AS c"
    )


def test_a_select_list_of_in_may_use_the_query_around() -> None:
    assert "SemiJoin on i.id = b.auction + i.price\n" in plan(
        "SELECT id FROM item i WHERE i.id IN (SELECT b.auction + i.price FROM bid b)"
    )


def test_having_may_hold_subqueries_of_groups() -> None:
    assert plan(
        "SELECT auction FROM bid b GROUP BY auction HAVING EXISTS (SELECT * FROM item i WHERE i.id = b.auction)"
    ) == (
        "Project agg.auction\n└─ SemiJoin on i.id = agg.auction\n"
        "   ├─ Aggregate by b.auction AS agg.auction\n   │  └─ bid [UNBOUNDED] AS b\n   └─ item [UNBOUNDED] AS i"
    )
    assert "SemiJoin on agg.max = i.price + agg.auction\n" in plan(
        "SELECT auction FROM bid b GROUP BY auction HAVING MAX(b.price) IN (SELECT i.price + b.auction FROM item i)"
    )


def test_a_subquery_of_having_reaches_only_what_is_grouped() -> None:
    assert refusals(
        "SELECT auction FROM bid b GROUP BY auction HAVING EXISTS (SELECT * FROM item i WHERE i.id = b.bidder)"
    ) == ["b.bidder is neither grouped nor aggregated"]


def test_a_scalar_subquery_is_joined_in() -> None:
    assert plan("SELECT id FROM item WHERE price > (SELECT MAX(price) FROM bid [ROWS 5])") == (
        "Project item.id\n└─ Select item.price > scalar.`max(price)`\n   └─ Join\n      ├─ item [UNBOUNDED]\n"
        "      └─ Project agg.max AS scalar.`max(price)`\n         └─ Aggregate MAX(bid.price) AS agg.max\n"
        "            └─ bid [ROWS 5]"
    )


def test_a_scalar_subquery_may_stand_below_and_above_groups() -> None:
    below = "SELECT SUM(price - (SELECT MIN(price) FROM item)) AS x FROM bid"
    assert plan(below).splitlines()[1:3] == [
        "└─ Aggregate SUM(bid.price - scalar.`min(price)`) AS agg.sum",
        "   └─ Join",
    ]
    above = "SELECT SUM(price) - (SELECT MIN(price) FROM item) AS x FROM bid"
    assert plan(above).splitlines()[:2] == ["Project agg.sum - scalar.`min(price)` AS x", "└─ Join"]


def test_a_view_is_expanded_anew_at_each_use() -> None:
    script = bound(
        SHOP + "CREATE VIEW dear AS SELECT auction, price FROM bid [ROWS 5] WHERE price > 100;"
        "SELECT x.price FROM dear x, dear WHERE x.auction = dear.auction"
    )
    (query,) = script.queries
    assert [str(column) for column in query.relation.inputs[0].schema] == [
        "x.auction",
        "x.price",
        "dear.auction",
        "dear.price",
    ]
    assert [stream.occurrence for stream in streams(query.relation)] == ["bid", "bid_2"]


def test_a_view_may_read_a_view() -> None:
    script = bound(
        SHOP + "CREATE VIEW a AS SELECT price AS x FROM bid; CREATE VIEW b AS SELECT x + 1 AS y FROM a; SELECT y FROM b"
    )
    assert script.queries[0].schema[0].name == "y"


def test_a_view_does_not_see_the_with_of_the_query_that_reads_it() -> None:
    script = bound(
        SHOP + "CREATE VIEW v AS SELECT price FROM bid;"
        "WITH bid AS (SELECT id FROM item) SELECT v.price, bid.id FROM v, bid"
    )
    assert [stream.name for stream in streams(script.queries[0].relation)] == ["bid", "item"]


def test_a_query_of_with_reads_those_before_it() -> None:
    assert names("WITH a AS (SELECT price AS x FROM bid), b (y) AS (SELECT x FROM a) SELECT a.x, b.y FROM a, b") == [
        "x",
        "y",
    ]
    assert refusals("WITH b AS (SELECT x FROM a), a AS (SELECT price AS x FROM bid) SELECT * FROM b") == [
        "there is no stream, table or view a"
    ]


def test_a_query_of_with_may_hide_a_stream_and_read_it() -> None:
    assert plan("WITH bid AS (SELECT price FROM bid [ROWS 5]) SELECT * FROM bid") == (
        "Project bid.price\n└─ Project bid_2.price AS bid.price\n   └─ bid [ROWS 5] AS bid_2"
    )


def test_errors_of_a_query_of_with_that_nobody_reads_are_shown() -> None:
    assert refusals("WITH q AS (SELECT prize FROM bid) SELECT price FROM bid") == ["there is no column prize"]


@pytest.mark.parametrize(
    "grouped",
    [
        "price % 10 AS digit, COUNT(*) AS n FROM bid GROUP BY 1",
        "price % 10 AS digit, COUNT(*) AS n FROM bid GROUP BY digit",
    ],
)
def test_a_key_may_be_named_by_its_number_or_alias(grouped: str) -> None:
    assert plan(f"SELECT {grouped}") == (
        "Project agg.key AS digit, agg.count AS n\n"
        "└─ Aggregate by bid.price % 10 AS agg.key: COUNT(*) AS agg.count\n   └─ bid [UNBOUNDED]"
    )


def test_a_key_may_be_named_where_it_stands() -> None:
    assert plan("SELECT tb, tb + 1 AS more, COUNT(*) AS n FROM bid GROUP BY price / 300 AS tb HAVING tb > 7") == (
        "Project agg.tb, agg.tb + 1 AS more, agg.count AS n\n└─ Select agg.tb > 7\n"
        "   └─ Aggregate by bid.price / 300 AS agg.tb: COUNT(*) AS agg.count\n      └─ bid [UNBOUNDED]"
    )


def test_a_column_goes_before_an_alias_in_group_by() -> None:
    assert "Aggregate by bid.price AS agg.price:" in plan(
        "SELECT price % 10 AS price, COUNT(*) AS n FROM bid GROUP BY price"
    )


def test_an_expression_of_keys_may_be_selected() -> None:
    assert "Project (agg.price + 1) * 2 AS x\n" in plan("SELECT (price + 1) * 2 AS x FROM bid GROUP BY price")
    assert "Project agg.key * 2 AS x\n" in plan("SELECT (price + 1) * 2 AS x FROM bid GROUP BY price + 1")


def test_the_first_part_of_a_chain_may_be_a_key() -> None:
    """`a || b || c` is (a || b) || c."""
    assert plan("SELECT kind || kind || 'x' AS c FROM bid GROUP BY kind || kind").startswith(
        "Project CONCAT(agg.key, 'x') AS c\n"
    )
    assert plan("SELECT price > 1 AND price < 9 AND TRUE AS c FROM bid GROUP BY price > 1 AND price < 9").startswith(
        "Project agg.key AND TRUE AS c\n"
    )


def test_having_may_use_aliases_and_they_hide_columns_that_are_not_grouped() -> None:
    assert "Select agg.sum > 100\n" in plan("SELECT SUM(price) AS total FROM bid GROUP BY auction HAVING total > 100")
    assert "Select agg.sum > 100\n" in plan("SELECT SUM(price) AS price FROM bid GROUP BY auction HAVING price > 100")
    assert "Select agg.price > 100\n" in plan("SELECT MAX(kind) AS price FROM bid GROUP BY price HAVING price > 100")


def test_the_argument_of_an_aggregate_is_never_an_alias() -> None:
    assert "MAX(bid.price)" in plan("SELECT COUNT(*) AS price FROM bid GROUP BY auction HAVING MAX(price) > 5")


def test_an_aggregate_that_stands_twice_is_computed_once() -> None:
    assert "Aggregate SUM(bid.price) AS agg.sum\n" in plan(
        "SELECT SUM(price), SUM(price) * 2 FROM bid HAVING SUM(price) > 1"
    )


def test_filter_leaves_out_rows_of_one_aggregate() -> None:
    select = "SELECT COUNT(*) FILTER (WHERE price > 5) AS n, SUM(price) FILTER (WHERE kind = 'a') AS s FROM bid"
    assert plan(select).splitlines()[1] == (
        "└─ Aggregate COUNT(CASE WHEN bid.price > 5 THEN 1 END) AS agg.count, "
        "SUM(CASE WHEN bid.kind = 'a' THEN bid.price END) AS agg.sum"
    )


def test_groups_without_aggregates_are_distinct_keys() -> None:
    assert plan("SELECT auction FROM bid GROUP BY auction") == (
        "Project agg.auction\n└─ Aggregate by bid.auction AS agg.auction\n   └─ bid [UNBOUNDED]"
    )


def test_having_alone_makes_one_group() -> None:
    assert plan("SELECT 'yes' AS answer FROM bid HAVING COUNT(*) > 5") == (
        "Project 'yes' AS answer\n└─ Select agg.count > 5\n"
        "   └─ Aggregate COUNT(*) AS agg.count\n      └─ bid [UNBOUNDED]"
    )
    assert "Aggregate COUNT(*)" in plan("SELECT 1 AS x FROM bid HAVING 1 < 2")


def test_set_operations_are_of_sets_unless_all_is_written() -> None:
    for written, node in [
        ("UNION", "UNION"),
        ("UNION DISTINCT", "UNION"),
        ("UNION ALL", "UNION ALL"),
        ("EXCEPT", "EXCEPT"),
        ("MINUS", "EXCEPT"),
        ("EXCEPT ALL", "EXCEPT ALL"),
        ("INTERSECT", "INTERSECT"),
        ("INTERSECT ALL", "INTERSECT ALL"),
    ]:
        assert plan(f"SELECT auction FROM bid {written} SELECT id FROM item").splitlines()[0] == f"{node} AS auction"


def test_set_operations_widen_their_columns() -> None:
    assert [
        str(c.type) for c in asked("SELECT 1 AS a, NULL AS b FROM bid UNION SELECT price, name FROM item").schema
    ] == [
        "BIGINT",
        "STRING",
    ]


def test_intersect_binds_more_than_union() -> None:
    select = "SELECT auction FROM bid UNION SELECT id FROM item INTERSECT SELECT id FROM category"
    assert [line.split("─ ")[-1].split()[0] for line in plan(select).splitlines() if " AS " in line][:2] == [
        "UNION",
        "Project",
    ]
    assert "└─ INTERSECT" in plan(select)


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("price + 1", "BIGINT"),
        ("1 + 1", "INT"),
        ("price / 2", "BIGINT"),
        ("price / 2.0", "DECIMAL(27, 6)"),
        ("price * 1e0", "DOUBLE"),
        ("COALESCE(1, price)", "BIGINT"),
        ("CASE WHEN TRUE THEN 1 ELSE 1.5 END", "DECIMAL(11, 1)"),
        ("IF(TRUE, NULL, ts)", "TIMESTAMP"),
        ("ts + INTERVAL 1 HOUR", "TIMESTAMP"),
        ("INTERVAL 1 HOUR + ts", "TIMESTAMP"),
        ("UNIX_MICROS(ts - INTERVAL 1 HOUR * 2)", "BIGINT"),
        ("DATE(ts)", "DATE"),
        ("LENGTH(kind)", "INT"),
        ("price = 1", "BOOLEAN"),
        ("-price", "BIGINT"),
        ("- -5", "INT"),
    ],
)
def test_expressions_have_types(expression: str, type_: str) -> None:
    assert str(asked(f"SELECT {expression} AS x FROM bid").schema[0].type) == type_


@pytest.mark.parametrize(
    ("function", "argument", "type_"),
    [
        ("COUNT", "kind", "BIGINT"),
        ("SUM", "1", "BIGINT"),
        ("SUM", "1.50", "DECIMAL(13, 2)"),
        ("AVG", "price", "DOUBLE"),
        ("MIN", "kind", "STRING"),
        ("MAX", "ts", "TIMESTAMP"),
    ],
)
def test_aggregates_have_types(function: str, argument: str, type_: str) -> None:
    assert str(asked(f"SELECT {function}({argument}) AS x FROM bid").schema[0].type) == type_


def test_a_string_that_is_compared_with_a_time_is_read_as_one() -> None:
    assert "bid.ts > TIMESTAMP '2026-01-31 00:00:00'" in plan("SELECT price FROM bid WHERE ts > '2026-01-31'")
    assert "bid.ts IN (TIMESTAMP '2026-01-31 00:00:00')" in plan("SELECT price FROM bid WHERE ts IN ('2026-01-31')")


def test_ilike_compares_lower_case_and_keeps_escapes() -> None:
    assert r"LOWER(bid.kind) LIKE 'a\\x%\\\\_'" in plan(r"SELECT price FROM bid WHERE kind ILIKE 'AXx%\_' ESCAPE 'X'")


@pytest.mark.parametrize(
    ("test", "negated"),
    [
        ("kind LIKE 'a%'", "kind NOT LIKE 'a%'"),
        ("kind LIKE 'a!%' ESCAPE '!'", "kind NOT LIKE 'a!%' ESCAPE '!'"),
        ("kind ILIKE 'a%'", "kind NOT ILIKE 'a%'"),
        ("price IN (1, 2)", "price NOT IN (1, 2)"),
        ("price BETWEEN 1 AND 2", "price NOT BETWEEN 1 AND 2"),
        ("price IS NULL", "price IS NOT NULL"),
        ("(price > 1) IS TRUE", "(price > 1) IS NOT TRUE"),
        ("price IS NOT DISTINCT FROM 1", "price IS DISTINCT FROM 1"),
    ],
)
def test_not_means_the_same_before_a_test_and_within_it(test: str, negated: str) -> None:
    query = "SELECT price FROM bid WHERE {}"
    assert asked(query.format(negated)) == asked(query.format(f"NOT {test}"))
    assert asked(query.format(negated)) != asked(query.format(test))


def test_a_condition_may_be_null() -> None:
    assert plan("SELECT IF(NULL, 1, 2) AS x FROM bid") == plan("SELECT CASE WHEN NULL THEN 1 ELSE 2 END AS x FROM bid")


def test_the_smallest_number_has_no_opposite() -> None:
    assert "Project -(-2147483648) AS x" in plan("SELECT -(-2147483648) AS x FROM bid")


def test_several_errors_of_one_query_come_at_once() -> None:
    assert refusals("SELECT acution, FOO(price) FROM bid WHERE kind > 10 AND prize = 5 GROUP BY auktion") == [
        "there is no column acution",
        "there is no function FOO",
        "cannot compare STRING with INT",
        "there is no column prize",
        "there is no column auktion",
    ]


def test_errors_of_from_come_together_and_hide_those_that_follow_from_them() -> None:
    assert refusals("SELECT x.a, b.price FROM nosuch x, bid b JOIN none ON none.y = b.price WHERE x.z > 5") == [
        "there is no stream, table or view nosuch",
        "there is no stream, table or view none",
    ]


def test_an_error_in_one_statement_does_not_hide_those_in_others() -> None:
    first, last = "CREATE QUERY a AS SELECT acution FROM bid", "CREATE QUERY c AS SELECT prize FROM bid"
    assert refusals(f"{first}; CREATE QUERY b AS SELECT FROM; {last}") == [
        "there is no column acution",
        "expected the name of a stream",
        "there is no column prize",
    ]


def test_an_error_in_a_subquery_and_one_beside_it_come_at_once() -> None:
    assert refusals("SELECT idd FROM item WHERE EXISTS (SELECT * FROM bid WHERE prize > 5) AND prics > 5") == [
        "there is no column idd",
        "there is no column prize",
        "there is no column prics",
    ]


@pytest.mark.parametrize(
    "declaration",
    [
        "CREATE STREAM s (a BIGNIT, ts TIMESTAMP) TIMESTAMP BY ts",
        "CREATE STREAM s (a BIGINT, ts TIMESTAMP)",
        "CREATE STREAM s (a BIGINT ts TIMESTAMP) TIMESTAMP BY ts",
        "CREATE STREAM IF NOT EXISTS s a BIGINT",
        "CREATE OR REPLACE VIEW s AS SELECT nosuch FROM bid",
        "CREATE TABLE s (a)",
    ],
)
def test_a_declaration_that_fails_has_no_consequences(declaration: str) -> None:
    text = f"{SHOP}; {declaration}; SELECT a FROM s WHERE b > 5; DROP STREAM IF EXISTS s; ALTER STREAM s ADD UNIQUE (a)"
    assert len(refused(text)) == 1


def test_a_wrong_key_does_not_make_columns_ungrouped() -> None:
    assert refusals("SELECT auction, price FROM bid GROUP BY auction, prize") == ["there is no column prize"]


def test_columns_of_queries_further_out_are_named() -> None:
    assert refusals(
        "SELECT id FROM item i WHERE EXISTS (SELECT * FROM bid b WHERE EXISTS"
        " (SELECT * FROM category c WHERE c.id = i.id))"
    ) == ["i.id is a column of a query further out"]


def test_views_that_read_views_twice_end() -> None:
    views = [f"CREATE VIEW v{i + 1} AS SELECT x.price FROM v{i} x, v{i} y" for i in range(30)]
    text = ";".join([SHOP, "CREATE VIEW v0 AS SELECT price FROM bid", *views])
    assert refused(text) == ["this query reads more than 500 streams and tables"]


def test_columns_that_double_end() -> None:
    select = "SELECT *, * FROM bid"
    for _ in range(25):
        select = f"SELECT *, * FROM ({select}) AS q"
    (message,) = refusals(select)
    assert message.endswith("5000 are the most")

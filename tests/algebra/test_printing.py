"""Printing: expressions read back as themselves, and plans are pictures."""

from __future__ import annotations

import json
from decimal import Decimal
from textwrap import dedent

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from penstock.algebra.expressions import (
    TRUE,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Comparator,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Operator,
    Or,
)
from penstock.algebra.printing import expression_text, plan_json, plan_text, window_text
from penstock.algebra.relations import (
    NOW,
    PartitionRows,
    Project,
    Query,
    Range,
    Rows,
    Select,
    Unbounded,
    WindowSpec,
)
from penstock.sql import bind_text
from penstock.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY,
    DOUBLE,
    HOUR,
    INT,
    INTERVAL,
    MILLISECOND,
    MINUTE,
    NULL,
    SECOND,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from tests.seeds import CHEAP

X, Y = Column("b", "price", BIGINT), Column("b", "y", BIGINT)
P, Q = Column("b", "p", BOOLEAN), Column("b", "q", BOOLEAN)
S = Column("b", "s", STRING)
TS = Column("b", "ts", TIMESTAMP)
ADD, SUB, MUL, DIV, MOD = Operator


def number(value: int) -> Literal:
    return Literal(value, BIGINT)


def sum_(left: Expr, right: Expr) -> Expr:
    return Arithmetic(ADD, left, right)


def difference(left: Expr, right: Expr) -> Expr:
    return Arithmetic(SUB, left, right)


def product(left: Expr, right: Expr) -> Expr:
    return Arithmetic(MUL, left, right)


EQUAL = Compare(Comparator.EQ, X, Y)

EXPRESSIONS: list[tuple[Expr, str]] = [
    # Names.
    (X, "b.price"),
    (Column("", "price", BIGINT), "price"),
    (Column("b 2", "sum(price)", BIGINT), "`b 2`.`sum(price)`"),
    (Column("", "a`b", BIGINT), "`a``b`"),
    # Constants.
    (Literal(None, BIGINT), "NULL"),
    (Literal(None, NULL), "NULL"),
    (TRUE, "TRUE"),
    (number(-5), "-5"),
    (Literal(1.5, DOUBLE), "1.5"),
    (Literal(1e300, DOUBLE), "1e+300"),
    (Literal(float("nan"), DOUBLE), "CAST('NaN' AS DOUBLE)"),
    (Literal(float("-inf"), DOUBLE), "CAST('-Infinity' AS DOUBLE)"),
    (Literal(Decimal("1.50"), decimal(3, 2)), "1.50"),
    (Literal(Decimal("0E-9"), decimal(9, 9)), "0.000000000"),
    (Literal("it's", STRING), "'it''s'"),
    (Literal("a\\b\n", STRING), r"'a\\b\n'"),
    (Literal(b"\x00\xff", BINARY), "X'00FF'"),
    (Literal(1_704_067_200_000_000, TIMESTAMP), "TIMESTAMP '2024-01-01 00:00:00'"),
    (Literal(-1, TIMESTAMP), "TIMESTAMP '1969-12-31 23:59:59.999999'"),
    (Literal(1_500_000, TIMESTAMP), "TIMESTAMP '1970-01-01 00:00:01.5'"),
    (Literal(-719_162 * DAY, TIMESTAMP), "TIMESTAMP '0001-01-01 00:00:00'"),
    (Literal(2**62, TIMESTAMP), "TIMESTAMP_MICROS(4611686018427387904)"),
    (Literal(19_723, DATE), "DATE '2024-01-01'"),
    (Literal(5 * SECOND, INTERVAL), "INTERVAL 5 SECONDS"),
    (Literal(90 * MINUTE, INTERVAL), "INTERVAL 90 MINUTES"),
    (Literal(-HOUR, INTERVAL), "INTERVAL -1 HOUR"),
    (Literal(0, INTERVAL), "INTERVAL 0 SECONDS"),
    (Literal(1_001, INTERVAL), "INTERVAL 1001 MICROSECONDS"),
    # Operators, from the tightest.
    (Negate(X), "-b.price"),
    (Negate(Negate(X)), "-(-b.price)"),
    (Negate(number(-5)), "-(-5)"),
    (difference(X, number(-5)), "b.price - -5"),
    (Negate(sum_(X, Y)), "-(b.price + b.y)"),
    (Compare(Comparator.GT, product(X, number(2)), number(10)), "b.price * 2 > 10"),
    (product(sum_(X, Y), number(2)), "(b.price + b.y) * 2"),
    (sum_(X, product(Y, number(2))), "b.price + b.y * 2"),
    (difference(difference(X, Y), number(1)), "b.price - b.y - 1"),
    (difference(X, difference(Y, number(1))), "b.price - (b.y - 1)"),
    (Arithmetic(DIV, X, Arithmetic(MOD, X, Y)), "b.price / (b.price % b.y)"),
    (Compare(Comparator.EQ, EQUAL, TRUE), "(b.price = b.y) = TRUE"),
    (IsNull(sum_(X, Y)), "b.price + b.y IS NULL"),
    (IsNull(EQUAL), "(b.price = b.y) IS NULL"),
    (IsNull(IsNull(X)), "(b.price IS NULL) IS NULL"),
    (Not(IsNull(X)), "b.price IS NOT NULL"),
    (In(X, (number(1), number(2))), "b.price IN (1, 2)"),
    (Not(In(X, (number(1),))), "b.price NOT IN (1)"),
    (Like(S, "a%"), "b.s LIKE 'a%'"),
    (Not(Like(S, "!%'", "!")), "b.s NOT LIKE '!%''' ESCAPE '!'"),
    (Not(P), "NOT b.p"),
    (Not(Not(P)), "NOT NOT b.p"),
    (Not(EQUAL), "NOT b.price = b.y"),
    (Not(And((P, Q))), "NOT (b.p AND b.q)"),
    (And((Not(P), Q)), "NOT b.p AND b.q"),
    (And((Or((P, Q)), EQUAL)), "(b.p OR b.q) AND b.price = b.y"),
    (Or((And((P, Q)), EQUAL)), "b.p AND b.q OR b.price = b.y"),
    (And((P, And((Q, P)))), "b.p AND (b.q AND b.p)"),
    (Compare(Comparator.SAME, P, Or((P, Q))), "b.p <=> (b.p OR b.q)"),
    # The rest.
    (Cast(sum_(X, Y), DOUBLE), "CAST(b.price + b.y AS DOUBLE)"),
    (Cast(X, decimal(4, 2)), "CAST(b.price AS DECIMAL(4, 2))"),
    (Call("COALESCE", (X, number(0))), "COALESCE(b.price, 0)"),
    (Case((P, Q), (X, Y), number(0)), "CASE WHEN b.p THEN b.price WHEN b.q THEN b.y ELSE 0 END"),
    (sum_(Case((P,), (X,), Literal(None, BIGINT)), Y), "CASE WHEN b.p THEN b.price END + b.y"),
    (difference(TS, Literal(SECOND, INTERVAL)), "b.ts - INTERVAL 1 SECOND"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_an_expression_is_printed_as(expr: Expr, text: str) -> None:
    assert expression_text(expr) == text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Unbounded(), "[UNBOUNDED]"),
        (NOW, "[NOW]"),
        (Range(10 * MINUTE), "[RANGE 10 MINUTES]"),
        (Range(10 * MINUTE, MINUTE), "[RANGE 10 MINUTES SLIDE 1 MINUTE]"),
        (Range(0, DAY), "[RANGE 0 SECONDS SLIDE 1 DAY]"),
        (Range(1_500 * MILLISECOND), "[RANGE 1500 MILLISECONDS]"),
        (Rows(5), "[ROWS 5]"),
        (
            PartitionRows((Column("c", "cid", BIGINT), Column("c", "a b", BIGINT)), 4),
            "[PARTITION BY cid, `a b` ROWS 4]",
        ),
    ],
)
def test_a_window_is_printed_as(spec: WindowSpec, text: str) -> None:
    assert window_text(spec) == text


DECLARED = """
    CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE STREAM item (id BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE TABLE category (id BIGINT, name STRING);
"""


def bound(sql: str) -> Query:
    return bind_text(DECLARED + sql).checked().queries[0]


PLANS = {
    "CREATE QUERY q AS SELECT * FROM category c": """
        q
        └─ Project c.id, c.name
           └─ category AS c
    """,
    "CREATE QUERY q ALLOW UNBOUNDED AS SELECT DISTINCT name AS n FROM category WHERE id = 1 AND (id = 2 OR id = 3)": """
        q (ALLOW UNBOUNDED)
        └─ Distinct
           └─ Project category.name AS n
              └─ Select category.id = 1 AND (category.id = 2 OR category.id = 3)
                 └─ category
    """,
    "CREATE QUERY q AS SELECT ISTREAM(i.id) FROM item [NOW] i JOIN bid [ROWS 5] ON i.id = auction, category": """
        q
        └─ ISTREAM
           └─ Project i.id
              └─ Join on i.id = bid.auction
                 ├─ item [NOW] AS i
                 ├─ bid [ROWS 5]
                 └─ category
    """,
    "SELECT SUM(DISTINCT price) AS s, COUNT(*) AS n FROM bid": """
        query
        └─ Project agg.sum AS s, agg.count AS n
           └─ Aggregate SUM(DISTINCT bid.price) AS agg.sum, COUNT(*) AS agg.count
              └─ bid [UNBOUNDED]
    """,
    "SELECT price FROM bid GROUP BY price": """
        query
        └─ Project agg.price
           └─ Aggregate by bid.price AS agg.price
              └─ bid [UNBOUNDED]
    """,
    """SELECT id FROM item WHERE id NOT IN (SELECT auction FROM bid) AND EXISTS (SELECT * FROM category)
       EXCEPT ALL SELECT price FROM bid [RANGE 1 HOUR]""": """
        query
        └─ EXCEPT ALL AS id
           ├─ Project item.id AS left.id
           │  └─ SemiJoin
           │     ├─ AntiJoin on item.id = bid.auction OR item.id IS NULL OR bid.auction IS NULL
           │     │  ├─ item [UNBOUNDED]
           │     │  └─ bid [UNBOUNDED]
           │     └─ category
           └─ Project bid_2.price AS right.price
              └─ bid [RANGE 1 HOUR] AS bid_2
    """,
}


@pytest.mark.parametrize(("sql", "picture"), PLANS.items())
def test_a_plan_is_a_picture(sql: str, picture: str) -> None:
    assert plan_text(bound(sql)) == dedent(picture).strip()


def test_a_relation_has_a_picture_without_a_name() -> None:
    assert plan_text(bound("SELECT name FROM category").relation) == "Project category.name\n└─ category"


def test_a_plan_as_json() -> None:
    price = {"name": "bid.price", "type": "BIGINT"}
    auction = {"name": "bid.auction", "type": "BIGINT"}
    ts = {"name": "bid.ts", "type": "TIMESTAMP"}
    count = {"name": "agg.count", "type": "BIGINT"}
    key = {"name": "agg.price", "type": "BIGINT"}
    window = {
        "node": "Window",
        "stream": "bid",
        "occurrence": "bid",
        "window": "[ROWS 5]",
        "timestamp": "bid.ts",
        "schema": [auction, price, ts],
        "inputs": [],
    }
    select = {
        "node": "Select",
        "predicates": ["bid.auction = 1", "bid.price > 2"],
        "schema": [auction, price, ts],
        "inputs": [window],
    }
    aggregate = {
        "node": "Aggregate",
        "by": ["bid.price"],
        "aggregations": ["COUNT(*)"],
        "schema": [key, count],
        "inputs": [select],
    }
    project = {
        "node": "Project",
        "outputs": ["agg.price", "agg.count"],
        "schema": [{"name": "price", "type": "BIGINT"}, {"name": "n", "type": "BIGINT"}],
        "inputs": [aggregate],
    }
    sql = """CREATE QUERY q AS
             SELECT RSTREAM price, COUNT(*) AS n FROM bid [ROWS 5] WHERE auction = 1 AND price > 2 GROUP BY price"""
    stream = {"node": "ToStream", "kind": "RSTREAM", "schema": project["schema"], "inputs": [project]}
    assert plan_json(bound(sql)) == {"name": "q", "allow_unbounded": False, "plan": stream}


@pytest.mark.parametrize("sql", PLANS)
def test_every_plan_is_json(sql: str) -> None:
    plan = plan_json(bound(sql))
    assert json.loads(json.dumps(plan)) == plan


COLUMNS: dict[Type, tuple[Column, ...]] = {
    INT: (Column("t", "i", INT), Column("t", "j k", INT)),
    BOOLEAN: (Column("t", "p", BOOLEAN),),
    STRING: (Column("t", "s", STRING),),
    TIMESTAMP: (Column("t", "ts", TIMESTAMP),),
}
CONSTANTS: dict[Type, st.SearchStrategy[Expr]] = {
    INT: st.integers(0, 9).map(lambda value: Literal(value, INT)),
    BOOLEAN: st.booleans().map(lambda value: Literal(value, BOOLEAN)),
    STRING: st.text("a'\\%\n\t`é\0", max_size=3).map(lambda value: Literal(value, STRING)),
    TIMESTAMP: st.integers(-719_162 * DAY, 2_932_896 * DAY).map(lambda value: Literal(value, TIMESTAMP)),
    INTERVAL: st.integers(-3 * DAY, 3 * DAY).map(lambda value: Literal(value, INTERVAL)),
}


@st.composite
def printable(draw: st.DrawFn, type_: Type, depth: int) -> Expr:
    """An expression that the binder leaves as it is: no widening, no NULL."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(COLUMNS[type_]) | CONSTANTS[type_] if type_ in COLUMNS else CONSTANTS[type_])
    p, i, s = (printable(of, depth - 1) for of in (BOOLEAN, INT, STRING))
    ts, interval = (printable(of, depth - 1) for of in (TIMESTAMP, INTERVAL))
    own = printable(type_, depth - 1)
    sums = st.sampled_from([ADD, SUB])
    several = st.lists(p, min_size=2, max_size=3).map(tuple)
    choices: dict[Type, list[st.SearchStrategy[Expr]]] = {
        INT: [
            st.builds(Arithmetic, st.sampled_from([ADD, SUB, MUL, MOD]), i, i),
            i.filter(lambda arg: not isinstance(arg, Literal)).map(Negate),
            s.map(lambda arg: Call("LENGTH", (arg,))),
            p.map(lambda arg: Cast(arg, INT)),
        ],
        BOOLEAN: [
            several.map(And),
            several.map(Or),
            p.map(Not),
            st.builds(Compare, st.sampled_from(Comparator), i, i),
            st.builds(Compare, st.sampled_from(Comparator), p, p),
            st.builds(Compare, st.sampled_from(Comparator), interval, interval),
            st.one_of(i, p, ts).map(IsNull),
            st.builds(In, i, st.lists(i, min_size=1, max_size=2).map(tuple)),
            # A pattern that ends in its escape character is refused.
            st.builds(Like, s, st.text("a'\\%", max_size=3).map(lambda p: f"{p}a"), st.sampled_from(["\\", "!"])),
        ],
        STRING: [st.builds(lambda a, b: Call("CONCAT", (a, b)), s, s)],
        TIMESTAMP: [st.builds(Arithmetic, sums, ts, interval)],
        INTERVAL: [
            st.builds(lambda a, b: Arithmetic(SUB, a, b), ts, ts),
            st.builds(Arithmetic, sums, interval, interval),
        ],
    }
    case = st.builds(lambda q, a, b: Case((q, q), (a, b), a), p, own, own)
    return draw(st.one_of(*choices[type_], case))


@CHEAP
@given(printable(BOOLEAN, 3))
def test_an_expression_reads_back_as_itself(expr: Expr) -> None:
    text = expression_text(expr)
    note(text)
    assert "\n" not in text
    declared = "CREATE STREAM t (i INT, `j k` INT, p BOOLEAN, s STRING, ts TIMESTAMP) TIMESTAMP BY ts;"
    project = bind_text(f"{declared} SELECT ({text}) AS x FROM t").checked().queries[0].relation
    assert isinstance(project, Project)
    assert project.outputs[0].expr == expr


def test_a_selection_reads_back_as_its_conjuncts() -> None:
    text = "category.id = 1 AND (category.id = 2 OR category.id = 3) AND NOT category.name = 'a'"
    select = next(iter(bound(f"SELECT id FROM category WHERE {text}").relation.inputs))
    assert isinstance(select, Select)
    assert plan_text(select).startswith(f"Select {text}\n")

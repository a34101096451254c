"""Each declaration as constraints of the theory; NULLs; and what the theory leaves out."""

from __future__ import annotations

import pytest

from penstock import implies
from penstock.elimination import Answer
from penstock.elimination.translation import theory_of
from penstock.errors import PenstockError
from penstock.sql import bind_text

STREAMS = """
    CREATE STREAM item (id BIGINT, seller BIGINT, ts TIMESTAMP{item}) TIMESTAMP BY ts;
    CREATE STREAM bid (auction BIGINT, price BIGINT, kind STRING, ts TIMESTAMP{bid}) TIMESTAMP BY ts;
"""


def declared(item: str = "", bid: str = "", more: str = "") -> str:
    return STREAMS.format(item=item and f", {item}", bid=bid and f", {bid}") + more


def test_a_unique_row_has_one_time_and_one_value_in_each_column() -> None:
    text = declared(item="UNIQUE (id)")
    assert implies(text, "FOR item x, item y WHERE x.id = y.id THEN x.ts = y.ts")
    assert implies(text, "FOR item x, item y WHERE x.id = y.id AND x.seller = 3 THEN y.seller = 3")


def test_a_unique_row_may_lack_a_value() -> None:
    equal = "FOR item x, item y WHERE x.id = y.id THEN x.seller = y.seller"
    assert implies(declared(item="UNIQUE (id)"), equal).answer is Answer.NOT_IMPLIED
    assert implies(declared(item="UNIQUE (id), NOT NULL (seller)"), equal)


def test_rows_of_a_counter_model_do_not_agree_on_a_key() -> None:
    answer = implies(declared(item="UNIQUE (id)"), "FOR item x, item y THEN x.ts = y.ts")
    assert answer.counter_model is not None
    ids = [row.values[0] for row in answer.counter_model]
    assert None not in ids
    assert len(set(ids)) == len(ids) == 2


def test_no_condition_is_true_of_null() -> None:
    text = declared()
    assert implies(text, "FOR item x THEN x.id = x.id").answer is Answer.NOT_IMPLIED
    assert implies(text, "FOR item x WHERE x.id = 5 THEN x.id IS NOT NULL")
    assert implies(declared(item="NOT NULL (id)"), "FOR item x THEN x.id IS NOT NULL")


def test_a_reference_bounds_when_its_row_comes_and_does_not_say_that_there_is_one() -> None:
    text = declared(bid="FOREIGN KEY (auction) REFERENCES item (id) WITHIN 5 SECONDS")
    pair = "FOR bid b, item i WHERE b.auction = i.id THEN i.ts - b.ts <= INTERVAL {} SECONDS"
    assert implies(text, pair.format(5))
    assert implies(text, pair.format(4)).answer is Answer.NOT_IMPLIED
    assert implies(text, "FOR bid b THEN EXISTS item i WHERE i.id = b.auction").answer is Answer.NOT_IMPLIED


def test_a_parent_that_comes_first_is_no_later() -> None:
    text = declared(bid="FOREIGN KEY (auction) REFERENCES item (id) WITHIN 0 ROWS")
    assert implies(text, "FOR bid b, item i WHERE b.auction = i.id THEN i.ts <= b.ts")


def test_a_time_in_seconds_is_compared_in_seconds() -> None:
    text = """
        CREATE STREAM p (id BIGINT, s BIGINT) TIMESTAMP BY s SECONDS;
        CREATE STREAM c (id BIGINT, s BIGINT, FOREIGN KEY (id) REFERENCES p (id) WITHIN 2500 MILLISECONDS)
        TIMESTAMP BY s SECONDS;
    """
    assert implies(text, "FOR c x, p y WHERE x.id = y.id THEN y.s - x.s <= 2")
    assert implies(text, "FOR c x, p y WHERE x.id = y.id THEN y.s - x.s <= 1").answer is Answer.NOT_IMPLIED


@pytest.mark.parametrize(
    "bid",
    [
        "FOREIGN KEY (auction) REFERENCES item (id) WITHIN 5 ROWS",
        "FOREIGN KEY (auction) REFERENCES item (id) INFERRED",
        "CLUSTERED BY (auction) WITHIN 5 ROWS",
        "ORDERED BY auction WITHIN 5 ROWS",
        "PUNCTUATED BY (auction) WHEN kind = 'close'",
        "RATE 1000 PER SECOND",
    ],
)
def test_what_the_theory_does_not_express_leaves_a_no_unknown(bid: str) -> None:
    answer = implies(declared(bid=bid), "FOR bid x THEN x.auction = 3")
    assert answer.answer is Answer.UNKNOWN
    assert answer.reason is not None
    assert bid in answer.reason
    assert implies(declared(bid=bid), "FOR bid x WHERE x.auction = 3 THEN x.auction = 3")


def test_an_assertion_with_a_premise_beyond_the_theory_is_left_out() -> None:
    more = "CREATE ASSERTION dear FOR bid x WHERE x.price > 3 THEN x.auction = 5;"
    answer = implies(declared(more=more), "FOR bid x THEN x.auction = 5")
    assert answer.answer is Answer.UNKNOWN
    assert "assertion dear: x.price > 3" in str(answer)


def test_an_assertion_keeps_the_part_of_its_conclusion_that_the_theory_expresses() -> None:
    more = "CREATE ASSERTION dear FOR bid x THEN x.auction = 5 AND x.price > 3;"
    assert implies(declared(more=more), "FOR bid x THEN x.auction = 5")
    assert implies(declared(more=more), "FOR bid x THEN x.price > 3").answer is Answer.UNKNOWN


def test_congruences_of_times() -> None:
    text = """
        CREATE STREAM tick (time BIGINT) TIMESTAMP BY time;
        CREATE ASSERTION even FOR tick x THEN x.time % 4 = 2;
    """
    assert implies(text, "FOR tick x, tick y WHERE x.time < y.time THEN y.time - x.time >= 4")
    assert implies(text, "FOR tick x, tick y THEN (x.time - y.time) % 2 = 0 AND x.time % 4 = y.time % 4")
    assert implies(text, "FOR tick x THEN x.time % 8 = 2").answer is Answer.NOT_IMPLIED


def test_a_counter_model_has_no_more_values_than_its_types() -> None:
    text = "CREATE STREAM s (b BOOLEAN NOT NULL, time BIGINT) TIMESTAMP BY time;"
    two = "FOR s x, s y, s z THEN x.b = y.b"
    assert implies(text, two).answer is Answer.NOT_IMPLIED or implies(text, two).answer is Answer.UNKNOWN
    three = "FOR s x, s y, s z WHERE x.b = x.b AND y.b = y.b THEN x.b = y.b"
    assert implies(text, three).answer is not Answer.IMPLIED


def test_tables_and_delays_say_nothing_of_times() -> None:
    text = """
        CREATE TABLE category (id BIGINT, UNIQUE (id));
        CREATE STREAM s (id BIGINT, time BIGINT, FOREIGN KEY (id) REFERENCES category (id))
        TIMESTAMP BY time DELAY 5 SECONDS;
    """
    theory = theory_of(bind_text(text).checked().catalog)
    assert theory.constraints == ()
    assert theory.left_out == ()


def test_what_is_not_an_assertion_is_refused() -> None:
    with pytest.raises(PenstockError, match="there is no assertion nothing"):
        implies(declared(), "nothing")
    with pytest.raises(PenstockError, match="this is not an assertion"):
        implies(declared(), "CREATE TABLE t (a BIGINT)")
    with pytest.raises(PenstockError, match="there is no column nobody"):
        implies(declared(), "FOR bid x THEN x.nobody = 3")


def test_a_small_effort_gives_no_answer() -> None:
    answer = implies(declared(item="UNIQUE (id)"), "FOR item x, item y WHERE x.id = y.id THEN x.ts = y.ts", effort=2)
    assert answer.answer is Answer.UNKNOWN

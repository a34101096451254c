"""What `penstock check` says of assertions: contradictory, redundant, useless."""

from __future__ import annotations

from penstock.elimination import Contradictory, assertion_notices
from penstock.elimination.assertions import Redundant, Useless
from penstock.sql import bind_text

STREAMS = """
    CREATE STREAM a (k BIGINT, time BIGINT) TIMESTAMP BY time;
    CREATE STREAM b (k BIGINT, time BIGINT) TIMESTAMP BY time;
    CREATE STREAM c (k BIGINT, time BIGINT) TIMESTAMP BY time;
"""
READS_A = [frozenset({"a"})]


def notices(assertions: str, read: list[frozenset[str]] = READS_A) -> tuple[object, ...]:
    return assertion_notices(bind_text(STREAMS + assertions).checked().catalog, read)


def test_assertions_that_exclude_every_row_are_named_and_none_of_them_can_be_spared() -> None:
    found = notices("""
        CREATE ASSERTION needed FOR a x THEN EXISTS b y WHERE y.k = x.k AND y.time >= x.time;
        CREATE ASSERTION unneeded FOR a x, a y WHERE x.k = y.k THEN x.time = y.time;
        CREATE ASSERTION before FOR a x, b y WHERE x.k = y.k THEN y.time < x.time;
    """)
    assert found == (Contradictory("a", ("needed", "before")),)
    assert str(found[0]) == "a can have no row: needed and before exclude every one"


def test_an_assertion_that_others_imply_is_redundant() -> None:
    found = notices("""
        CREATE ASSERTION one FOR a x THEN EXISTS b y WHERE y.k = x.k;
        CREATE ASSERTION two FOR b x THEN EXISTS c y WHERE y.k = x.k;
        CREATE ASSERTION both FOR a x THEN EXISTS c y WHERE y.k = x.k;
        CREATE ASSERTION trivial FOR a x THEN x.time <= x.time;
    """)
    assert found == (Redundant("both", ("one", "two")), Redundant("trivial", ()))
    assert [str(each) for each in found] == [
        "assertion both follows from one and two",
        "assertion trivial is true of all streams",
    ]


def test_an_assertion_is_useless_if_no_chain_links_it_with_what_queries_read() -> None:
    text = """
        CREATE ASSERTION one FOR a x THEN EXISTS b y WHERE y.k = x.k;
        CREATE ASSERTION two FOR b x THEN x.k = x.k;
        CREATE ASSERTION three FOR c x THEN x.k = x.k;
    """
    assert notices(text)[-1] == Useless("three")
    assert not any(isinstance(each, Useless) for each in notices(text, read=[]))


def test_without_assertions_there_is_nothing_to_say() -> None:
    assert notices("") == ()

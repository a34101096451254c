"""Declarations that the tests of the language share, and short ways to look at what a text means."""

from __future__ import annotations

from penstock.algebra.printing import plan_text
from penstock.algebra.relations import Query
from penstock.sql import Script, bind_text

SHOP = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, kind STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM item (id BIGINT, price BIGINT, name STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE category (id BIGINT, name STRING);
"""


def bound(text: str) -> Script:
    """What the text means, which is right."""
    return bind_text(text, "shop.sql").checked()


def asked(select: str) -> Query:
    """The one query that asks `select` of the shop."""
    (query,) = bound(SHOP + select).queries
    return query


def plan(select: str) -> str:
    """The plan of a query of the shop, without its name."""
    return plan_text(asked(select).root)


def refused(text: str) -> list[str]:
    """The messages of what is wrong with a text, in the order of their places."""
    return [error.message for error in bind_text(text, "shop.sql").errors]


def refusals(select: str) -> list[str]:
    return refused(SHOP + select)

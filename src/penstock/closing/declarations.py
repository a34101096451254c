"""Declarations as they are written: what a proof leans on, and what advice asks for."""

from __future__ import annotations

import re

from penstock.algebra.printing import expression_text
from penstock.catalog import (
    Clustered,
    Constraint,
    Inferred,
    NotNull,
    OnViolation,
    Ordered,
    Punctuated,
    Rated,
    Reference,
    Unique,
    Within,
    WithinRows,
    WithinTime,
    inferred_text,
    rate_text,
)
from penstock.types import duration_text


def constraint_text(constraint: Constraint) -> str:
    """A constraint as it stands in CREATE STREAM.

    >>> constraint_text(Reference(("auction",), "item", ("id",), WithinRows(100)))
    'FOREIGN KEY (auction) REFERENCES item (id) WITHIN 100 ROWS'
    >>> constraint_text(Punctuated(("auction",), lifespan=3_600_000_000))
    'PUNCTUATED BY (auction) LIFESPAN 1 HOUR'
    """
    match constraint:
        case Unique(columns):
            return f"UNIQUE ({_list(columns)})"
        case NotNull(columns):
            return f"NOT NULL ({_list(columns)})"
        case Reference(columns, parent, parent_columns, within, then):
            there = f"{name_text(parent)} ({_list(parent_columns)})"
            return f"FOREIGN KEY ({_list(columns)}) REFERENCES {there} {_bounded(within)}{_on_violation(then)}"
        case Clustered(columns, within, then):
            return f"CLUSTERED BY ({_list(columns)}) {_bounded(within)}{_on_violation(then)}"
        case Ordered(column, within, then):
            return f"ORDERED BY {name_text(column)} {_bounded(within)}{_on_violation(then)}"
        case Punctuated(columns, when, source, source_columns, lifespan, then):
            condition = f" WHEN {expression_text(when)}" if when is not None else ""
            elsewhere = f" FROM {name_text(source)} ({_list(source_columns)})" if source is not None else ""
            visibility = f" LIFESPAN {duration_text(lifespan)}" if lifespan is not None else ""
            return f"PUNCTUATED BY ({_list(columns)}){condition}{elsewhere}{visibility}{_on_violation(then)}"
        case Rated(most, least, per):
            return rate_text(most, least, per)


def within_text(within: Within) -> str:
    match within:
        case WithinRows(k):
            return f"{k} ROWS" if k != 1 else "1 ROW"
        case WithinTime(time):
            return duration_text(time)
        case Inferred():
            return "k ROWS"


_WORDS = """
ALTER AND AS BETWEEN CASE CREATE CROSS CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER DESCRIBE DISTINCT DROP ELSE EXCEPT
FETCH FOR FROM GLOB GRANT HAVING ILIKE INNER INSERT INTERSECT INTO JOIN LATERAL LIKE MINUS NOT NOTNULL NULL ON OR OUTER
PARTITIONED_BY QUALIFY REGEXP RETURNING REVOKE RLIKE ROLLBACK SELECT SERDEPROPERTIES SESSION_USER TABLESAMPLE THEN
UNCACHE UNION USING VALUES WHEN WHERE WITH XOR
"""

#: Words that are no names, unless they stand in backquotes.
RESERVED = frozenset(_WORDS.split())


def name_text(name: str) -> str:
    """A name, in backquotes where it is not one word, or a word of the language.

    >>> name_text("price"), name_text("like"), name_text("a b")
    ('price', '`like`', '`a b`')
    """
    is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) and name.upper() not in RESERVED
    return name if is_plain else "`" + name.replace("`", "``") + "`"


def _bounded(within: Within) -> str:
    if isinstance(within, Inferred):
        return inferred_text(within)
    return f"{'LATENCY' if isinstance(within, WithinTime) and within.is_latency else 'WITHIN'} {within_text(within)}"


def _on_violation(then: OnViolation) -> str:
    return "" if then is OnViolation.WARN else f" ON VIOLATION {then.value}"


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(map(name_text, names))

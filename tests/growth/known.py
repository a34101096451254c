"""Shapes that are called safe and grow all the same. Each is a task: mend the engine, or the verdict, and remove it.

The random test leaves queries of these shapes out; `test_known.py` holds the least query of each that grows today.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from penstock.register import Verdict
from penstock.register.states import Holder, State
from tests.growth.process import Declaration, Nulls
from tests.growth.queries import Growing


@dataclass(frozen=True, slots=True)
class Known:
    """A shape, by a test of a query and its verdict, and its least query, with what is declared of which stream."""

    name: str
    applies: Callable[[Growing, Verdict], bool]
    select: str
    declared: tuple[str, ...] = ()
    nulls: Nulls = Nulls.NONE
    cells: int = 1

    @property
    def declarations(self) -> list[Declaration]:
        return [Declaration(*text.split(": ", maxsplit=1)) for text in self.declared]


def is_known(query: Growing, verdict: Verdict) -> bool:
    return any(known.applies(query, verdict) for known in KNOWN)


_GROUPS = (Holder.GROUP_BY, Holder.DISTINCT, Holder.SET_OPERATION, Holder.AGGREGATE_VALUES)
_JOINS = (Holder.JOIN, Holder.SEMI_JOIN, Holder.ANTI_JOIN)
_BAND = re.compile(r"\b(\w+)\.ts (?:>=|<=|>|<|BETWEEN) (\w+)\.ts")


def _leaning(verdict: Verdict, holders: tuple[Holder, ...], *words: str) -> Iterator[State]:
    """The pieces of state of such operators whose proofs lean on such declarations, each of them."""
    for state in verdict.states:
        if state.holder in holders and all(any(word in lean for lean in state.leans_on) for word in words):
            yield state


def _leaning_at_all(verdict: Verdict, word: str) -> bool:
    return any(_leaning(verdict, _JOINS, word))


def _declaring(query: Growing, word: str) -> set[str]:
    """The streams of which such a thing is declared."""
    return {one.stream for one in query.chosen if one.text.startswith(word) and "LIFESPAN" not in one.text}


def _null_is_punctuated(query: Growing, verdict: Verdict) -> bool:
    return query.nulls is not Nulls.NONE and any(_leaning(verdict, _GROUPS, "PUNCTUATED"))


def _band_without_equality(query: Growing, verdict: Verdict) -> bool:
    """A time range between two inputs, one of which has a [RANGE], that are equal in no column."""
    return "[RANGE" in query.select and any(
        not re.search(rf"\b(?:{a}\.\w+ = {b}|{b}\.\w+ = {a})\.", query.select) for a, b in _BAND.findall(query.select)
    )


def _punctuation_that_refers(query: Growing, verdict: Verdict) -> bool:
    referring, punctuated = (_declaring(query, word) for word in ("FOREIGN KEY", "PUNCTUATED"))
    return bool(referring & punctuated) and any(map(partial(_leaning_at_all, verdict), ("FOREIGN KEY", "PUNCTUATED")))


def _two_schemes_of_a_column(query: Growing, verdict: Verdict) -> bool:
    schemes = [
        (one.stream, one.text.split(")")[0])
        for one in query.chosen
        if one.text.startswith("PUNCTUATED") and "LIFESPAN" not in one.text
    ]
    return len(schemes) > len(set(schemes)) and any(_leaning(verdict, _JOINS, "PUNCTUATED"))


def _band_then_punctuation(query: Growing, verdict: Verdict) -> bool:
    return bool(_BAND.search(query.select)) and any(_leaning(verdict, _JOINS, "PUNCTUATED", "TIMESTAMP"))


def _filtered_partitions(query: Growing, verdict: Verdict) -> bool:
    return any("PARTITION BY k" in text for text in (query.select, *query.views))


def _extremes_over_what_tables_give(query: Growing, verdict: Verdict) -> bool:
    computed = re.compile(r"\(SELECT [^()]*(\([^()]*\))?[^()]* FROM t[ )]")
    return any(computed.search(text) and re.search(r"M(IN|AX)\(", text) for text in (query.select, *query.views))


def _keys_of_a_finite_column(query: Growing, verdict: Verdict) -> bool:
    finite = any(re.search(r"\.k (IN \(\d|BETWEEN \d)", text) for text in (query.select, *query.views))
    return finite and bool(_declaring(query, "UNIQUE (k)")) and any(_leaning(verdict, _JOINS))


KNOWN = (
    Known(
        "a NULL that comes all the time, and of which no punctuation comes, is never closed",
        _null_is_punctuated,
        "SELECT DISTINCT k, x FROM a",
        ("a: PUNCTUATED BY (k) WHEN ends = 1",),
        Nulls.OPEN,
    ),
    Known(
        "a range of times without an equality does not purge where the other side has a window",
        _band_without_equality,
        "SELECT a.x, b.x AS y FROM a [RANGE 10000 MICROSECONDS], b WHERE b.ts >= a.ts",
    ),
    Known(
        "a punctuation of a stream that refers to one without declarations stays",
        _punctuation_that_refers,
        "SELECT a.x FROM a, p WHERE a.k = p.k",
        (
            "a: PUNCTUATED BY (k) WHEN ends = 1",
            "a: FOREIGN KEY (k) REFERENCES p (k) WITHIN 1500 MICROSECONDS",
        ),
    ),
    Known(
        "of two schemes of one column the punctuations of the later one stay",
        _two_schemes_of_a_column,
        "SELECT b.g FROM b, a WHERE a.s = b.s",
        (
            "a: PUNCTUATED BY (s) WHEN ends = 1",
            "a: PUNCTUATED BY (s) FROM z (s)",
            "b: PUNCTUATED BY (s) WHEN ends = 1",
        ),
    ),
    Known(
        "a row whose partners come within a range of time, and wait for a punctuation, stays",
        _band_then_punctuation,
        "SELECT m.ts FROM b l, b m, a r WHERE m.ts > l.ts AND m.ts < l.ts + 1500 AND r.k = m.k",
        ("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1"),
    ),
    Known(
        "a window keeps partitions that a condition on their columns rules out",
        _filtered_partitions,
        "SELECT x FROM a [PARTITION BY k ROWS 3] WHERE k IN (1, 2)",
    ),
    Known(
        "a self-join that a finite column bounds remembers all keys of a unique column",
        _keys_of_a_finite_column,
        "SELECT l.k FROM p l, p [RANGE 3000 MICROSECONDS] r WHERE r.k = l.k AND l.k IN (3, 7)",
        ("p: UNIQUE (k)",),
    ),
    Known(
        "MIN and MAX over a join with groups of a table keep all values",
        _extremes_over_what_tables_give,
        "SELECT a.y, MAX(a.w) AS m FROM a, (SELECT y, COUNT(*) AS n FROM t GROUP BY y) d WHERE d.y = a.y GROUP BY a.y",
    ),
)

"""Queries that were called safe, without a warning, and grew: found by running them, and each a class of its own.

What still grows is marked; whoever mends it removes the mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest

from penstock.synopsis import punctuated
from tests.growth.measuring import Batches
from tests.growth.process import Declaration, Nulls, Row, data
from tests.growth.promises import bound, growth_of, growth_over, is_promised, steps_over, verdict_of

each_number_of_cells = pytest.mark.parametrize("cells", [1, 3])


def declared(*texts: str) -> list[Declaration]:
    """Declarations, each as a stream and what is declared of it."""
    return [Declaration(*text.split(": ", maxsplit=1)) for text in texts]


@cache
def with_null_punctuations(epochs: int) -> Sequence[Batches]:
    """Some keys are NULL, and so is that of every fifth punctuation: who takes it as one leaves later NULLs out."""
    return steps_over({name: list(map(_null_closes, rows)) for name, rows in data(epochs, Nulls.OPEN).items()})


def _null_closes(row: Row) -> Row:
    id_, k, s, g, x, y, w, ends, ts = row
    assert isinstance(id_, int)
    return (id_, k, s, g, x, y, w, 1 if k is None and id_ % 5 == 0 else ends, ts)


NULLS = {
    "distinct": "SELECT DISTINCT k, x FROM a",
    "groups": "SELECT k, x, COUNT(*) AS n FROM a GROUP BY k, x",
    "distinct values": "SELECT k, COUNT(DISTINCT x) AS n FROM a GROUP BY k",
    "union": "SELECT k, x FROM a UNION SELECT k, x FROM b",
    "except": "SELECT k, x FROM a EXCEPT SELECT k, x FROM b",
}


@pytest.mark.parametrize("name", NULLS)
@each_number_of_cells
def test_a_null_in_a_punctuated_column_is_closed_by_a_punctuation_with_null(name: str, cells: int) -> None:
    schemes = declared("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1")
    script = bound(schemes, NULLS[name])
    assert is_promised(verdict_of(script))
    assert not growth_over(script, with_null_punctuations, cells)


@pytest.mark.parametrize("name", NULLS)
def test_where_no_punctuation_has_null_the_verdict_says_that_it_grows(name: str) -> None:
    schemes = declared("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1")
    script = bound(schemes, NULLS[name])
    assert not is_promised(verdict_of(script), Nulls.OPEN)
    assert growth_of(script, Nulls.OPEN, 1)


@pytest.mark.parametrize("name", NULLS)
def test_without_nulls_the_same_queries_are_flat(name: str) -> None:
    schemes = declared("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1")
    script = bound(schemes, NULLS[name])
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, 1)


NOT_JOINED = (
    "SELECT a.x FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k) OR EXISTS (SELECT * FROM c WHERE c.k = a.k)",
    "SELECT u.x, c.x AS y FROM (SELECT k, x FROM a UNION ALL SELECT k, x FROM b) u, c WHERE u.k = c.k",
    "SELECT u.x, c.x AS y FROM (SELECT DISTINCT k, x FROM a) u, c WHERE u.k = c.k",
    "SELECT u.x, c.x AS y FROM (SELECT k, x, COUNT(*) AS n FROM a GROUP BY k, x) u, c WHERE u.k = c.k",
)


@pytest.mark.parametrize("select", NOT_JOINED, ids=["either exists", "a union", "distinct", "groups"])
@each_number_of_cells
def test_rows_with_null_where_they_join_are_not_kept_of_computed_inputs(select: str, cells: int) -> None:
    script = bound(declared(*(f"{stream}: PUNCTUATED BY (k) FROM z (k)" for stream in "abc")), select)
    assert is_promised(verdict_of(script), Nulls.OPEN)
    assert not growth_of(script, Nulls.OPEN, cells)


RANGES = {
    "one bound": "SELECT a.x, b.x AS y FROM a [RANGE 10000 MICROSECONDS], b WHERE b.ts >= a.ts",
    "istream": "SELECT ISTREAM(a.x, b.x AS y) FROM a [RANGE 10000 MICROSECONDS], b WHERE b.ts >= a.ts",
    "slide": "SELECT a.x, b.x AS y FROM a [RANGE 10000 MICROSECONDS SLIDE 2000 MICROSECONDS], b WHERE b.ts >= a.ts",
    "count": "SELECT COUNT(*) AS n FROM a [RANGE 10000 MICROSECONDS], b WHERE b.ts >= a.ts",
    "both bounds": "SELECT a.x, b.x AS y FROM a [RANGE 10000 MICROSECONDS], b WHERE b.ts BETWEEN a.ts AND a.ts + 2000",
}


@pytest.mark.parametrize("name", RANGES)
@each_number_of_cells
def test_rows_after_those_of_a_window_go_with_them(name: str, cells: int) -> None:
    script = bound((), RANGES[name])
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, cells)


@pytest.mark.parametrize("within", ["2000 MICROSECONDS", "20 ROWS"])
@each_number_of_cells
@pytest.mark.parametrize("of_parent", [(), ("p: UNIQUE (k)",)], ids=["any parent", "a key"])
def test_punctuations_of_a_stream_that_refers_to_another_go(
    within: str, cells: int, of_parent: tuple[str, ...]
) -> None:
    refers = f"a: FOREIGN KEY (k) REFERENCES p (k) WITHIN {within}"
    said = declared("a: PUNCTUATED BY (k) WHEN ends = 1", refers, *of_parent)
    script = bound(said, "SELECT a.x FROM a, p WHERE a.k = p.k")
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, cells)


@pytest.mark.parametrize("within", ["2000 MICROSECONDS", "20 ROWS"])
def test_punctuations_that_may_always_be_asked_for_are_not_safe(within: str) -> None:
    """A punctuation that is no row of a refers to none of p, which may come at any time, and would stay without it."""
    said = declared("a: PUNCTUATED BY (s) FROM z (s)", f"a: FOREIGN KEY (s) REFERENCES p (s) WITHIN {within}")
    verdict = verdict_of(bound(said, "SELECT a.x FROM a, p WHERE a.s = p.s"))
    kept = "one punctuation of a is kept for every value of s, because a row of p that needs it may always arrive"
    assert verdict.message == f"not safe: {kept}"


BY_KEY = (
    "a: FOREIGN KEY (s) REFERENCES p (s) WITHIN 1500 MICROSECONDS",
    "a: PUNCTUATED BY (s) FROM z (s)",
    "p: {0} (s){1}",
)
WITHOUT_PARTNERS = (
    "SELECT a.x FROM a, p WHERE a.s = p.s AND p.y > 2",
    "SELECT a.x FROM a, p WHERE a.s = p.s AND a.g = p.g",
)


@pytest.mark.parametrize("asker", [("UNIQUE", ""), ("CLUSTERED BY", " WITHIN 0 ROWS")], ids=["a key", "a cluster"])
@pytest.mark.parametrize("select", WITHOUT_PARTNERS)
def test_a_key_or_a_cluster_does_not_stop_asking_for_values_of_which_no_row_comes(
    asker: tuple[str, str], select: str
) -> None:
    verdict = verdict_of(bound(declared(*(text.format(*asker) for text in BY_KEY)), select))
    kept = "one punctuation of a is kept for every value of s, because a row of p that needs it may always arrive"
    assert verdict.message == f"not safe: {kept}"


@pytest.mark.parametrize("within", ["0 MICROSECONDS", "5 ROWS"])
@pytest.mark.parametrize("select", WITHOUT_PARTNERS)
@each_number_of_cells
def test_punctuations_of_another_stream_go_with_the_rows_that_they_refer_to(
    within: str, select: str, cells: int
) -> None:
    refers = f"z: FOREIGN KEY (s) REFERENCES p (s) WITHIN {within}"
    script = bound(declared(*(text.format("UNIQUE", "") for text in BY_KEY), refers), select)
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, cells)


def test_punctuations_that_rows_of_several_inputs_need_together_are_not_safe() -> None:
    """Rows of b and of c have one of the columns each, and any two of them may meet."""
    said = declared("a: PUNCTUATED BY (k, s) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1")
    verdict = verdict_of(bound(said, "SELECT a.x FROM a, b, c WHERE a.k = b.k AND a.s = c.s AND b.g = c.g"))
    assert not verdict.safe


def test_punctuations_that_groups_on_close_may_always_need_are_not_safe() -> None:
    """A group of s and k closes with s, or with k by either stream, but only s closes them all."""
    said = declared(
        "a: PUNCTUATED BY (s) FROM z (s)", "b: PUNCTUATED BY (k) FROM z (k)", "b: PUNCTUATED BY (s) WHEN ends = 1"
    )
    closing = "GROUP BY r1.s, r2.k EMIT ON CLOSE"
    script = bound(said, f"SELECT r1.s, r2.k, COUNT(*) AS n FROM a r1, b r2 WHERE r1.s = r2.s {closing}")
    kept = "one punctuation is kept for every value of r2.k that b: PUNCTUATED BY (k) FROM z (k) closes"
    assert verdict_of(script).message == f"not safe: {kept}, because a group with it may always arrive"


SCHEMES = declared(
    "a: PUNCTUATED BY (s) WHEN ends = 1", "a: PUNCTUATED BY (s) FROM z (s)", "b: PUNCTUATED BY (s) WHEN ends = 1"
)
CLOSED = declared("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1")


@pytest.mark.parametrize(
    ("said", "select"),
    [
        (SCHEMES, "SELECT b.g FROM b, a WHERE a.s = b.s"),
        (CLOSED, "SELECT m.ts FROM b l, b m, a r WHERE m.ts > l.ts AND m.ts < l.ts + 1500 AND r.k = m.k"),
    ],
    ids=["two schemes of one column", "a band of time, then a punctuation"],
)
@each_number_of_cells
def test_a_join_whose_closers_chain_is_flat(said: list[Declaration], select: str, cells: int) -> None:
    script = bound(said, select)
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, cells)


UNMATCHED = """
SELECT DSTREAM(a.x) FROM a [RANGE 10000 MICROSECONDS]
WHERE NOT EXISTS (SELECT 1 AS one FROM b WHERE b.k = a.k AND b.ts BETWEEN a.ts AND a.ts + 2000)
"""


def test_check_and_run_say_the_same_of_rows_that_leave_a_window_unmatched() -> None:
    verdict = verdict_of(bound((), UNMATCHED))
    assert not verdict.safe or not verdict.warnings


@each_number_of_cells
def test_rows_that_leave_a_window_unmatched_are_flat(cells: int) -> None:
    script = bound((), UNMATCHED)
    if verdict_of(script).safe:
        assert not growth_of(script, Nulls.NONE, cells)


STRINGS = {
    "distinct": "SELECT DISTINCT s FROM a",
    "groups": "SELECT s, COUNT(*) AS n FROM a GROUP BY s",
    "join": "SELECT a.x FROM a, b WHERE a.s = b.s",
}
CLOSED = ("a: PUNCTUATED BY (s) WHEN ends = 1", "b: PUNCTUATED BY (s) WHEN ends = 1")


@pytest.mark.parametrize("name", STRINGS)
def test_strings_that_guards_remember_are_as_many_as_guards_have_room_for(name: str) -> None:
    script = bound(declared(*CLOSED), STRINGS[name])
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, 1)


@pytest.mark.parametrize("name", STRINGS)
def test_strings_that_guards_remember_are_part_of_the_bound(name: str) -> None:
    script = bound(declared(*CLOSED), STRINGS[name])
    said = verdict_of(script).explanation()
    room = punctuated.ROOM
    if str(room) not in said and f"{room:,}" not in said:
        grown = growth_of(script, Nulls.NONE, 1, small=False)
        assert not [each for each in grown if "dictionary" in each.what]


REFERS = "a: FOREIGN KEY (k) REFERENCES p (k) WITHIN 20 ROWS"
ENDING = declared("a: PUNCTUATED BY (k) WHEN ends = 1")
JOINED = "p [RANGE 2000 MICROSECONDS], b [RANGE 2000 MICROSECONDS]"


@pytest.mark.parametrize(
    ("said", "select"),
    [
        (ENDING, "SELECT k, x FROM a [PARTITION BY k ROWS 2]"),
        (ENDING, "SELECT k, COUNT(*) AS n FROM a [PARTITION BY k, x ROWS 1] GROUP BY k"),
        (
            declared("a: PUNCTUATED BY (k) WHEN ends = 1", "b: PUNCTUATED BY (k) WHEN ends = 1"),
            "SELECT a.x FROM a [PARTITION BY k ROWS 2], b [PARTITION BY k, y ROWS 1] WHERE a.k = b.k AND a.y > 2",
        ),
        (
            declared(REFERS, "a: PUNCTUATED BY (k) WHEN ends = 1"),
            f"SELECT p.x, b.y FROM {JOINED} WHERE p.k = b.k AND NOT EXISTS (SELECT * FROM a WHERE a.k = p.k)",
        ),
        (
            declared(REFERS),
            f"SELECT p.x, b.y FROM {JOINED} WHERE p.k = b.k AND NOT EXISTS (SELECT * FROM a WHERE a.k = p.k)",
        ),
        (
            declared(REFERS),
            f"SELECT a.x FROM a WHERE NOT EXISTS (SELECT * FROM {JOINED} WHERE p.k = a.k AND b.k = p.k)",
        ),
    ],
    ids=[
        "partitions",
        "groups of partitions",
        "joined partitions",
        "closed values",
        "right rows that refer",
        "left rows that refer",
    ],
)
@each_number_of_cells
def test_partitions_and_rows_that_refer_to_computed_sides_go(said: list[Declaration], select: str, cells: int) -> None:
    script = bound(said, select)
    assert is_promised(verdict_of(script))
    assert not growth_of(script, Nulls.NONE, cells)

"""What is called open or timed does end: once the values of the past are closed and its time is over, it is no matter.

The past has old values. Then a punctuation of every scheme comes for every combination of old values, and time passes
all windows and ranges. What follows may bring old values only where no scheme and no reference forbids it. If a query
is safe by punctuations, references and watermarks, what comes out from then on does not depend on the past: not one
row of it has to be remembered. The answers are the reference interpreter's.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from penstock.register import BoundKind, check_query
from penstock.sql import Script, bind_text
from tests.reference.interpreter import run

COLUMNS = {"r": ("a", "b"), "s": ("c", "d"), "t": ("e", "f")}
OLD, NEW = (1, 2), (11, 12)
LATER = 1000

Row = tuple[int, int, int]
Rows = dict[str, list[Row]]


@dataclass(frozen=True, slots=True)
class Declared:
    """The schemes of a stream, its keys, and references to a column of another, as columns' places."""

    schemes: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...]
    references: tuple[tuple[int, str, int], ...]


places = st.sampled_from([(0,), (1,), (0, 1)])
declared = st.builds(
    Declared,
    st.lists(places, max_size=2, unique=True).map(tuple),
    st.one_of(st.just(()), st.just(()), st.sampled_from([(0,), (1,)])),
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from("rst"), st.integers(0, 1)), max_size=1).map(tuple),
)


def declarations(streams: dict[str, Declared]) -> str:
    texts = []
    for name, said in streams.items():
        own = COLUMNS[name]
        schemes = [f", PUNCTUATED BY ({', '.join(own[place] for place in scheme)})" for scheme in said.schemes]
        keys = [f", UNIQUE ({own[place]})" for place in said.keys]
        references = [
            f", FOREIGN KEY ({own[place]}) REFERENCES {other} ({COLUMNS[other][there]}) WITHIN 10 MICROSECONDS"
            for place, other, there in said.references
            if other != name
        ]
        columns = f"{own[0]} BIGINT, {own[1]} BIGINT, ts BIGINT"
        texts.append(f"CREATE STREAM {name} ({columns}{''.join(schemes + keys + references)}) TIMESTAMP BY ts;")
    return "\n".join(texts)


windows = st.sampled_from(["", "", "", "[RANGE 5 MICROSECONDS]"])
joins = st.sampled_from(["a = c", "a = d", "b = c", "b = d", "r.ts = s.ts", "r.ts - s.ts <= 3 AND s.ts - r.ts <= 3"])
more = st.sampled_from(["c = e", "d = f", "a = e", "b = f", "s.ts - t.ts <= 2 AND t.ts - s.ts <= 4", "t.ts <= r.ts"])


@st.composite
def queries(draw: st.DrawFn) -> str:
    r, s, t = (f"{name} {draw(windows)}" for name in "rst")
    on = " AND ".join(draw(st.lists(joins, min_size=1, max_size=2, unique=True)))
    also = " AND ".join(draw(st.lists(more, min_size=1, max_size=3, unique=True)))
    return draw(
        st.sampled_from(
            [
                f"SELECT a, d FROM {r}, {s} WHERE {on}",
                f"SELECT a, f FROM {r}, {s}, {t} WHERE {on} AND {also}",
                f"SELECT DISTINCT b FROM {r}",
                f"SELECT DISTINCT a, b FROM {r}",
                f"SELECT DISTINCT a FROM {r}, {s} WHERE {on}",
                f"SELECT b, COUNT(*) AS n FROM {r} GROUP BY b",
                f"SELECT a, COUNT(DISTINCT b) AS n FROM {r} GROUP BY a",
                f"SELECT a, SUM(d) AS n FROM {r}, {s} WHERE {on} GROUP BY a",
                f"SELECT r.ts / 10 AS slot, c, MAX(b) AS n FROM {r}, {s} WHERE {on} GROUP BY r.ts / 10, c",
                f"SELECT a, e, COUNT(*) AS n FROM {r}, {s}, {t} WHERE {on} AND {also} GROUP BY a, e",
                f"SELECT a, b FROM {r} WHERE EXISTS (SELECT * FROM {s} WHERE {on})",
                f"SELECT a, b FROM {r} WHERE NOT EXISTS (SELECT * FROM {s} WHERE {on})",
                f"SELECT a, COUNT(*) AS n FROM {r} WHERE NOT EXISTS (SELECT * FROM {s} WHERE {on}) GROUP BY a",
                f"SELECT x.c, b FROM (SELECT DISTINCT c FROM {s}) x, {r} WHERE x.c = a",
                f"SELECT x.c, x.n, b FROM (SELECT c, COUNT(*) AS n FROM {s} GROUP BY c) x, {r} WHERE x.c = a",
                f"SELECT a FROM {r} UNION SELECT c FROM {s}",
                f"SELECT a, b FROM {r} EXCEPT SELECT c, d FROM {s}",
                "SELECT a, b FROM r [PARTITION BY a ROWS 1]",
                f"SELECT b, d FROM r [PARTITION BY a ROWS 2], {s} WHERE a = c",
            ]
        )
    )


def unique(rows: list[Row], keys: tuple[int, ...]) -> list[Row]:
    """The rows without those that repeat a key."""
    kept: list[Row] = []
    for row in rows:
        if not any(row[key] == other[key] for other in kept for key in keys):
            kept.append(row)
    return kept


def admissible(row: Row, said: Declared) -> bool:
    """Whether a row may come after every combination of old values was closed."""
    return not any(all(row[place] in OLD for place in scheme) for scheme in said.schemes)


@st.composite
def inputs(draw: st.DrawFn, streams: dict[str, Declared]) -> tuple[Rows, Rows]:
    past: Rows = {}
    future: Rows = {}
    for name, said in streams.items():
        old = st.sampled_from(OLD)
        before = draw(st.lists(st.tuples(old, old, st.integers(0, 6)), max_size=4))
        any_ = st.sampled_from((*OLD, *NEW))
        after = draw(st.lists(st.tuples(any_, any_, st.integers(LATER, LATER + 6)), max_size=4))
        both = unique(sorted(before, key=last) + sorted(after, key=last), said.keys)
        past[name] = [row for row in both if row[2] < LATER]
        future[name] = [row for row in both if row[2] >= LATER and admissible(row, said)]
    for name, said in streams.items():
        for place, other, there in said.references:
            if other != name:  # what the past refers to is there, or never comes
                due = {row[place] for row in past[name]}
                future[other] = [row for row in future[other] if row[there] not in due]
    return past, future


def last(row: Row) -> int:
    return row[2]


@settings(max_examples=150)
@given(st.data(), st.fixed_dictionaries(dict.fromkeys("rst", declared)), queries())
def test_a_past_that_is_over_does_not_matter(data: st.DataObject, streams: dict[str, Declared], sql: str) -> None:
    script = bind_text(f"{declarations(streams)}\n{sql}").checked()
    verdict = check_query(script.queries[0], script.catalog)
    assume(verdict.safe)
    kinds = {state.bound.kind for state in verdict.states}
    assert kinds <= {BoundKind.NONE, BoundKind.WINDOW, BoundKind.KEYS, BoundKind.OPEN, BoundKind.K}
    event("with references" if BoundKind.K in kinds else "without")
    for _ in range(3):
        past, future = data.draw(inputs(streams))
        nothing: Rows = {name: [] for name in past}
        assert after(script, past, future) == after(script, nothing, future), (sql, past, future)


def after(script: Script, past: Rows, future: Rows) -> list[object]:
    both = {name: past[name] + future[name] for name in past}
    changes = run(script.queries[0], script.catalog, both, horizon=LATER + 50)
    return [(change.ts, change.op, change.row) for change in changes if change.ts >= LATER]


#: The columns that join in the chain `a = c AND d = e`, each with its partner.
PARTNERS = {("r", 0): ("s", 0), ("s", 0): ("r", 0), ("s", 1): ("t", 0), ("t", 0): ("s", 1)}


@st.composite
def chained(draw: st.DrawFn) -> dict[str, Declared]:
    """Declarations about the columns of the chain: each is punctuated, or refers to its partner, or neither."""
    schemes: dict[str, list[tuple[int, ...]]] = {name: [] for name in COLUMNS}
    references: dict[str, list[tuple[int, str, int]]] = {name: [] for name in COLUMNS}
    for (name, place), (other, there) in PARTNERS.items():
        said = draw(st.sampled_from(["punctuated", "refers", "refers", "nothing"]))
        if said == "punctuated":
            schemes[name].append((place,))
        if said == "refers":
            references[name].append((place, other, there))
    return {name: Declared(tuple(schemes[name]), (), tuple(references[name])) for name in COLUMNS}


CHAINS = st.builds(
    str.format,
    st.sampled_from(
        [
            "SELECT b, d FROM r {0}, s {1} WHERE a = c",
            "SELECT b, f FROM r {0}, s {1}, t {0} WHERE a = c AND d = e",
            "SELECT a, COUNT(*) AS n FROM r {0}, s {1} WHERE a = c GROUP BY a",
            "SELECT d, COUNT(*) AS n FROM r {0}, s {1}, t {0} WHERE a = c AND d = e GROUP BY d",
            "SELECT DISTINCT a FROM r {0}, s {1} WHERE a = c",
            "SELECT b FROM r {0} WHERE NOT EXISTS (SELECT * FROM s {1} WHERE a = c)",
            "SELECT b FROM r {0} WHERE EXISTS (SELECT * FROM s {1} WHERE a = c)",
        ]
    ),
    windows,
    windows,
)


@given(st.data(), chained(), CHAINS)
def test_references_and_punctuations_end_waits_together(
    data: st.DataObject, streams: dict[str, Declared], sql: str
) -> None:
    script = bind_text(f"{declarations(streams)}\n{sql}").checked()
    verdict = check_query(script.queries[0], script.catalog)
    assume(verdict.safe)
    event("with references" if any(state.bound.kind is BoundKind.K for state in verdict.states) else "without")
    for _ in range(3):
        past, future = data.draw(inputs(streams))
        nothing: Rows = {name: [] for name in past}
        assert after(script, past, future) == after(script, nothing, future), (sql, past, future)

"""Queries over `sysstream` say what the reference says of the rows that were published; all entities publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from penstock import PenstockError, bind_text
from penstock.engines.embedded import EmbeddedEngine
from penstock.engines.watching import Watch
from penstock.monitor.bounds import live_bounds
from penstock.monitor.publishing import SysStream
from penstock.monitor.sysstream import Property, properties
from penstock.register import check_query
from penstock.sql.system_streams import SYSSTREAM, system_views
from tests.engines.comparing import Log, batch, comparable, logged
from tests.reference.interpreter import run

DDL = """
CREATE STREAM s (a BIGINT, t STRING, ts BIGINT, UNIQUE (a)) TIMESTAMP BY ts;
CREATE STREAM r (a BIGINT, ts BIGINT, FOREIGN KEY (a) REFERENCES s (a) WITHIN 2 ROWS) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT s.a, COUNT(*) AS n FROM s [RANGE 20 MICROSECONDS], r [RANGE 20 MICROSECONDS]
WHERE s.a = r.a AND UPPER(t) LIKE '%X%' AND LOWER(t) LIKE '%y%' GROUP BY s.a;
"""

WATCHES = [
    "SELECT entity, property, value FROM sysstream [RANGE 1 SECOND] WHERE kind = 'query'",
    "SELECT ISTREAM(query, entity, cell, property, value, text) FROM sysstream [NOW]",
    "SELECT entity, MAX(value) AS most, COUNT(*) AS n FROM sysstream [RANGE 2 SECONDS] WHERE property = 'state_rows' "
    "GROUP BY entity",
    "SELECT a.entity, b.value FROM sysstream [RANGE 1 SECOND] a, sysstream [NOW] b "
    "WHERE a.entity = b.entity AND a.property = 'rows_in' AND b.property = 'rows_out'",
    "SELECT kind, COUNT(*) AS n FROM sysstream [ROWS 50] GROUP BY kind HAVING COUNT(*) > 3",
    "SELECT RSTREAM(entity) FROM sysstream [RANGE 1 SECOND SLIDE 1 SECOND] WHERE property = 'lag'",
    *(f"SELECT * FROM {view}" for view in system_views()),
]


class Ticks:
    """A clock that goes on by a third of a second whenever it is asked."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        self.now += 333_333
        return self.now


def engine_of(ddl: str = DDL, cells: int = 1) -> EmbeddedEngine:
    script = bind_text(ddl).checked()
    return EmbeddedEngine(script.queries[0], script.catalog, cells=cells)


def stepped(engine: EmbeddedEngine, between: Callable[[EmbeddedEngine], None]) -> None:
    definitions = {name: ingest.definition for name, ingest in engine.streams.items()}
    for at in range(0, 60, 10):
        engine.push("s", batch(definitions["s"], [(at + n, "xy" if n % 2 else "x", at + n) for n in range(10)]))
        engine.push("r", batch(definitions["r"], [(at + n // 2, at + n) for n in range(10)]))
        engine.advance()
        between(engine)
    engine.finish()
    between(engine)


@pytest.mark.parametrize("text", WATCHES)
def test_a_query_over_sysstream_says_what_the_reference_says(text: str) -> None:
    bound = bind_text(text).checked()
    query = bound.queries[0]
    watch = Watch(query, bound.catalog, SYSSTREAM)
    clock = Ticks()
    sysstream = SysStream([watch], clock)
    engine = engine_of(cells=2)
    sysstream.prove({"q": live_bounds(check_query(*_checked()), engine.plan)})
    published: list[Property] = []
    push = watch.push

    def recorded(rows: list[Property]) -> None:
        published.extend(rows)
        push(rows)

    watch.push = recorded  # type: ignore[method-assign, assignment]
    log: Log = Counter()

    def between(engine: EmbeddedEngine) -> None:
        nonlocal log
        sysstream.take(engine.metrics())
        for _, rows in sysstream.changes():
            log += logged(rows, query)

    stepped(engine, between)
    horizon = sysstream._latest
    for rows in watch.changes(horizon + 1):
        log += logged(rows, query)
    assert published
    changes = run(query, bound.catalog, {"sysstream": [_as_doubles(row) for row in published]}, horizon)
    assert log == Counter((change.ts, change.op, *map(comparable, change.row)) for change in changes)


def _as_doubles(row: Property) -> tuple[object, ...]:
    return tuple(row._replace(value=None if row.value is None else float(row.value)))


def test_every_kind_of_entity_publishes() -> None:
    found: list[Property] = []
    engine = engine_of(cells=2)
    bounds = {"q": live_bounds(check_query(*_checked()), engine.plan)}

    def between(engine: EmbeddedEngine) -> None:
        found.extend(properties(engine.metrics(), 7, bounds))

    stepped(engine, between)
    kinds = {row.kind for row in found}
    assert kinds >= {"source", "operator", "synopsis", "index", "monitor", "filter order", "cell", "query"}
    of = {(row.kind, row.property) for row in found}
    assert {("source", "lag"), ("operator", "probes"), ("operator", "nanoseconds"), ("synopsis", "bound")} <= of
    assert {row.cell for row in found if row.kind == "cell"} == {0, 1}
    rows = sum(row.value or 0 for row in found if row.kind == "query" and row.property == "rows_in")
    assert rows == 120


def _checked():  # type: ignore[no-untyped-def]
    script = bind_text(DDL).checked()
    return script.queries[0], script.catalog


def test_what_was_not_reported_counts_on() -> None:
    every: Counter[str] = Counter()
    seldom: Counter[str] = Counter()

    def count(engine: EmbeddedEngine, into: Counter[str]) -> None:
        for line in engine.metrics():
            into[f"{line.operator} {line.stream}"] += line.rows_in + line.rows_out

    stepped(engine_of(), lambda engine: count(engine, every))
    last: list[EmbeddedEngine] = []
    stepped(engine_of(), last.append)
    count(last[-1], seldom)
    assert every == seldom


def test_nothing_is_computed_while_nobody_reads() -> None:
    sysstream = SysStream()
    assert not sysstream.is_due
    sysstream.take([])
    assert not list(sysstream.changes(is_last=True))


def test_a_query_reads_sysstream_alone() -> None:
    bound = bind_text(
        DDL + "CREATE QUERY both AS SELECT s.a FROM s [NOW], sysstream [NOW] x WHERE x.value = s.a"
    ).checked()
    with pytest.raises(PenstockError, match="reads sysstream, whose times are those of the wall clock, beside s"):
        Watch(bound.queries[1], bound.catalog, SYSSTREAM)


def test_names_with_two_parts_are_those_of_the_system() -> None:
    script = bind_text("CREATE STREAM state (a BIGINT, ts BIGINT) TIMESTAMP BY ts; SELECT state.a FROM state [NOW]")
    assert [stream.name for stream in script.checked().catalog.streams] == ["state"]
    both = bind_text("SELECT state.state_rows FROM sys.state").checked()
    assert [stream.name for stream in both.catalog.streams] == ["sysstream"]
    assert "there is no system view sys.nothing" in str(bind_text("SELECT * FROM sys.nothing").errors[0])


def test_a_stream_of_the_users_may_be_called_sysstream() -> None:
    script = bind_text("CREATE STREAM sysstream (a BIGINT, ts BIGINT) TIMESTAMP BY ts; SELECT a FROM sysstream [NOW]")
    assert script.checked().queries[0].schema[0].name == "a"

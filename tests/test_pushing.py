"""Rows that a program pushes: open queries take them as they arrive, and say the same as over all of them at once."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import penstock

SCHEMA = pa.schema([("a", pa.int64()), ("name", pa.string()), ("ts", pa.int64())])
TEXT = "CREATE QUERY q AS SELECT name, COUNT(*) AS n FROM s [ROWS 100] s, t WHERE s.a = t.id GROUP BY name"


def rows(first: int, count: int = 500) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table({"a": [n % 4 for n in numbers], "name": [f"n{n % 3}" for n in numbers], "ts": list(numbers)})


def session_of(data: pa.Schema | pa.Table) -> penstock.Session:
    session = penstock.Session()
    session.stream("s", data, timestamp="ts")
    session.table("t", pa.table({"id": [1, 2]}))
    return session


def changes(found: pa.Table) -> list[tuple[object, ...]]:
    """The order within an instant is not part of a result."""
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.mark.parametrize("scheduling", ["chain", "greedy", "fifo"])
@pytest.mark.parametrize("cells", [1, 2])
def test_pushed_rows_give_what_all_rows_give(scheduling: str, cells: int) -> None:
    whole = session_of(pa.concat_tables([rows(0), rows(500), rows(1000)])).query(TEXT).to_arrow()
    session = session_of(SCHEMA)
    blocks = []
    with session.query(TEXT).open(scheduling=scheduling, cells=cells, memory="100KB") as opened:
        for first in (0, 500, 1000):
            session.push("s", rows(first))
            if first == 500:
                blocks += list(opened.changes())
        blocks += list(opened.finish())
    assert changes(pa.concat_tables(blocks)) == changes(whole)


def test_several_open_queries_get_the_same_rows_and_settings_of_each_can_be_changed() -> None:
    session = session_of(SCHEMA)
    first, second = session.sql(f"{TEXT}; CREATE QUERY p AS SELECT ISTREAM(a) FROM s [NOW];")
    with first.open() as one, second.open() as two:
        session.push("s", rows(0, 10))
        first.set("scheduling", "fifo")
        assert {each.name: each.value for each in first.controls}["scheduling"] == "fifo"
        assert list(one.finish())
        session.push("s", rows(10, 10))
        assert sum(block.num_rows for block in two.finish()) == 20
    with pytest.raises(penstock.PenstockError, match="no open query reads s"):
        session.push("s", rows(20, 10))


@pytest.mark.parametrize("idle", [0, -5, "soon", "-5 SECONDS"])
def test_an_idle_time_is_more_than_zero(idle: int | str) -> None:
    query = session_of(SCHEMA).query(TEXT)
    with pytest.raises(penstock.PenstockError, match="time"):
        query.open(idle=idle)
    with pytest.raises(penstock.PenstockError, match="until_done reads what there is"):
        query.start("out.parquet", checkpoint="c", until_done=True, idle="1 SECOND")


def test_a_stream_declares_when_it_is_idle() -> None:
    session = penstock.Session()
    session.stream("s", SCHEMA, timestamp="ts", idle=timedelta(minutes=2))
    assert session.catalog.get("s").idle == 120_000_000  # type: ignore[union-attr]


def test_a_query_over_sysstream_says_that_whoever_pushes_is_held_back() -> None:
    session = session_of(SCHEMA)
    watch = session.query("SELECT ISTREAM(text) FROM sysstream [NOW] WHERE entity = 'memory.reading'")
    with session.query(TEXT).open(memory="100KB") as opened:
        session.push("s", rows(0, 20_000))
        list(opened.changes())
    assert [row["text"] for row in watch.to_arrow().to_pylist()] == ["held back"]


@pytest.mark.parametrize(("option", "said"), [({"scheduling": "lifo"}, "choose one of"), ({"memory": "much"}, "512MB")])
def test_an_option_that_cannot_be_is_refused(option: dict[str, str], said: str) -> None:
    with pytest.raises(penstock.PenstockError) as refused:
        session_of(SCHEMA).query(TEXT).open(**option)  # type: ignore[arg-type]
    assert said in str(refused.value.hint)


def test_a_query_that_is_finished_takes_and_gives_nothing() -> None:
    query = session_of(SCHEMA).query(TEXT)
    opened = query.open()
    opened.push("s", rows(0))
    assert list(opened.finish())
    for use in (lambda: opened.push("s", rows(500)), lambda: list(opened.changes()), lambda: list(opened.finish())):
        with pytest.raises(penstock.PenstockError, match="q is closed"):
            use()

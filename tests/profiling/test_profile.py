"""Profiles of random streams, against the definitions; and the DDL that is printed, read back and tried on the data."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.catalog import (
    Attribute,
    Catalog,
    Clustered,
    Constraint,
    NotNull,
    Ordered,
    Reference,
    StreamDef,
    Unique,
    Within,
    WithinRows,
    WithinTime,
)
from penstock.closing.kconstraints import (
    ClusteredArrival,
    ConstrainedJoin,
    ConstrainedStream,
    Extent,
    OrderedArrival,
    Rids,
    RowCount,
    TimeSpan,
)
from penstock.errors import PenstockError
from penstock.profiling import arrivals, candidates, profiler
from penstock.profiling.arrivals import Profiled
from penstock.profiling.ddl import profile_ddl
from penstock.profiling.findings import SHARES, Finding, Ks, Profile
from penstock.profiling.profiler import profile
from penstock.profiling.telling import declared as checked
from penstock.sql import bind_text
from penstock.synopsis.codes import arrow_type
from penstock.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from tests.profiling.definitions import Row, by_time, holds, lateness, repeated, required
from tests.register.kconstraints.model import Event, is_admissible

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

TYPES: dict[Type, st.SearchStrategy[object]] = {
    BIGINT: st.integers(0, 5) | st.integers(-(2**63), 2**63 - 1),
    INT: st.integers(0, 5),
    STRING: st.sampled_from(["", "a", "b", "ab", "a" * 9]),
    DOUBLE: st.sampled_from([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf")]),
    BOOLEAN: st.booleans(),
    decimal(6, 2): st.integers(-3, 3).map(lambda n: Decimal(n) / 4),
    decimal(30, 1): st.sampled_from([Decimal(0), Decimal(2) ** 64, Decimal(-1), Decimal(2) ** 64 + 1]),
    DATE: st.dates(datetime.date(2000, 1, 1), datetime.date(2000, 1, 4)),
    TIMESTAMP: st.integers(0, 4).map(lambda us: EPOCH + datetime.timedelta(microseconds=us)),
}


@st.composite
def streams(draw: st.DrawFn, in_order: bool = False) -> dict[str, tuple[list[Attribute], list[Row]]]:
    """One to three streams with a few columns, whose values come again, or go up, or are all there is."""
    made = {}
    for name in ["item", "bid", "seller"][: draw(st.integers(1, 3))]:
        types = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3))
        attributes = [Attribute(f"{name[0]}{number}", type_) for number, type_ in enumerate(types)]
        count = draw(st.integers(0, 14))
        columns = [draw(column(attribute.type, count)) for attribute in attributes]
        times = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
        if in_order:
            times.sort()
        rows = [
            (at, dict(zip([a.name for a in attributes], values, strict=True)))
            for at, *values in zip(times, *columns, strict=True)
        ]
        made[name] = (attributes, rows)
    return made


@st.composite
def referring_streams(draw: st.DrawFn) -> dict[str, tuple[list[Attribute], list[Row]]]:
    """A stream with a key, columns of it and of another stream that have its values, and some that are NULL."""
    type_ = draw(st.sampled_from([BIGINT, STRING]))
    keys: list[object] = list(draw(st.permutations(range(draw(st.integers(1, 12))))))
    if type_ is STRING:
        keys = [f"key {key}" for key in keys]
    some = st.none() | st.sampled_from(keys)
    at = st.integers(0, 25)
    items = [(draw(at), {"id": key, "reply": draw(some)}) for key in keys]
    bids = [(time, {"auction": auction}) for time, auction in draw(st.lists(st.tuples(at, some), max_size=20))]
    return {
        "item": ([Attribute("id", type_), Attribute("reply", type_)], items),
        "bid": ([Attribute("auction", type_)], bids),
    }


def column(type_: Type, count: int) -> st.SearchStrategy[list[object]]:
    values = st.lists(st.none() | TYPES[type_], min_size=count, max_size=count)
    if type_ not in (BIGINT, INT):
        return values
    nearby = st.lists(st.integers(-2, 2), min_size=count, max_size=count).map(
        lambda offsets: [place + offset for place, offset in enumerate(offsets)]
    )
    return values | nearby | st.permutations(range(count))


def batches(attributes: list[Attribute], rows: list[Row], cut: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), cut):
        piece = rows[start : start + cut]
        arrays = [pa.array([values[a.name] for _, values in piece], arrow_type(a.type)) for a in attributes]
        times = pa.array([at for at, _ in piece], pa.int64())
        yield pa.RecordBatch.from_arrays([*arrays, times], names=[*(a.name for a in attributes), "ts"])


def profiled(
    data: dict[str, tuple[list[Attribute], list[Row]]], most: int, cut: int, catalog: Catalog | None = None
) -> Profile:
    given_streams, read = [], []
    for name, (attributes, rows) in data.items():
        definition = StreamDef(name, (*attributes, Attribute("ts", BIGINT)), "ts")
        if catalog is not None:
            found = catalog.get(name)
            assert isinstance(found, StreamDef)
            definition = found
        given_streams.append(Profiled(definition, attributes, None))
        read.append(batches(attributes, rows, cut))
    with patch.object(profiler, "LEAST_REMEMBERED", 0):
        return profile(given_streams, read, most)


def agree(ks: Ks, needed: list[int], rows: int) -> None:
    """The k that a finding has for all rows, and for some, is what they require, unless it is not known."""
    if ks.exact is None:
        return
    assert ks.exact == max(needed, default=0)
    for k, one_in in zip(ks.shares, SHARES.values(), strict=True):
        assert k is not None
        assert sum(each > k for each in needed) <= rows // one_in
        assert k <= ks.exact


@given(streams(), st.sampled_from([0, 1, 3, 100]), st.integers(1, 5))
def test_a_profile_agrees_with_the_definitions(
    data: dict[str, tuple[list[Attribute], list[Row]]], most: int, cut: int
) -> None:
    found = profiled(data, most, cut)
    ordered = {name: by_time(rows) for name, (_, rows) in data.items()}
    for stream in found.streams:
        name = stream.definition.name
        attributes, rows = data[name]
        assert (stream.rows, stream.delay) == (len(rows), lateness(rows))
        assert {key.columns for key in stream.keys} >= {(a.name,) for a in attributes}
        for key in stream.keys:
            assert key.repeated == repeated(rows, key.columns)
        for finding in stream.findings:
            check(finding, name, ordered, found)


@given(referring_streams(), st.sampled_from([1, 3, 100]), st.integers(1, 5))
def test_references_agree_with_the_definitions(
    data: dict[str, tuple[list[Attribute], list[Row]]], most: int, cut: int
) -> None:
    found = profiled(data, most, cut)
    ordered = {name: by_time(rows) for name, (_, rows) in data.items()}
    auctions = {row["auction"] for _, row in ordered["bid"]} - {None}
    references = [f for f in found.streams[1].findings if isinstance(f.constraint, Reference)]
    if data["bid"][0][0].type == STRING:  # that a few numbers are found may be chance
        assert bool(references) >= (len(auctions) > 1)
    for finding in references:
        others = {row[finding.constraint.parent_columns[0]] for _, row in ordered["item"]}  # type: ignore[union-attr]
        assert (finding.values, finding.found) == (len(auctions), len(auctions & others))
    for stream in found.streams:
        for finding in stream.findings:
            check(finding, stream.definition.name, ordered, found)


def check(finding: Finding, name: str, ordered: dict[str, list[Row]], found: Profile) -> None:
    each = required(finding.constraint, name, ordered)
    needed = [k for k in each if k is not None]
    agree(finding.rows, [rows for rows, _ in needed], len(each))
    agree(finding.time, [span for _, span in needed], len(each))
    if isinstance(finding.constraint, Reference):
        # It is not known either if more values than were looked for came in between, of those who refer.
        assert found.most < 100 or finding.rows.exact is not None
    else:
        assert (finding.rows.exact is None) <= (max(rows for rows, _ in needed or [(-1, -1)]) > found.most)


@given(streams(), st.sampled_from([0, 2, 100]), st.integers(1, 5))
def test_what_is_printed_can_be_read_and_holds(
    data: dict[str, tuple[list[Attribute], list[Row]]], most: int, cut: int
) -> None:
    """Also where only the first rows of each stream choose what is looked at."""
    with patch.object(candidates, "SAMPLE_ROWS", 3), patch.object(profiler, "SAMPLE_ROWS", 3):
        found = profiled(data, most, cut)
    script = bind_text(profile_ddl(found))
    assert script.errors == ()
    ordered = {name: by_time(rows) for name, (_, rows) in data.items()}
    for stream in script.catalog.streams:
        late = lateness(data[stream.name][1])
        assert stream.delay == late == 0 or stream.delay >= 1.5 * late
        assert [(a.name, a.type) for a in stream.attributes[:-1]] == [(a.name, a.type) for a in data[stream.name][0]]
        for constraint in stream.constraints:
            assert holds(constraint, stream.name, ordered), constraint


@given(streams(in_order=True), st.integers(1, 5), st.integers(1, 4))
def test_how_rows_are_cut_and_held_back_changes_nothing(
    data: dict[str, tuple[list[Attribute], list[Row]]], cut: int, held_back: int
) -> None:
    whole = profiled(data, 100, 100)
    with patch.object(arrivals, "HELD_BACK", held_back):
        assert profiled(data, 100, cut) == whole


def made_bids(rows: int, late: int) -> dict[str, tuple[list[Attribute], list[Row]]]:
    """Items, and bids for them from 2 before to 30 after they come."""
    random = np.random.default_rng(7)
    items: list[Row] = [(10 * number, {"id": number, "seller": int(random.integers(0, 9))}) for number in range(rows)]
    times = [(at + int(random.integers(-2, 30)), values["id"]) for at, values in items for _ in range(3)]
    bids: list[Row] = [
        (max(at, 0), {"auction": auction, "price": int(random.integers(1, 10**6))}) for at, auction in times
    ]
    bids.sort(key=lambda row: row[0] + int(random.integers(0, late + 1)))
    item = [Attribute("id", BIGINT), Attribute("seller", BIGINT)]
    bid = [Attribute("auction", BIGINT), Attribute("price", BIGINT)]
    return {"item": (item, items), "bid": (bid, bids)}


def test_a_join_on_what_was_found_is_safe() -> None:
    data = made_bids(300, late=4)
    query = "CREATE QUERY gain AS SELECT i.id, b.price FROM item i, bid b WHERE i.id = b.auction;"
    from penstock.register import check_query

    bare = "CREATE STREAM item (id BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    bare += "CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts;"
    for declarations, safe in ((bare, False), (profile_ddl(profiled(data, 1000, 64)), True)):
        script = bind_text(f"{declarations}\n{query}").checked()
        assert [check_query(q, script.catalog).safe for q in script.queries] == [safe]


def test_references_are_found_both_ways_and_prices_are_none() -> None:
    found = profiled(made_bids(300, late=0), 1000, 64)
    text = profile_ddl(found)
    assert text.count("FOREIGN KEY") == 4
    assert re.search(r"FOREIGN KEY \(auction\) REFERENCES item \(id\) WITHIN 2 ROWS, +-- 1 ROW seen", text)
    assert "FOREIGN KEY (auction) REFERENCES item (id) WITHIN 5 MICROSECONDS -- 2 MICROSECONDS seen" in text
    assert "FOREIGN KEY (id) REFERENCES bid (auction) WITHIN 50 MICROSECONDS -- 29 MICROSECONDS seen" in text


def test_two_columns_are_a_key_where_none_is_alone() -> None:
    rows: list[Row] = [(n, {"sensor": n % 7, "round": n // 7, "celsius": n % 3}) for n in range(140)]
    attributes = [Attribute(name, BIGINT) for name in ("sensor", "round", "celsius")]
    found = profiled({"reading": (attributes, rows)}, 1000, 64)
    assert "UNIQUE (sensor, round)" in profile_ddl(found)
    assert "UNIQUE (sensor, celsius)" not in profile_ddl(found)


def test_what_holds_for_most_rows_is_a_comment() -> None:
    rows: list[Row] = [(n, {"a": n if n != 900 else 1}) for n in range(2000)]
    text = profile_ddl(profiled({"s": ([Attribute("a", BIGINT)], rows)}, 1000, 64))
    assert "-- 99.9% of rows: UNIQUE (a)" in text
    assert "-- 99.9% of rows: ORDERED BY a WITHIN 0 ROWS" in text
    assert bind_text(text).checked().catalog.streams[0].constraints == (NotNull(("a",)),)


def test_declared_constraints_are_compared_with_the_data() -> None:
    sql = """CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT, UNIQUE (a), UNIQUE (b), CLUSTERED BY (a, b) WITHIN 3 ROWS,
    ORDERED BY a WITHIN 1 ROW, ORDERED BY a WITHIN 500 ROWS, PUNCTUATED BY (a), RATE 5 PER SECOND) TIMESTAMP BY ts"""
    rows: list[Row] = [(n, {"a": n if n != 90 else 1, "b": n}) for n in range(200)]
    attributes = [Attribute("a", BIGINT), Attribute("b", BIGINT)]
    text = profile_ddl(profiled({"s": (attributes, rows)}, 1000, 64, bind_text(sql).checked().catalog))
    assert "-- declared, but broken: UNIQUE (a)" in text
    assert "-- declared, but broken: ORDERED BY a WITHIN 1 ROW" in text
    kept = bind_text(text).checked().catalog.streams[0].constraints
    assert Unique(("b",)) in kept
    assert Unique(("a",)) not in kept
    assert "  ORDERED BY a WITHIN 500 ROWS" in text
    assert "PUNCTUATED BY (a), " in text
    assert "CLUSTERED BY (a, b) WITHIN 3 ROWS, -- as declared; it holds" in text


def test_a_declared_k_that_is_more_than_was_looked_for_is_not_known() -> None:
    sql = """CREATE STREAM s (a BIGINT, ts BIGINT, CLUSTERED BY (a) WITHIN 5 ROWS, CLUSTERED BY (a) WITHIN 50 ROWS,
    CLUSTERED BY (a) WITHIN 1 HOUR) TIMESTAMP BY ts"""
    rows: list[Row] = [(n, {"a": n % 100}) for n in range(200)]
    found = profiled({"s": ([Attribute("a", BIGINT)], rows)}, 10, 64, bind_text(sql).checked().catalog)
    assert [known for _, known in checked(found.streams[0], found)] == [False, None, None]
    found = profiled({"s": ([Attribute("a", BIGINT)], rows)}, 100, 64, bind_text(sql).checked().catalog)
    assert [known for _, known in checked(found.streams[0], found)] == [False, False, True]


def test_rows_that_come_too_late_to_be_put_in_order_are_an_error() -> None:
    rows: list[Row] = [(n, {"a": n}) for n in [*range(1, 50), 0]]
    with patch.object(arrivals, "HELD_BACK", 10), pytest.raises(PenstockError, match="49 MICROSECONDS late"):
        profiled({"s": ([Attribute("a", BIGINT)], rows)}, 100, 7)


def with_room(words: int) -> Any:
    """Profiles with room for so many digests."""
    return patch.object(profiler.Profiler.__init__, "__defaults__", (words,))


def test_too_many_values_are_said_to_be() -> None:
    rows: list[Row] = [(n, {"a": n * 7919 % 10007, "b": n % 2}) for n in range(1000)]
    attributes = [Attribute("a", BIGINT), Attribute("b", BIGINT)]
    with with_room(64):
        found = profiled({"s": (attributes, rows)}, 10, 50)
    assert found.streams[0].unknown == (("a",),)
    assert "-- a: too many values to tell whether they come again" in profile_ddl(found)
    assert "UNIQUE" not in profile_ddl(found)


def declared(text: str) -> list[Constraint]:
    return [constraint for stream in bind_text(text).checked().catalog.streams for constraint in stream.constraints]


def test_values_that_go_up_are_never_too_many() -> None:
    data = made_bids(3000, late=4)
    with with_room(64), patch.object(profiler, "SAMPLE_ROWS", 100), patch.object(arrivals, "STEP_ROWS", 10):
        text = profile_ddl(profiled(data, 100, 50))
    alone = [c for c in declared(profile_ddl(profiled(data, 100_000, 50))) if c != Unique(("auction", "price"))]
    assert declared(text) == alone
    assert "FOREIGN KEY (id) REFERENCES bid (auction) WITHIN 50 MICROSECONDS -- 29 MICROSECONDS seen" in text
    assert "by values of the first rows" in text


@given(streams(), st.sampled_from([0, 2, 100]), st.integers(1, 5))
def test_what_is_printed_holds_where_room_is_short(
    data: dict[str, tuple[list[Attribute], list[Row]]], most: int, cut: int
) -> None:
    with with_room(0), patch("penstock.synopsis.adherence._FEW", 4):
        found = profiled(data, most, cut)
    ordered = {name: by_time(rows) for name, (_, rows) in data.items()}
    for stream in bind_text(profile_ddl(found)).checked().catalog.streams:
        for constraint in stream.constraints:
            assert holds(constraint, stream.name, ordered), constraint


@given(referring_streams(), st.randoms(use_true_random=False))
def test_the_register_admits_the_data_whichever_stream_comes_first(
    data: dict[str, tuple[list[Attribute], list[Row]]], random: Random
) -> None:
    """By the model that the register's own tests have of k-constraints, in which rows come one by one."""
    number = {None: -1} | {row["id"]: place for place, (_, row) in enumerate(data["item"][1])}
    whole = {name: ([replace(a, type=BIGINT) for a in some], rows) for name, (some, rows) in data.items()}
    for _, rows in whole.values():
        rows[:] = [(at, {name: number[value] for name, value in row.items()}) for at, row in rows]
    catalog = bind_text(profile_ddl(profiled(whole, 100, 5))).checked().catalog
    query = model_query(catalog)
    arrived = sorted(
        ((at, random.random(), name, place) for name, (_, rows) in whole.items() for place, (at, _) in enumerate(rows))
    )
    queues = {name: by_time(rows) for name, (_, rows) in whole.items()}
    past: list[Event] = []
    for _, _, name, _ in arrived:
        at, values = queues[name].pop(0)
        event = Event(name, at, values)
        assert is_admissible(query, past, event)
        past.append(event)


def model_query(catalog: Catalog) -> ConstrainedJoin:
    streams, constraints = [], []
    for stream in catalog.streams:
        keys = tuple(frozenset(c.columns) for c in stream.constraints if isinstance(c, Unique))
        streams.append(ConstrainedStream(stream.name, tuple(a.name for a in stream.attributes[:-1]), keys=keys))
        for constraint in stream.constraints:
            match constraint:
                case Clustered(columns, within):
                    constraints.append(ClusteredArrival(stream.name, columns, extent(within)))
                case Ordered(column, within):
                    constraints.append(OrderedArrival(stream.name, column, extent(within)))
                case Reference(columns, parent, parent_columns, within) if parent != stream.name:
                    constraints.append(Rids(stream.name, columns, parent, parent_columns, extent(within)))
    return ConstrainedJoin(tuple(streams), (), tuple(constraints))


def extent(within: Within) -> Extent:
    match within:
        case WithinRows(k):
            return RowCount(k)
        case WithinTime(microseconds):
            return TimeSpan(microseconds)
    raise AssertionError(within)

"""Functions of time in time zones: what clocks show, around the instants at which they are changed, and far away."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest

from penstock.algebra.expressions import Call, Cast, Column, Expr, Literal, call_in, cast_in
from penstock.algebra.zones import zone_name, zone_of
from penstock.errors import PenstockError
from penstock.operators.scalars import compile_scalar
from penstock.sql import bind_text
from penstock.synopsis.codes import decode_column, encode_column
from penstock.synopsis.deltas import assemble
from penstock.synopsis.dictionary import Dictionary
from penstock.types import DATE, STRING, TIMESTAMP, Type
from tests.reference.scalar import evaluate

ZONES = (
    "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo",
    "America/Havana", "Africa/Monrovia", "+05:45", "-03:00",
)  # fmt: skip
UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
TS, DAY, TEXT = Column("", "ts", TIMESTAMP), Column("", "day", DATE), Column("", "text", STRING)


def instants(zone: str, count: int) -> list[int]:
    """Around changes of clocks, before 1970, after 2037, and anywhere."""
    random = Random(zone)
    near = [change.at for change in zone_of(zone).changes] or [0]
    found = []
    for _ in range(count):
        away = random.choice((0, 1, -1, random.randrange(-100_000, 100_000), 1800, -3600))
        found.append((random.choice(near) + away) * 1_000_000 + random.choice((0, 1, 999_999)))
        found.append(random.randrange(-(10**17), 10**18))
    return [*found, -(2**62), 2**62, 0]


def exprs(zone: str) -> Iterator[Expr]:
    yield from (call_in(f, (TS,), zone) for f in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"))
    yield from (call_in("DATE_TRUNC", (Literal(unit, STRING), TS), zone) for unit in UNITS)
    yield cast_in(TS, DATE, zone)
    yield cast_in(TS, STRING, zone)


def computed(expr: Expr, column: Column, values: list[object]) -> list[object]:
    dictionary = Dictionary()
    rows = assemble([encode_column(arrow(values, column.type), column.type, dictionary)], len(values))
    codes, nulls = compile_scalar(expr, (column,))(rows, dictionary)
    found = decode_column(codes, nulls, expr.type, dictionary)
    return (
        found if expr.type in (STRING,) else found.cast(pa.int64() if expr.type == TIMESTAMP else pa.int32())
    ).to_pylist()


def arrow(values: list[object], type_: Type) -> pa.Array:
    if type_ == STRING:
        return pa.array(values, pa.string())
    plain = pa.array(values, pa.int64() if type_ == TIMESTAMP else pa.int32())
    return plain.cast(pa.timestamp("us", "UTC") if type_ == TIMESTAMP else pa.date32())


@pytest.mark.parametrize("zone", ZONES)
def test_functions_are_those_of_the_reference(zone: str) -> None:
    times = instants(zone, 150)
    for expr in exprs(zone):
        assert computed(expr, TS, list(times)) == [evaluate(expr, {TS: time}) for time in times], expr


@pytest.mark.parametrize("zone", ZONES)
def test_what_clocks_show_is_found_again(zone: str) -> None:
    times = [time for time in instants(zone, 150) if abs(time) < 2 * 10**17]
    days = [evaluate(cast_in(TS, DATE, zone), {TS: time}) for time in times]
    starts = cast_in(DAY, TIMESTAMP, zone)
    assert computed(starts, DAY, list(days)) == [evaluate(starts, {DAY: day}) for day in days]
    # What UTC shows is skipped in a zone, or shown twice.
    texts = [evaluate(cast_in(TS, STRING, "UTC"), {TS: time + shift}) for time in times for shift in (0, 3_600_000_000)]
    texts += [f"{text}Z" for text in texts[:50]]
    read = cast_in(TEXT, TIMESTAMP, zone)
    assert computed(read, TEXT, list(texts)) == [evaluate(read, {TEXT: text}) for text in texts]


def test_only_what_shows_a_clock_has_a_zone() -> None:
    assert cast_in(TEXT, DATE, "+01:00") == Cast(TEXT, DATE)
    assert call_in("UNIX_SECONDS", (TS,), "+01:00") == Call("UNIX_SECONDS", (TS,))
    assert call_in("YEAR", (DAY,), "+01:00") == Call("YEAR", (DAY,))


def test_literals_are_in_the_zone() -> None:
    ddl = "CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts; SELECT TIMESTAMP '{}' AS t, ts > '{}' AS late FROM s"
    written = "2026-07-01 12:00:00"
    query = bind_text(ddl.format(written, written), zone="Europe/Berlin").checked().queries[0]
    assert query.zone == "Europe/Berlin"
    assert str(1_782_900_000_000_000) in repr(query)  # 10:00 in UTC
    with_zone = bind_text(ddl.format(written + "Z", written + "Z"), zone="Europe/Berlin").checked().queries[0]
    assert str(1_782_907_200_000_000) in repr(with_zone)


@pytest.mark.parametrize(
    ("written", "hint"),
    [("Europe/Berln", "Europe/Berlin"), ("Berlin", "Europe/Berlin"), ("CETX", None), ("+25:00", None)],
)
def test_a_zone_that_is_not_there_is_refused(written: str, hint: str | None) -> None:
    with pytest.raises(PenstockError, match=f"there is no time zone {written.replace('+', '.')}") as caught:
        zone_name(written)
    assert hint is None or caught.value.hint == f"did you mean {hint}?"


@pytest.mark.parametrize(
    ("zone", "unit", "rounds"),
    [
        ("Europe/Berlin", "HOUR", True),
        ("Europe/Berlin", "DAY", True),
        ("America/Sao_Paulo", "DAY", True),
        ("Asia/Kolkata", "HOUR", True),
        ("Australia/Lord_Howe", "HOUR", False),
        ("Australia/Lord_Howe", "DAY", True),
        ("America/Goose_Bay", "DAY", False),  # clocks were put back at one minute past midnight
        ("America/Goose_Bay", "HOUR", False),
        ("+05:45", "HOUR", True),
        ("America/Havana", "DAY", True),  # midnight is shown twice
        ("America/Havana", "MONTH", False),
    ],
)
def test_whether_a_unit_never_starts_again(zone: str, unit: str, rounds: bool) -> None:
    assert zone_of(zone).rounds(unit) is rounds
    starts = call_in("DATE_TRUNC", (Literal(unit, STRING), TS), zone)
    times = sorted({
        (change.at + away) * 1_000_000
        for change in zone_of(zone).changes
        if change.at > 0
        for away in range(-7200, 7201, 30)
    })  # fmt: skip
    found = computed(starts, TS, list(times))
    if rounds:
        assert found == sorted(found)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("text", "micros"), [("1.5", 1_500_000), ("1.123456", 1_123_456), ("1.", None), ("1.1234567", None)]
)
def test_a_text_may_have_fewer_digits_of_a_fraction_than_its_format(text: str, micros: int | None) -> None:
    call = Call("TO_TIMESTAMP", (TEXT, Literal("s.SSSSSS", STRING)))
    assert computed(call, TEXT, [text]) == [micros]
    assert evaluate(call, {TEXT: text}) == micros

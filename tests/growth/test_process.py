"""The process keeps what is declared of it, and a leak in a run over it is seen where its noise is not."""

from __future__ import annotations

from random import Random

import pytest

from penstock.algebra.expressions import Comparator, Compare, Literal
from penstock.catalog import Punctuated, StreamDef
from penstock.sql import bind_text
from tests.growth.measuring import Held, growths
from tests.growth.process import NAMES, Data, Nulls, data, ddl, declarations
from tests.profiling.definitions import holds

each_kind_of_nulls = pytest.mark.parametrize("nulls", Nulls)


@each_kind_of_nulls
def test_all_that_is_declared_holds(nulls: Nulls) -> None:
    rows = data(60, nulls)
    streams = {
        name: sorted(((row[-1], dict(zip(NAMES, row, strict=True))) for row in mine), key=lambda row: row[0])
        for name, mine in rows.items()
    }
    for stream in bind_text(ddl(declarations(nulls))).checked().catalog.streams:
        for constraint in stream.constraints:
            if isinstance(constraint, Punctuated):
                assert_punctuated(stream, constraint, rows)
            else:
                assert holds(constraint, stream.name, streams), (stream.name, constraint)  # type: ignore[arg-type]


def assert_punctuated(stream: StreamDef, scheme: Punctuated, rows: Data) -> None:
    """No row comes at an instant after that of a punctuation of its values, and every value is closed in the end."""
    closed: dict[tuple[object, ...], int] = {}
    source, columns = (scheme.source, scheme.source_columns) if scheme.source else (stream.name, scheme.columns)
    for row in rows[source]:
        if scheme.source or _is_punctuation(scheme, dict(zip(NAMES, row, strict=True))["ends"]):
            closed.setdefault(_values(row, columns), row[-1])  # type: ignore[arg-type]
    for row in rows[stream.name]:
        values, ts = _values(row, scheme.columns), row[-1]
        assert isinstance(ts, int)
        assert ts <= closed.get(values, ts), (stream.name, scheme, row)
        assert values in closed or ts > 50_000 or None in values


def _is_punctuation(scheme: Punctuated, ends: object) -> bool:
    """`ends = 1` or `ends >= 1`."""
    assert isinstance(scheme.when, Compare)
    assert isinstance(scheme.when.right, Literal)
    return ends == 1 if scheme.when.op is Comparator.EQ else ends in (1, 2)


def _values(row: tuple[object, ...], columns: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(row[NAMES.index(column)] for column in columns)


def quarters(leak: int, plateau: int = 200, noise: int = 30) -> list[list[Held]]:
    """What a run keeps that loses an entry in so many rows, of 1,360 in each quarter; 0: it loses none."""
    random = Random(leak)
    kept = [plateau + (1360 * number // leak if leak else 0) for number in (1, 2, 3, 4)]
    return [
        [Held({"join": most - random.randrange(noise)}, 0, {}, {"window": 1 << most.bit_length()}) for _ in range(5)]
        for most in kept
    ]


def test_a_leak_of_an_entry_in_fifty_rows_is_seen() -> None:
    assert [each.what for each in growths(quarters(50))] == ["rows"]


@pytest.mark.parametrize("plateau", [5, 50, 250, 1000])
def test_noise_and_an_array_that_doubles_are_no_growth(plateau: int) -> None:
    assert not list(growths(quarters(0, plateau)))

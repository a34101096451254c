"""Each type goes into a user function and comes out of it as documented, and nothing is converted in silence."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock
from penstock.sql.signatures import read_type
from penstock.synopsis.codes import arrow_type
from tests.functions.running import refusal, session_over, values

BERLIN = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 1, dt.UTC)

#: Of each type some values, NULL among them, and the Python type that a function gets.
TYPES: dict[str, tuple[list[Any], type]] = {
    "BOOLEAN": ([True, None, False], bool),
    "INT": ([1, None, -(2**31), 2**31 - 1], int),
    "BIGINT": ([1, None, -(2**63), 2**63 - 1], int),
    "DOUBLE": ([1.5, None, float("inf"), -2.0], float),
    "DECIMAL(10, 2)": ([Decimal("1.50"), None, Decimal("-99999999.99")], Decimal),
    "DECIMAL(38, 4)": ([Decimal("1.5000"), None, Decimal(10**33) + Decimal("0.0001"), Decimal("0.0000")], Decimal),
    "STRING": (["a", None, "", "für immer"], str),
    "BINARY": ([b"a", None, b"", b"\x00\xff"], bytes),
    "TIMESTAMP": ([NOON, None, dt.datetime(1, 1, 1, tzinfo=dt.UTC)], dt.datetime),
    "DATE": ([dt.date(2024, 2, 29), None, dt.date(9999, 12, 31)], dt.date),
}


def over(type_: str, given: list[Any]) -> penstock.Session:
    return session_over(s={"a": pa.array(given, arrow_type(read_type(type_)))})


@pytest.mark.parametrize("repeated", [1, 60], ids=["once", "often"])
@pytest.mark.parametrize("type_", TYPES)
def test_a_value_goes_in_and_comes_out_as_it_was(type_: str, repeated: int) -> None:
    given, python = TYPES[type_]
    session, seen = over(type_, given * repeated), set()

    def same(value: Any) -> Any:
        seen.add(type(value))
        return value

    session.function("same", same, arguments=[type_], returns=type_)
    assert values(session, "SELECT same(a) AS b FROM s") == given * repeated
    assert seen == {python, type(None)}


@pytest.mark.parametrize("type_", TYPES)
def test_an_array_goes_in_and_comes_out_as_it_was(type_: str) -> None:
    given, _ = TYPES[type_]
    session, seen = over(type_, given * 3), set()

    def same(array: pa.Array) -> pa.Array:
        seen.add(array.type)
        return array

    session.function("same", same, arguments=[type_], returns=type_, vectorized=True)
    assert values(session, "SELECT same(a) AS b FROM s") == given * 3
    assert seen == {arrow_type(read_type(type_))}


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("type_", TYPES)
def test_a_null_argument_can_be_skipped(type_: str, vectorized: bool) -> None:
    given, _ = TYPES[type_]
    session, seen = over(type_, given), []

    def same(value: Any) -> Any:
        seen.append(value.null_count if vectorized else value is None)
        return value

    session.function("same", same, arguments=[type_], returns=type_, vectorized=vectorized, null="skip")
    assert values(session, "SELECT same(a) AS b FROM s") == given
    assert not any(seen)


@pytest.mark.parametrize("type_", TYPES)
def test_none_is_null_in_every_type(type_: str) -> None:
    session = over(type_, TYPES[type_][0])
    session.function("nothing", lambda value: None, arguments=[type_], returns=type_)
    assert values(session, "SELECT nothing(a) IS NULL AS b FROM s") == [True] * len(TYPES[type_][0])


def test_a_function_sees_one_zero_and_one_nan() -> None:
    session, seen = over("DOUBLE", [0.0, math.nan]), []
    session.function("sign", lambda x: seen.append(x) or math.copysign(1, x), arguments=["DOUBLE"], returns="DOUBLE")
    assert values(session, "SELECT sign(-a) AS b FROM s") == [1.0, 1.0]
    assert [str(value) for value in seen] == ["0.0", "nan"]


def test_a_timestamp_may_come_back_in_any_time_zone() -> None:
    session = over("TIMESTAMP", [NOON])
    session.function("moved", lambda t: t.astimezone(BERLIN), arguments=["TIMESTAMP"], returns="TIMESTAMP")
    assert values(session, "SELECT moved(a) AS b FROM s") == [NOON]


WRONG: list[Any] = [
    ("BIGINT", 1.0, "gave a float, not an int"),
    ("BIGINT", True, "gave a bool, not an int"),
    ("BIGINT", np.int64(1), "gave an int64, not an int"),
    ("BIGINT", 2**63, "gave 9223372036854775808, which does not fit BIGINT"),
    pytest.param("BIGINT", 1 << 16609, "gave an int of 16610 bits, which does not fit BIGINT", id="a long int"),
    ("BIGINT", type("", (), {})(), "not an int"),
    ("INT", 2**31, "gave 2147483648, which does not fit INT"),
    ("DOUBLE", 1, "gave an int, not a float"),
    ("BOOLEAN", 1, "gave an int, not a bool"),
    ("STRING", b"a", "gave a bytes, not a str"),
    ("STRING", "\ud800", "gave a str that is not Unicode text"),
    ("BINARY", "a", "gave a str, not a bytes"),
    ("DECIMAL(4, 2)", 1.5, "gave a float, not a decimal.Decimal"),
    ("DECIMAL(4, 2)", Decimal("1.005"), "gave 1.005, which does not fit DECIMAL(4, 2)"),
    ("DECIMAL(4, 2)", Decimal(100), "gave 100, which does not fit DECIMAL(4, 2)"),
    ("DECIMAL(4, 2)", Decimal("NaN"), "gave NaN, which does not fit DECIMAL(4, 2)"),
    ("DECIMAL(38, 0)", Decimal("1e999999"), "gave 1E+999999, which does not fit DECIMAL(38, 0)"),
    ("DECIMAL(38, 0)", Decimal("1e-999999"), "which does not fit DECIMAL(38, 0)"),
    ("TIMESTAMP", dt.datetime(2024, 1, 1), "gave a datetime without a time zone"),
    ("TIMESTAMP", dt.date(2024, 1, 1), "gave a date, not a datetime.datetime"),
    ("DATE", NOON, "gave a datetime, not a datetime.date"),
]


@pytest.mark.parametrize("on_error", ["fail", "null"])
@pytest.mark.parametrize(("type_", "result", "message"), WRONG)
def test_a_result_of_the_wrong_type_is_an_error(type_: str, result: Any, message: str, on_error: str) -> None:
    session = over("BIGINT", [7])
    session.function("wrong", lambda a: result, arguments=["BIGINT"], returns=type_, on_error=on_error)
    said = refusal(session, "SELECT wrong(a) AS b FROM s")
    assert message in said
    assert f"hint: it is declared wrong(BIGINT) returns {read_type(type_)}" in said


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda a: a.to_pylist(), "gave list, not a pyarrow.Array"),
        (lambda a: a.slice(1), "gave 2 results for 3 rows"),
        (lambda a: a.cast(pa.int32()), "gave an array of int32, not of int64"),
        (lambda a: pa.nulls(len(a)), "gave an array of null, not of int64"),
    ],
)
def test_a_vectorized_result_has_the_length_and_the_type_that_is_declared(
    result: Callable[[pa.Array], Any], message: str
) -> None:
    session = over("BIGINT", [7, 8, 9])
    session.function("wrong", result, arguments=["BIGINT"], returns="BIGINT", vectorized=True)
    assert message in refusal(session, "SELECT wrong(a) AS b FROM s")


INVALID: list[tuple[str, Callable[[pa.Array], pa.Array]]] = [
    ("STRING", lambda a: pa.StringArray.from_buffers(1, pa.py_buffer(np.int32([0, 1])), pa.py_buffer(b"\xff"))),
    ("DECIMAL(4, 2)", lambda a: pa.Array.from_buffers(pa.decimal128(4, 2), 1, [None, pa.py_buffer(b"\x7f" * 16)])),
]


@pytest.mark.parametrize(("type_", "result"), INVALID)
def test_an_array_that_is_not_valid_is_an_error(type_: str, result: Callable[[pa.Array], pa.Array]) -> None:
    session = over("BIGINT", [7])
    session.function("wrong", result, arguments=["BIGINT"], returns=type_, vectorized=True)
    assert "wrong(7) gave an array that is not valid" in refusal(session, "SELECT wrong(a) AS b FROM s")


def test_a_vectorized_result_may_be_chunked() -> None:
    session = over("BIGINT", [7, 8])
    chunked = lambda a: pa.chunked_array([a.slice(0, 1), a.slice(1)])  # noqa: E731
    session.function("chunked", chunked, arguments=["BIGINT"], returns="BIGINT", vectorized=True)
    assert values(session, "SELECT chunked(a) AS b FROM s") == [7, 8]


def test_a_time_that_python_has_no_value_for_is_an_error() -> None:
    session = over("BIGINT", [2**62])
    session.function("year_of", lambda t: t.year, arguments=["TIMESTAMP"], returns="INT")
    said = refusal(session, "SELECT year_of(TIMESTAMP_MICROS(a)) AS b FROM s")
    assert "year_of(4611686018427387904) is not called: a datetime is of the years 1 to 9999" in said

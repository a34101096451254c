"""The values of expressions: each row of the table is an expression and its value."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from tests.reference.values import Value, identity
from tests.semantics.examples import changes

DDL = """
CREATE STREAM s (
  i INT, n BIGINT, x DOUBLE, p DECIMAL(6, 2), wide DECIMAL(38, 0), f BOOLEAN, w STRING, b BINARY, m TIMESTAMP, d DATE,
  nul BIGINT, unknown BOOLEAN, ts BIGINT
) TIMESTAMP BY ts;
"""
#: 2024-02-29 12:34:56.5
MOMENT = 1_709_210_096_500_000
ROW = (
    2**31 - 1,
    2**63 - 1,
    math.inf,
    Decimal("1.25"),
    Decimal(10**38 - 1),
    True,
    " Ab é",
    b"\xff\x00",
    MOMENT,
    19_782,
    None,
    None,
    0,
)


def value_of(expression: str) -> Value:
    (change,) = changes(f"{DDL} SELECT {expression} AS value FROM s", s=[ROW])
    return change[2]


def check(expression: str, expected: Value) -> None:
    value = value_of(expression)
    assert type(value) is type(expected)
    assert identity((value,)) == identity((expected,))
    if isinstance(value, Decimal):
        assert str(value) == str(expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("unknown AND FALSE", False),
        ("unknown AND TRUE", None),
        ("unknown OR TRUE", True),
        ("unknown OR FALSE", None),
        ("NOT unknown", None),
        ("nul = nul", None),
        ("nul <=> NULL", True),
        ("n <=> NULL", False),
        ("n IS DISTINCT FROM NULL", True),
        ("nul IS NULL", True),
        ("unknown IS TRUE", False),
        ("NOT nul IS NOT NULL", True),
        ("1 IN (1, NULL)", True),
        ("2 IN (1, NULL)", None),
        ("2 NOT IN (1, NULL)", None),
        ("2 NOT IN (1, 3)", True),
        ("nul IN (1, 2)", None),
        ("2 BETWEEN 1 AND 3", True),
        ("2 NOT BETWEEN 3 AND nul", True),
        ("2 BETWEEN 1 AND nul", None),
        ("'abc' < 'abd'", True),
        ("'Z' < 'a'", True),
        ("'é' > 'z'", True),
        ("'😀' > '\uffff'", True),
        ("FALSE < TRUE", True),
        ("CAST('nan' AS DOUBLE) = CAST('nan' AS DOUBLE)", True),
        ("CAST('nan' AS DOUBLE) > x", True),
        ("-0.0E0 = 0.0E0", True),
        ("n = 9223372036854775807.0", True),
        ("p = 1.250", True),
        ("d = TIMESTAMP '2024-02-29 00:00:00'", True),
        ("w LIKE '%b _'", True),
        ("w NOT LIKE '%b _'", False),
        ("'a%b' LIKE 'a!%b' ESCAPE '!'", True),
        ("'axb' LIKE 'a!%b' ESCAPE '!'", False),
        ("'a!b' LIKE 'a!!b' ESCAPE '!'", True),
        ("'' LIKE ''", True),
        ("'' LIKE '%'", True),
        ("'ab' LIKE 'a'", False),
        ("CAST(NULL AS STRING) LIKE '%'", None),
        ("CASE WHEN unknown THEN 1 WHEN TRUE THEN 2 END", 2),
        ("CASE WHEN FALSE THEN 1 END", None),
        ("CASE nul WHEN nul THEN 1 ELSE 2 END", 2),
    ],
)
def test_logic(expression: str, expected: Value) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("1 / 0", None),
        ("1 % 0", None),
        ("i + 1", None),
        ("i + n", None),
        ("i * 2147483648", 2147483647 * 2147483648),
        ("n + 1", None),
        ("n * -1 - 1", -(2**63)),
        ("(-n - 1) / -1", None),
        ("(-n - 1) % -1", 0),
        ("-(-n - 1)", None),
        ("ABS(-n - 1)", None),
        ("nul + 1", None),
        ("1.0E0 / 0", None),
        ("1.0E0 % 0.0E0", None),
        ("x - x", math.nan),
        ("x * 2", math.inf),
        ("1.0E0 % x", 1.0),
        ("x % 2", math.nan),
        ("-7.5E0 % 2", -1.5),
        ("1.0E308 * 10", math.inf),
        ("0.1E0 + 0.2E0", 0.1 + 0.2),
        ("p + 1", Decimal("2.25")),
        ("p * p", Decimal("1.5625")),
        ("p / 3", Decimal("0.4166666666667")),
        ("-p / 3", Decimal("-0.4166666666667")),
        ("p % 1", Decimal("0.25")),
        ("-p % 1", Decimal("-0.25")),
        ("p / 0", None),
        ("wide + 1", None),
        ("wide * 10", None),
        ("-wide", Decimal(1 - 10**38)),
        ("-1234567890123456789012345678901.5", Decimal("-1234567890123456789012345678901.5")),
        ("CEIL(p)", Decimal(2)),
        ("FLOOR(-p)", Decimal(-2)),
        ("CEIL(-1.5E0)", -1),
        ("FLOOR(-1.5E0)", -2),
        ("FLOOR(x)", None),
        ("FLOOR(i)", 2**31 - 1),
        ("ABS(-p)", Decimal("1.25")),
        ("ABS(-2.5E0)", 2.5),
        ("ROUND(2.5E0)", 3.0),
        ("ROUND(-2.5E0)", -3.0),
        ("ROUND(1.005E0, 2)", 1.01),
        ("ROUND(1234.5E0, -2)", 1200.0),
        ("ROUND(x, 2)", math.inf),
        ("ROUND(1.5E0, 2147483647)", 1.5),
        ("SQRT(4.0E0)", 2.0),
        ("SQRT(-1.0E0)", math.nan),
        ("EXP(0.0E0)", 1.0),
        ("EXP(1000.0E0)", math.inf),
        ("LN(0.0E0)", None),
        ("LN(-1.0E0)", None),
        ("LN(1.0E0)", 0.0),
        ("POWER(2.0E0, 10.0E0)", 1024.0),
        ("POWER(-8.0E0, 0.5E0)", math.nan),
        ("POWER(0.0E0, -1.0E0)", math.inf),
        ("POWER(-10.0E0, 309.0E0)", -math.inf),
        ("POWER(1.0E0, x)", math.nan),
        ("GREATEST(1, nul, 3)", 3),
        ("LEAST(nul, 2)", 2),
        ("LEAST(nul, nul)", None),
        ("GREATEST(1.0E0, CAST('nan' AS DOUBLE))", math.nan),
        ("COALESCE(nul, 2, 1)", 2),
        ("COALESCE(nul, nul)", None),
    ],
)
def test_numbers(expression: str, expected: Value) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("UPPER('aßé')", "ASSÉ"),
        ("LOWER('AÉ')", "aé"),
        ("TRIM('  a b ')", "a b"),
        ("LTRIM('  a ')", "a "),
        ("RTRIM(' a  ')", " a"),
        ("REVERSE('a日😀')", "😀日a"),
        ("LENGTH('a日😀')", 3),
        ("LENGTH(b)", 2),
        ("CONCAT('a', 'b', 'c')", "abc"),
        ("'a' || CAST(NULL AS STRING)", None),
        ("SUBSTRING('abcd', 2)", "bcd"),
        ("SUBSTRING('abcd', 2, 2)", "bc"),
        ("SUBSTRING('abcd', 0, 2)", "ab"),
        ("SUBSTRING('abcd', -2, 1)", "c"),
        ("SUBSTRING('abc', -5, 3)", "a"),
        ("SUBSTRING('abc', 9)", ""),
        ("SUBSTRING('abc', 2, -1)", ""),
        ("REPLACE('aba', 'a', 'xy')", "xybxy"),
        ("REPLACE('aba', '', 'x')", "aba"),
        ("CONTAINS('abc', '')", True),
        ("STARTSWITH('abc', 'ab')", True),
        ("ENDSWITH('abc', 'ab')", False),
        ("INSTR('日本', '本')", 2),
        ("INSTR('abc', 'x')", 0),
        ("INSTR('abc', '')", 1),
    ],
)
def test_strings(expression: str, expected: Value) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("UNIX_MICROS(m)", MOMENT),
        ("UNIX_MILLIS(TIMESTAMP_MICROS(-1))", -1),
        ("UNIX_SECONDS(TIMESTAMP_MICROS(-1))", -1),
        ("TIMESTAMP_SECONDS(2)", 2_000_000),
        ("TIMESTAMP_MILLIS(n)", None),
        ("YEAR(m) * 10000 + MONTH(m) * 100 + DAY(m)", 20240229),
        ("HOUR(m) * 10000 + MINUTE(m) * 100 + SECOND(m)", 123456),
        ("YEAR(d)", 2024),
        ("YEAR(TIMESTAMP_MICROS(-1))", 1969),
        ("SECOND(TIMESTAMP_MICROS(-1))", 59),
        ("YEAR(TIMESTAMP_MICROS(n))", 294247),
        ("CAST(DATE_TRUNC('SECOND', m) AS STRING)", "2024-02-29 12:34:56"),
        ("CAST(DATE_TRUNC('WEEK', m) AS STRING)", "2024-02-26 00:00:00"),
        ("CAST(DATE_TRUNC('month', m) AS STRING)", "2024-02-01 00:00:00"),
        ("CAST(DATE_TRUNC('QUARTER', m) AS STRING)", "2024-01-01 00:00:00"),
        ("CAST(DATE_TRUNC('YEAR', m) AS STRING)", "2024-01-01 00:00:00"),
        ("DATE_TRUNC('YEAR', TIMESTAMP_MICROS(-n))", None),
        ("m + INTERVAL 1 DAY - m = INTERVAL 24 HOURS", True),
        ("TIMESTAMP_MICROS(n) + INTERVAL 1 MICROSECOND", None),
        ("TIMESTAMP_MICROS(-n) - TIMESTAMP_MICROS(n) < INTERVAL 0 SECONDS", None),
    ],
)
def test_times(expression: str, expected: Value) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(-2.9E0 AS INT)", -2),
        ("CAST(x AS BIGINT)", None),
        ("CAST(CAST('nan' AS DOUBLE) AS INT)", None),
        ("CAST(1.0E10 AS INT)", None),
        ("CAST(1234567890123456789.0E0 AS BIGINT)", 1234567890123456768),
        ("CAST(p AS INT)", 1),
        ("CAST(-1.99 AS BIGINT)", -1),
        ("CAST(n AS INT)", None),
        ("CAST(2 AS BOOLEAN)", True),
        ("CAST(0 AS BOOLEAN)", False),
        ("CAST(f AS INT)", 1),
        ("CAST(2.345 AS DECIMAL(4, 2))", Decimal("2.35")),
        ("CAST(-2.345 AS DECIMAL(4, 2))", Decimal("-2.35")),
        ("CAST(1.005E0 AS DECIMAL(4, 2))", Decimal("1.01")),
        ("CAST(100 AS DECIMAL(4, 2))", None),
        ("CAST(99.995 AS DECIMAL(4, 2))", None),
        ("CAST(x AS DECIMAL(4, 2))", None),
        ("CAST(9007199254740993 AS DOUBLE)", 9007199254740992.0),
        ("CAST(wide AS DOUBLE)", 1e38),
        ("CAST(CAST(' -12 ' AS STRING) AS INT)", -12),
        ("CAST('1.5' AS INT)", None),
        ("CAST('' AS INT)", None),
        ("CAST('٣' AS INT)", None),
        ("CAST('1_0' AS BIGINT)", None),
        ("CAST('9223372036854775808' AS BIGINT)", None),
        ("CAST(' 1.245 ' AS DECIMAL(4, 2))", Decimal("1.25")),
        ("CAST('.5' AS DECIMAL(4, 2))", Decimal("0.50")),
        ("CAST('1e2' AS DECIMAL(4, 0))", None),
        ("CAST('1e2' AS DOUBLE)", 100.0),
        ("CAST('-inf' AS DOUBLE)", -math.inf),
        ("CAST('NaN' AS DOUBLE)", math.nan),
        ("CAST('1e999' AS DOUBLE)", math.inf),
        ("CAST('0x10' AS DOUBLE)", None),
        ("CAST(' YES ' AS BOOLEAN)", True),
        ("CAST('f' AS BOOLEAN)", False),
        ("CAST('on' AS BOOLEAN)", None),
        ("CAST(n AS STRING)", "9223372036854775807"),
        ("CAST(f AS STRING)", "true"),
        ("CAST(p AS STRING)", "1.25"),
        ("CAST(CAST(0 AS DECIMAL(3, 2)) AS STRING)", "0.00"),
        ("CAST(m AS STRING)", "2024-02-29 12:34:56.5"),
        ("CAST(d AS STRING)", "2024-02-29"),
        ("CAST(TIMESTAMP_MICROS(n) AS STRING)", "+294247-01-10 04:00:54.775807"),
        ("CAST(m AS DATE)", 19_782),
        ("CAST(TIMESTAMP_MICROS(-1) AS DATE)", -1),
        ("CAST(d AS TIMESTAMP)", 19_782 * 86_400_000_000),
        ("CAST(b AS STRING)", None),
        ("CAST(CAST('é' AS BINARY) AS STRING)", "é"),
        ("CAST('é' AS BINARY)", b"\xc3\xa9"),
        ("X'FF00' = b", True),
        ("X'00' < X'0000'", True),
    ],
)
def test_casts(expression: str, expected: Value) -> None:
    check(expression, expected)


@pytest.mark.parametrize(
    ("text", "moment", "day"),
    [
        ("1970-01-02", 86_400_000_000, 1),
        (" 1970-01-01 00:00:01 ", 1_000_000, 0),
        ("1970-01-01T00:00:00.5Z", 500_000, 0),
        ("1970-01-01 00:00:00.123456789", 123_456, 0),
        ("1970-01-01 01:30", 5_400_000_000, 0),
        ("1970-01-01T23:00:00-02:00", 90_000_000_000, 0),
        ("1970-01-01 00:00:00+01", -3_600_000_000, 0),
        ("+10000-01-01", 253_402_300_800_000_000, 2_932_897),
        ("1970-02-29", None, None),
        ("1970-1-1", None, None),
        ("1970-01-01 24:00:00", None, None),
        ("1970-01-01 00:00:00 UTC", None, None),
        ("19700101", None, None),
        ("now", None, None),
    ],
)
def test_strings_to_times(text: str, moment: int | None, day: int | None) -> None:
    ddl = "CREATE STREAM s (w STRING, ts BIGINT) TIMESTAMP BY ts;"
    query = f"{ddl} SELECT CAST(w AS TIMESTAMP) AS m, CAST(w AS DATE) AS d FROM s"
    assert changes(query, s=[(text, 0)]) == [(0, "+", moment, day)]

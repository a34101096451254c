"""When a user function raises: a clear error, NULL that is counted, or nothing at all where nobody asked."""

from __future__ import annotations

import math
import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock
from tests.functions.running import refusal, session_over, values


def picky(a: Any) -> Any:
    if a in (None, 3):
        raise ValueError(f"no {a}")
    return _doubled(a)


def _doubled(a: int) -> int:
    return 2 * a


@pytest.fixture
def session() -> penstock.Session:
    session = session_over(s={"a": [1, 2, 3, None], "t": ["x" * 500, "y", "z", None]})
    session.function("picky", picky, arguments=["BIGINT"], returns="BIGINT")
    session.function("choosy", lambda a: {2: True, 3: False}[a], arguments=["BIGINT"], returns="BOOLEAN")
    return session


def test_an_error_names_the_function_its_arguments_and_the_lines_of_the_user(session: penstock.Session) -> None:
    said = refusal(session, "SELECT picky(a) AS b FROM s")
    first, *frames, hint = said.splitlines()
    assert first == "picky(3) raised ValueError: no 3"
    assert frames[0].startswith(f"  {__file__}:")
    assert frames[0].endswith(", in picky")
    assert frames[1:] == ['    raise ValueError(f"no {a}")']
    assert hint == "hint: catch it in the function, or declare on_error='null' to get NULL instead"


def test_an_error_shows_long_values_shortened_and_secrets_masked(
    session: penstock.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_PASSWORD", "correct-horse")

    def told(t: str, u: str) -> str:
        raise RuntimeError(f"cannot log in with {u}: {t * 9}")

    session.function("told", told, arguments=["STRING", "STRING"], returns="STRING")
    said = refusal(session, "SELECT told(t, 'correct-horse') AS b FROM s")
    assert "correct-horse" not in said
    assert "'***'" in said
    assert max(map(len, said.splitlines())) < 500


def test_an_exit_in_a_function_does_not_end_the_program_in_silence(session: penstock.Session) -> None:
    session.function("leave", sys.exit, arguments=["BIGINT"], returns="BIGINT")
    assert "leave(1) raised SystemExit" in refusal(session, "SELECT leave(a) AS b FROM s")


def ended(a: Any) -> Any:
    if a == 2:
        next(iter([]))
    return a


def test_a_stop_iteration_is_an_error_like_others(session: penstock.Session) -> None:
    session.function("ended", ended, arguments=["BIGINT"], returns="BIGINT")
    first, *frames, _ = refusal(session, "SELECT ended(a) AS b FROM s").splitlines()
    assert first == "ended(2) raised StopIteration"
    assert frames[1:] == ["    next(iter([]))"]
    session.function("ended", ended, arguments=["BIGINT"], returns="BIGINT", on_error="null")
    assert values(session, "SELECT ended(a) AS b FROM s") == [1, None, 3, None]


class Odd(BaseException):
    """Neither an Exception nor a wish to end the program."""


@pytest.mark.parametrize(
    "cause", [Odd("odd"), GeneratorExit("odd"), RecursionError("odd"), MemoryError("odd"), StopIteration("odd")]
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_whatever_a_function_raises_is_reported_with_its_arguments(
    session: penstock.Session, cause: BaseException, vectorized: bool
) -> None:
    def bad(a: Any) -> Any:
        raise cause

    session.function("bad", bad, arguments=["BIGINT"], returns="BIGINT", vectorized=vectorized)
    assert refusal(session, "SELECT bad(a) AS b FROM s").startswith(f"bad(1) raised {type(cause).__name__}: odd")


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def endless(a: Any) -> Any:
    return endless(a)


def test_an_exception_without_words_and_an_endless_recursion_are_reported_briefly(session: penstock.Session) -> None:
    def mute(a: Any) -> Any:
        raise Mute

    session.function("mute", mute, arguments=["BIGINT"], returns="BIGINT")
    assert refusal(session, "SELECT mute(a) AS b FROM s").startswith("mute(1) raised Mute\n")
    session.function("endless", endless, arguments=["BIGINT"], returns="BIGINT")
    lines = refusal(session, "SELECT endless(a) AS b FROM s").splitlines()
    assert lines[0].startswith("endless(1) raised RecursionError")
    assert len(lines) < 30
    assert any(line.endswith("more calls ...") for line in lines)


def test_ctrl_c_in_a_function_ends_the_program(session: penstock.Session) -> None:
    def slow(a: Any) -> Any:
        raise KeyboardInterrupt

    for vectorized in (False, True):
        session.function("slow", slow, arguments=["BIGINT"], returns="BIGINT", vectorized=vectorized, on_error="null")
        with pytest.raises(KeyboardInterrupt):
            session.query("SELECT slow(a) AS b FROM s").to_arrow()


def test_null_on_error(session: penstock.Session) -> None:
    session.function("picky", picky, arguments=["BIGINT"], returns="BIGINT", on_error="null")
    assert values(session, "SELECT picky(a) AS b FROM s") == [2, 4, None, None]


DROPPED = {
    "another is false": "SELECT a FROM s WHERE picky(a) > 2 AND a < 3",
    "another is NULL": "SELECT a FROM s WHERE picky(a) > 2 AND NULLIF(a, 3) < 3",
    "another function is false": "SELECT a FROM s WHERE picky(a) > 2 AND choosy(a) AND a > 1",
    "another function is false, which stands first": "SELECT a FROM s WHERE choosy(a) AND picky(a) > 2 AND a > 1",
}


@pytest.mark.parametrize("text", DROPPED.values(), ids=DROPPED)
def test_a_failure_does_not_count_on_a_row_that_another_conjunct_drops(session: penstock.Session, text: str) -> None:
    assert values(session, text) == [2]


COUNTS = {
    "all others are true": "SELECT a FROM s WHERE picky(a) > 2 AND a > 1",
    "all others fail": "SELECT a FROM s WHERE choosy(a) AND picky(a) > 2 AND (a = 1 OR a IS NULL)",
    "it is not a conjunct": "SELECT a FROM s WHERE picky(a) > 2 OR a < 100",
}


@pytest.mark.parametrize("text", COUNTS.values(), ids=COUNTS)
def test_a_failure_counts_on_a_row_that_no_conjunct_drops(session: penstock.Session, text: str) -> None:
    assert " raised " in refusal(session, text)


def test_conjuncts_of_a_join_commute_too() -> None:
    session = session_over(s={"a": [1, 2]}, r={"b": [0, 1], "c": [0, 1]})
    session.function("ratio", lambda a, b: a / b, arguments=["BIGINT"] * 2, returns="DOUBLE")
    joined = "SELECT a FROM s [ROWS 9] JOIN r [ROWS 9] ON ratio(a, b) > 1"
    assert values(session, f"{joined} AND a < b * 100 AND c + a > 1") == [2]
    assert values(session, f"{joined} AND NULLIF(b, 0) + a > 0 AND c = 1") == [2]
    assert "raised ZeroDivisionError" in refusal(session, joined)


def test_a_vectorized_function_fails_on_the_rows_that_make_it_fail() -> None:
    session = session_over(s={"t": ["1", "2", "three", "4", "five"]})
    number = lambda t: pc.cast(t, pa.int64())  # noqa: E731
    session.function("number", number, arguments=["STRING"], returns="BIGINT", vectorized=True)
    assert values(session, "SELECT t FROM s WHERE number(t) > 1 AND LENGTH(t) = 1") == ["2", "4"]
    assert refusal(session, "SELECT number(t) AS n FROM s").startswith("number('three') raised ArrowInvalid")
    session.function("number", number, arguments=["STRING"], returns="BIGINT", vectorized=True, on_error="null")
    assert values(session, "SELECT number(t) AS n FROM s") == [1, 2, None, 4, None]


def test_a_failure_of_one_function_keeps_the_others_of_an_expression_from_its_row(session: penstock.Session) -> None:
    seen: list[Any] = []
    session.function("noted", lambda a: seen.append(a) or a, arguments=["BIGINT"], returns="BIGINT")
    assert values(session, "SELECT a FROM s WHERE noted(picky(a)) > 0 AND a < 3") == [1, 2]
    assert "picky(3)" in refusal(session, "SELECT noted(picky(a)) AS b FROM s")
    assert None not in seen


def test_a_warning_of_numpy_is_what_it_is_outside(session: penstock.Session) -> None:
    np = pytest.importorskip("numpy")
    session.function("log", lambda a: float(np.log(np.float64(a - 1))), arguments=["BIGINT"], returns="DOUBLE")
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert values(session, "SELECT log(a) AS b FROM s WHERE a = 1") == [-math.inf]


def errors_by_operator(session: penstock.Session, text: str, cells: int = 1) -> dict[str, int]:
    query = session.query(text)
    query.to_arrow(cells=cells)
    counted: dict[str, int] = {}
    for line in query.metrics():
        if line["function_errors"]:
            counted[line["operator"]] = counted.get(line["operator"], 0) + line["function_errors"]
    return counted


@pytest.mark.parametrize("cells", [1, 2])
def test_errors_that_give_null_are_counted_where_they_happen(session: penstock.Session, cells: int) -> None:
    session.function("picky", picky, arguments=["BIGINT"], returns="BIGINT", on_error="null")
    session.function(
        "pair", lambda a, b: {1: True}[a + b], arguments=["BIGINT"] * 2, returns="BOOLEAN", on_error="null"
    )
    assert errors_by_operator(session, "SELECT picky(a) AS b FROM s", cells) == {"source": 2}
    assert errors_by_operator(session, "SELECT a FROM s WHERE picky(a) > 0 AND a > 1", cells) == {"source": 1}
    joined = "SELECT x.a FROM s [ROWS 9] x, s [ROWS 9] y WHERE x.ts = y.ts AND pair(x.a, y.a)"
    assert errors_by_operator(session, joined, cells) == {"join1": 4}
    groups = "SELECT picky(MAX(a)) AS b FROM s"
    assert list(errors_by_operator(session, groups, cells)) == ["project0"]


def test_errors_that_fail_are_not_counted(session: penstock.Session) -> None:
    assert errors_by_operator(session, "SELECT picky(a) AS b FROM s WHERE a < 3") == {}

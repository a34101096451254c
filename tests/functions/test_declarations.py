"""Declarations of user functions, calls that are typed and refused with carets, and what is the same function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import penstock
from penstock.errors import PenstockError
from penstock.functions import user_function
from penstock.functions.fingerprint import fingerprint
from tests.functions.running import refusal, session_over, values


@penstock.function(arguments=["STRING"], returns="INT", null="skip")
def vowels(text: str) -> int:
    """Counts vowels."""
    return sum(letter in "aeiou" for letter in text)


@pytest.fixture
def session() -> penstock.Session:
    session = session_over(s={"a": [1, 2], "t": ["audio", None]})
    session.function(vowels)
    session.function(
        "vowels", lambda t, n: vowels(t) * n, arguments=["STRING", "BIGINT"], returns="BIGINT", null="skip"
    )
    session.function("scaled", lambda x: x, arguments=["DOUBLE"], returns="DOUBLE", null="skip")
    return session


def test_a_decorated_function_stays_a_function() -> None:
    assert vowels("audio") == 4
    assert user_function(vowels).signature == "vowels(STRING)"


def test_overloads_differ_in_their_number_of_arguments(session: penstock.Session) -> None:
    assert values(session, "SELECT vowels(t) AS v FROM s") == [4, None]
    assert values(session, "SELECT vowels(t, 3) AS v FROM s") == [12, None]


def test_arguments_are_widened_as_those_of_other_functions_are(session: penstock.Session) -> None:
    assert values(session, "SELECT scaled(a) AS v FROM s") == [1.0, 2.0]
    assert values(session, "SELECT SCALED(1.5) AS v FROM s") == [1.5, 1.5]
    assert values(session, "SELECT scaled(NULL) AS v FROM s") == [None, None]


def test_a_function_of_the_same_name_and_arity_takes_the_place_of_the_one_before(session: penstock.Session) -> None:
    before = session.query("SELECT scaled(a) AS v FROM s")
    session.function("Scaled", lambda x: x * 10, arguments=["DOUBLE"], returns="DOUBLE")
    assert values(session, "SELECT scaled(a) AS v FROM s") == [10.0, 20.0]
    assert before.to_arrow().column("v").to_pylist() == [1.0, 2.0]


CARETS = {
    "SELECT vowels(a) FROM s": """\
<text>:1:8: vowels does not take (BIGINT)
    SELECT vowels(a) FROM s
           ^^^^^^^^
hint: write vowels(STRING) or vowels(STRING, BIGINT)""",
    "SELECT a FROM s WHERE vowels(t, 1, 2) > 0": """\
<text>:1:23: vowels takes 1 or 2 arguments, not 3
    SELECT a FROM s WHERE vowels(t, 1, 2) > 0
                          ^^^^^^^^^^^^^^
hint: write vowels(STRING) or vowels(STRING, BIGINT)""",
    "SELECT vowel(t) FROM s": """\
<text>:1:8: there is no function vowel
    SELECT vowel(t) FROM s
           ^^^^^^^
hint: did you mean vowels?""",
    "SELECT a FROM s WHERE vowels(t)": """\
<text>:1:23: a condition is true or false, and this is a INT
    SELECT a FROM s WHERE vowels(t)
                          ^^^^^^^^
hint: compare it with something""",
    "SELECT vowels(DISTINCT t) FROM s": """\
<text>:1:8: DISTINCT stands only in an aggregate, and VOWELS is none
    SELECT vowels(DISTINCT t) FROM s
           ^^^^^^^^^^^^^^^^^
""",
    "CREATE STREAM u (t STRING, ts TIMESTAMP, PUNCTUATED BY (t) WHEN vowels(t) > 0) TIMESTAMP BY ts": """\
<text>:1:65: a constraint calls no user function: vowels
    CREATE STREAM u (t STRING, ts TIMESTAMP, PUNCTUATED BY (t) WHEN vowels(t) > 0) TIMESTAMP BY ts
                                                                    ^^^^^^^^
hint: compare columns with constants, or compute the column before it arrives""",
    "ALTER STREAM s ADD PUNCTUATED BY (t) WHEN vowels(t) > 0": """\
<text>:1:43: a constraint calls no user function: vowels
    ALTER STREAM s ADD PUNCTUATED BY (t) WHEN vowels(t) > 0
                                              ^^^^^^^^
hint: compare columns with constants, or compute the column before it arrives""",
    "CREATE ASSERTION few FOR s x WHERE vowels(x.t) > 0 THEN x.a > 0": """\
<text>:1:36: an assertion calls no user function: vowels
    CREATE ASSERTION few FOR s x WHERE vowels(x.t) > 0 THEN x.a > 0
                                       ^^^^^^^^^^
hint: what is proved from an assertion must not depend on code; write it in SQL""",
    "SELECT a FROM s [PARTITION BY vowels(t) ROWS 2]": """\
<text>:1:31: a window is partitioned by columns, and this is a call
    SELECT a FROM s [PARTITION BY vowels(t) ROWS 2]
                                  ^^^^^^
hint: a partitioned window is [PARTITION BY a, b ROWS n]: compute the column before the rows arrive""",
}


@pytest.mark.parametrize("text", CARETS)
def test_a_wrong_call_is_refused_with_a_caret(session: penstock.Session, text: str) -> None:
    with pytest.raises(PenstockError) as raised:
        session.sql(text)
    assert str(raised.value).strip() == CARETS[text].strip()


WRONG: list[tuple[str, Callable[..., Any], dict[str, Any], str]] = [
    ("upper", len, {}, "UPPER is a function of the language"),
    ("nvl", len, {}, "NVL is a function of the language"),
    ("Count", len, {}, "COUNT is a function of the language"),
    ("now", len, {}, "NOW is a function of the language"),
    ("istream", len, {}, "ISTREAM is a function of the language"),
    ("case", len, {}, "case is a word of the language"),
    ("cast", len, {}, "cast is a word of the language"),
    ("a b", len, {}, "'a b' is not a function's name"),
    ("f(", len, {}, "'f(' is not a function's name"),
    ("f", len, {"arguments": ["TEXT(3)"]}, "f: there is no type TEXT(3)"),
    ("f", len, {"arguments": ["FLOAT"]}, "f: there is no type FLOAT\nhint: write DOUBLE"),
    ("f", len, {"arguments": ["INTERVAL"]}, "f: there is no type INTERVAL"),
    ("f", len, {"arguments": ["INT) + (1"]}, "f: there is no type INT) + (1"),
    ("f", len, {"arguments": [int]}, "f: a type is a text such as 'BIGINT'"),
    ("f", len, {"arguments": "STRING"}, "f: arguments are a list of types\nhint: write arguments=['STRING']"),
    ("f", len, {"returns": "BIGNUM"}, "f: there is no type BIGNUM"),
    ("f", len, {"returns": "DECIMAL(40, 2)"}, "f: DECIMAL(40, 2) is not a type"),
    ("f", len, {"null": "drop"}, "f: null is 'call' or 'skip', not 'drop'"),
    ("f", len, {"on_error": "ignore"}, "f: on_error is 'fail' or 'null', not 'ignore'"),
    ("f", len, {"deterministic": False}, "f is declared deterministic=False, and a result is a function of its input"),
    (
        "f",
        lambda a, b: a,
        {},
        "f is declared with 1 argument, and cannot be called so\nhint: its parameters are (a, b)",
    ),
    ("f", "len", {}, "f: 'len' cannot be called"),  # type: ignore[list-item]
    ("f", (lambda: (yield)), {}, "f does not return its result"),
    ("f", None, {}, "f needs code, types of arguments and a type of results"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("name", "function", "declared", "message"), WRONG)
def test_a_wrong_declaration_is_refused(
    session: penstock.Session, name: str, function: Callable[..., Any], declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(PenstockError) as raised:
        session.function(name, function, **{"arguments": ["STRING"], "returns": "INT", **declared})
    assert str(raised.value).startswith(message)


def test_what_is_not_declared_is_refused(session: penstock.Session) -> None:
    with pytest.raises(PenstockError, match="len is not declared as a user function"):
        session.function(len)
    with pytest.raises(PenstockError, match="a decorated function has its declaration"):
        session.function(vowels, arguments=["STRING"])
    with pytest.raises(PenstockError, match="cannot be decorated"):
        penstock.function(arguments=["STRING"], returns="INT", name="f")(len)


def test_functions_are_given_to_check_too() -> None:
    text = "CREATE STREAM s (t STRING, ts TIMESTAMP) TIMESTAMP BY ts; SELECT vowels(t) AS v FROM s"
    assert [verdict.safe for verdict in penstock.check(text, functions=[vowels])] == [True]
    with pytest.raises(PenstockError, match="there is no function vowels"):
        penstock.check(text)


def test_nothing_is_concluded_from_a_call(session: penstock.Session) -> None:
    assert "every row of x is kept" in refusal(session, "SELECT x.a FROM s x JOIN s y ON scaled(x.a) = scaled(y.a)")
    assert "one row is kept for every value of scaled(CAST(s.a AS DOUBLE))" in refusal(
        session, "SELECT DISTINCT scaled(a) AS v FROM s"
    )
    bounded = "SELECT x.a FROM s x JOIN s y ON scaled(x.a) = scaled(y.a) AND x.ts = y.ts"
    assert session.query(bounded).verdict.safe


def test_the_plan_shows_calls_as_they_are_written(session: penstock.Session) -> None:
    assert "vowels(s.t) > 1" in session.query("SELECT a FROM s WHERE VOWELS(t) > 1").explain()
    assert penstock.format_text("select Vowels( t ) , lower(t) from s") == "SELECT Vowels(t), LOWER(t)\nFROM s;\n"


def _made(n: int) -> Callable[[int], int]:
    return lambda a: a + n


def _helper(a: int) -> int:
    return a


SAME: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda a: a + 1, lambda a: a + 1),
    (_made(1), _made(1)),
    (functools.partial(max, 1), functools.partial(max, 1)),
    (lambda a: a in {"x", "y", "z"}, lambda a: a in {"z", "y", "x"}),
    (len, len),
]
OTHER: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda a: a + 1, lambda a: a + 2),
    (lambda a: a + 1, lambda a: a - 1),
    (_made(1), _made(2)),
    (lambda a, b=1: a, lambda a, b=2: a),
    (functools.partial(max, 1), functools.partial(max, 2)),
    (functools.partial(max, 1), functools.partial(min, 1)),
    (lambda a: _helper(a) + 1, lambda a: _made(a) + 1),  # type: ignore[operator]
    (lambda a: any(x == "p" for x in a), lambda a: any(x == "q" for x in a)),
    (len, max),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_the_same_code_has_the_same_fingerprint(one: Callable[..., Any], two: Callable[..., Any]) -> None:
    assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_other_code_has_another_fingerprint(one: Callable[..., Any], two: Callable[..., Any]) -> None:
    assert fingerprint(one) != fingerprint(two)


def told(text: str) -> str:
    names: dict[str, Any] = {"__name__": "m"}
    exec(text, names)
    return fingerprint(names["f"])


@pytest.mark.parametrize(
    "text",
    [
        "import re\nP = re.compile('{}')\ndef f(a): return bool(P.match(a))",
        "class C:\n    def of(self, a): return a + {}\ndef f(a): return C().of(a)",
        "from decimal import Decimal\nD = Decimal('{}')\ndef f(a): return a + D",
        "D = dict(a={})\nD['self'] = D\ndef f(a): return D[a]",
        "def g(a): return h(a)\ndef h(a): return a + {} if a else g(a)\nf = g",
    ],
)
def test_what_a_function_uses_of_its_module_counts(text: str) -> None:
    assert told(text.format(1)) == told(text.format(1))
    assert told(text.format(1)) != told(text.format(2))


def test_a_docstring_and_the_name_of_a_file_do_not_count() -> None:
    texts = [
        "def f(a):\n    return g(a)\ndef g(a): return a",
        "def g(a): return a\n\ndef f(a):\n    'Told.'\n    return g(a)",
    ]
    made = []
    for text in texts:
        names: dict[str, Any] = {"__name__": "m"}
        exec(compile(text, f"{len(text)}.py", "exec"), names)
        made.append(fingerprint(names["f"]))
    assert made[0] == made[1]

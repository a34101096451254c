"""`--functions`: files of Python functions, and what is wrong with them, exit 2."""

import pytest

from tests.cli.conftest import Penstock

FUNCTIONS = """\
import penstock

@penstock.function(arguments=["STRING"], returns="BIGINT", null="skip")
def vowels(text):
    return sum(letter in "aeiou" for letter in text)

@penstock.function(arguments=["STRING", "STRING"], returns="BIGINT", null="skip", name="vowels")
def among(text, letters):
    return sum(letter in letters for letter in text)
"""
SQL = """\
CREATE STREAM s (t STRING, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 's.csv', header 'true');
CREATE QUERY q AS SELECT t, vowels(t, 'x') AS x FROM s WHERE vowels(t) > 0;
"""


@pytest.fixture
def files(penstock: Penstock) -> Penstock:
    penstock.file("functions.py", FUNCTIONS)
    penstock.file("more.py", FUNCTIONS.replace("vowels", "more"))
    penstock.file("q.sql", SQL)
    penstock.file("s.csv", "t,ts\naudio,1\nrhythm,2\nboxes,3\n")
    return penstock


def test_all_commands_that_bind_take_functions(files: Penstock) -> None:
    given = ("q.sql", "--functions", "functions.py", "--functions", "more.py")
    assert files("check", *given).out == "q: safe, it keeps nothing\n"
    assert "Select vowels(s.t) > 0\n" in files("explain", *given).out
    done = files("run", *given, "--engine", "embedded", "--until-done")
    assert (done.code, done.out) == (0, "_ts,_op,t,x\n1,+,audio,0\n3,+,boxes,1\n")


def test_sql_alone_calls_no_python(files: Penstock) -> None:
    done = files("check", "q.sql")
    assert done.code == 2
    assert "there is no function vowels" in done.err


def test_a_function_that_raises_ends_the_run_with_a_message(files: Penstock) -> None:
    files.file("functions.py", FUNCTIONS.replace("return sum", "return 1 // sum", 1))
    done = files("run", "q.sql", "--functions", "functions.py", "--engine", "embedded", "--until-done")
    assert done.code == 2
    assert "vowels('rhythm') raised ZeroDivisionError" in done.err
    assert "functions.py:5, in vowels\n" in done.err
    assert "Traceback" not in done.err


WRONG = {
    "no file": (None, "f.py: No such file or directory"),
    "syntax": ("def f(:\n", "f.py:1: invalid syntax"),
    "not text": (b"\xff\xfe\x00", "f.py:"),
    "a null byte": (b"x = 1\x00", "f.py:"),
    "no function": ("x = 1\n", "f.py: it declares no function\nhint: write @penstock.function("),
    "import": (
        "import no_such_module\n",
        "f.py:1: ModuleNotFoundError: No module named 'no_such_module'\nhint: the file",
    ),
    "an error": ("x = 1\nx / 0\n", "f.py:2: ZeroDivisionError: division by zero"),
    "an exit": ("import sys\nsys.exit(0)\n", "f.py:2: SystemExit: 0"),
    "a type": (FUNCTIONS.replace("BIGINT", "NUMBERS", 1), "f.py:3: vowels: there is no type NUMBERS\nhint: "),
    "a built-in": (FUNCTIONS.replace("def vowels", "def upper"), "f.py:3: UPPER is a function of the language"),
    "twice": (FUNCTIONS + FUNCTIONS, "f.py: vowels(STRING) is declared twice\nhint: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_wrong_is_refused_by_name(files: Penstock, case: str) -> None:
    text, message = WRONG[case]
    if text is not None:
        files.file("f.py", text)
    for command in ("check", "explain", "run"):
        done = files(command, "q.sql", "--functions", "f.py")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(message)


def test_two_files_may_not_declare_the_same_function(files: Penstock) -> None:
    files.file("again.py", FUNCTIONS)
    done = files("check", "q.sql", "--functions", "functions.py", "--functions", "again.py")
    assert done.code == 2
    assert done.err.startswith("again.py: vowels(STRING) is declared in functions.py, too\n")

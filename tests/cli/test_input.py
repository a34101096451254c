"""What every command does with the file that it is given, and with the terminal that it writes to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main
from tests.cli.conftest import Penstock

COMMANDS = ("check", "explain", "fmt")
GOOD = "CREATE TABLE t (a INT);\n\nCREATE QUERY q AS\nSELECT a\nFROM t;\n"

each_command = pytest.mark.parametrize("command", COMMANDS)


def in_a_process(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "penstock.cli", *arguments]
    return subprocess.run(command, check=False, capture_output=True, **options)  # type: ignore[call-overload,no-any-return]


@each_command
def test_a_file_that_is_not_there(penstock: Penstock, command: str) -> None:
    done = penstock(command, "missing.sql")
    assert (done.code, done.out) == (2, "")
    hint = "hint: give the path of a file with SQL statements"
    assert done.err == f"missing.sql: No such file or directory\n{hint}\n"


@each_command
def test_a_folder(penstock: Penstock, command: str) -> None:
    done = penstock(command, ".")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(".: Is a directory\n")


@each_command
def test_a_file_that_is_not_utf_8(penstock: Penstock, command: str) -> None:
    penstock.file("q.sql", "SELECT 'größe'".encode("latin-1"))
    done = penstock(command, "q.sql")
    assert (done.code, done.out) == (2, "")
    assert done.err == "q.sql: byte 10 is not UTF-8\nhint: save the file as UTF-8\n"


@each_command
@pytest.mark.parametrize("text", ["", "\n\n", "-- nothing\n", ";;"])
def test_a_file_without_statements(penstock: Penstock, command: str, text: str) -> None:
    penstock.file("q.sql", text)
    done = penstock(command, "q.sql")
    assert (done.code, done.err) == (0, "")


@each_command
def test_a_byte_order_mark_is_passed_over(penstock: Penstock, command: str) -> None:
    penstock.file("q.sql", GOOD)
    penstock.file("marked.sql", b"\xef\xbb\xbf" + GOOD.encode())
    assert penstock(command, "marked.sql").out == penstock(command, "q.sql").out


@each_command
def test_lines_may_end_as_on_windows(penstock: Penstock, command: str) -> None:
    penstock.file("q.sql", GOOD)
    penstock.file("windows.sql", GOOD.replace("\n", "\r\n"))
    assert penstock(command, "windows.sql").out == penstock(command, "q.sql").out


def test_errors_of_a_file_from_windows_have_the_right_place(penstock: Penstock) -> None:
    penstock.file("q.sql", "CREATE TABLE t (a INT);\r\n\r\nSELECT\r\n  b\r\nFROM t;\r\n")
    assert penstock("check", "q.sql").err == "q.sql:4:3: there is no column b\n      b\n      ^\nhint: columns are a\n"


@each_command
def test_standard_input(penstock: Penstock, command: str) -> None:
    penstock.file("q.sql", GOOD)
    done = in_a_process(command, "-", input=GOOD.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == penstock(command, "q.sql").out


def test_errors_of_standard_input_say_so(penstock: Penstock) -> None:
    done = in_a_process("check", "-", input=b"SELECT a FROM nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith(b"<stdin>:1:15: there is no stream, table or view nowhere\n")


@each_command
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, command: str) -> None:
    queries = "".join(f"CREATE QUERY query_with_a_long_name_{i} AS SELECT a FROM t;\n" for i in range(1500))
    (tmp_path / "q.sql").write_text(f"CREATE TABLE t (a INT);\n{queries}")
    script = f"{sys.executable} -m penstock.cli {command} q.sql | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_pictures_are_printed_whatever_the_locale(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "q.sql").write_text(GOOD)
    done = in_a_process("explain", "q.sql", cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": encoding})
    assert done.stdout.decode().splitlines()[1] == "└─ Project t.a"


def test_the_traceback_of_an_error_is_shown_with_debug() -> None:
    done = in_a_process("--debug", "check", "missing.sql")
    assert b"Traceback" in done.stderr
    assert b"Traceback" not in in_a_process("check", "missing.sql").stderr


@pytest.mark.parametrize("arguments", [[], ["check"], ["walk", "q.sql"], ["fmt", "--write", "--check", "q.sql"]])
def test_a_wrong_call_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("usage: penstock")


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert [command for command in COMMANDS if f"\n    {command} " not in shown] == []


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == "penstock 0.1.0\n"


def test_check_loads_no_library_for_data(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(GOOD)
    program = (
        "import sys; from penstock.cli import main; main(['check', 'q.sql']); "
        "print(*sorted({'numpy', 'pyarrow', 'pyspark', 'numba', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "q: safe, it keeps nothing\n\n"


@pytest.mark.parametrize("command", [*COMMANDS, "profile", "run"])
def test_the_page_of_a_command_has_the_options_of_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    page = (Path(__file__).parents[2] / "docs" / "commands" / f"{command}.md").read_text()
    usage = page[page.index("```text\npenstock") :].split("```")[1]
    assert options(usage) == options(capsys.readouterr().out) - {"--help"}


def options(text: str) -> set[str]:
    return set(re.findall(r"--[a-z-]+", text))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--purge-every", "x", "x is neither a number of rows nor a time, as '5 SECONDS' is"),
        ("--purge-every", "0", "0 is not a whole number of at least 1"),
        ("--wait-timeout", "5", "5 is not a time such as '5 SECONDS'"),
        ("--cells", "many", "many is not a whole number of at least 1"),
    ],
)
def test_a_wrong_value_is_named(option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", option, value, "q.sql"])
    assert capsys.readouterr().err.endswith(f"argument {option}: {message}\n")

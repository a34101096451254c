"""No command shows a secret: neither one that stands in a text that is refused, nor one in a file that is none of ours.

Secrets are planted beside all refusals, in texts that are broken at random, in options, in URLs, in the environment and
in what Spark says. Only `fmt` prints the text that it was given, and its errors show no secrets either.
"""

from __future__ import annotations

import os
import pickle
import pty
import random
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock import Session, masking
from penstock.catalog import Connector
from penstock.cli.printing import say, show_traceback
from penstock.engines.sinks import open_sink
from penstock.errors import PenstockError, Source, Span, SqlError
from penstock.masking import is_secret_name, masked, printable, remember_secrets, secret_spans
from penstock.sql import bind_text
from tests.cli.conftest import Penstock

REFUSALS = sorted((Path(__file__).parents[1] / "refusals").glob("*.sql"))

SECRET = "hunter2Zq8Xw"
PLANTED = (
    "CREATE STREAM planted (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts USING kafka OPTIONS (subscribe 'bids', "
    f"kafka.sasl.jaas.config 'Login required username=\"me\" password=\"{SECRET}\";', header 'true', "
    f"`api.key` = '{SECRET}', url 'jdbc:db://me:{SECRET}@host/db?password={SECRET}', 'password' '{SECRET}'"
)
COMMANDS = (
    ("check",),
    ("check", "--json"),
    ("explain",),
    ("explain", "--json", "--cells", "2"),
    ("run", "--engine", "embedded", "--until-done", "--out", "out.csv", "--metrics", "metrics.json"),
    ("profile",),
    ("fmt",),
)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts as a process does: what others have planted is not known."""
    monkeypatch.setattr("penstock.masking._known", set())


def assert_not_shown(penstock: Penstock, text: str, commands: Sequence[tuple[str, ...]]) -> None:
    penstock.file("q.sql", text)
    for command, *options in commands:
        masking._known.clear()
        done = penstock(command, "q.sql", *options)
        assert SECRET not in done.err, f"{command} of {text!r}"
        assert SECRET not in done.out or (command == "fmt" and done.code == 0), f"{command} of {text!r}"
    for file in penstock.folder.iterdir():
        assert file.name == "q.sql" or SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize("part", range(2))
def test_refusals_show_no_secret(penstock: Penstock, part: int) -> None:
    for number, path in enumerate(REFUSALS[part::2]):
        body = re.sub(r"(?m)^-- (refused|hint|at):.*\n", "", path.read_text())
        in_one_line = " ".join(body.rstrip().rstrip(";").split("\n"))
        text = f"{PLANTED}); {body}" if number % 2 else f"{in_one_line} {PLANTED});\n"
        # The commands show errors alike, so that each text needs only some of them.
        assert_not_shown(penstock, text, [COMMANDS[0], COMMANDS[1 + number % 6]])


@pytest.mark.parametrize("seed", range(2))
def test_broken_texts_show_no_secret(penstock: Penstock, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(150):
        assert_not_shown(penstock, broken(rng), [COMMANDS[0], COMMANDS[1 + number % 6]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_broken_texts_show_no_secret(penstock: Penstock, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        assert_not_shown(penstock, broken(rng), COMMANDS)


#: The names and the secrets, which stay as they are, and all that stands between.
_PIECE = re.compile(rf"{SECRET}|kafka\.sasl\.jaas\.config|api\.key|password|://me:|@host|\w+|\s+|.", re.DOTALL)
_KEPT = (SECRET, "kafka.sasl.jaas.config", "api.key", "password", "://me:", "@host")
_INSERTED = ("'", '"', "`", "(", ")", ";", ",", "=", "\n", "--", "/*", "\\", "SELECT", "USING", "'a'", "\x1b[31m", " ")


def broken(rng: random.Random) -> str:
    """The planted text with something wrong in one to three places."""
    pieces = _PIECE.findall(f"{PLANTED});\nSELECT a FROM planted [ROWS 5];\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        free = [i for i, piece in enumerate(pieces) if piece not in _KEPT and (i == 0 or pieces[i - 1] not in _KEPT)]
        at = rng.choice(free)
        match rng.randrange(4):
            case 0:
                del pieces[at]
            case 1:
                pieces.insert(at, rng.choice(_INSERTED))
            case 2:
                pieces[at] = rng.choice(_INSERTED)
            case _:
                pieces = [*pieces[: at + 1], rng.choice(("", ";\nSELECT a FROM planted;\n"))]
    return "".join(pieces)


@pytest.mark.parametrize(
    ("text", "shown", "carets"),
    [
        ("OPTIONS (password 'abcdefgh', patth 'x'", "OPTIONS (password '***', patth 'x'", "patth"),
        ("OPTIONS (password 'abcdefgh patth", "OPTIONS (password ***", None),
        ("OPTIONS (password abcdefgh', patth 'x'", "OPTIONS (password ***, patth 'x'", None),
        ("OPTIONS (token\n  'abcdefgh', patth 'x'", "  '***', patth 'x'", "patth"),
        ("OPTIONS (token -- the best\n  = r'abcdefgh', patth 'x'", "  = r'***', patth 'x'", "patth"),
        ("OPTIONS (url 'db://me:abcdefgh@host', patth 'x'", "OPTIONS (url 'db://me:***@host', patth 'x'", "patth"),
        ("OPTIONS (key.deserializer 'abc', patth 'x'", "OPTIONS (key.deserializer 'abc', patth 'x'", "patth"),
        ("OPTIONS (a '\x1b[0m', patth 'x'", "OPTIONS (a '\\u001b[0m', patth 'x'", "patth"),
    ],
)
def test_the_caret_stands_below_its_word_behind_what_is_masked(text: str, shown: str, carets: str | None) -> None:
    at = text.index("patth")
    error = SqlError("there is no option patth", None, Source("q.sql", text), Span(at, at + 5))
    _, line, below = str(error).split("\n")
    assert line == f"    {shown}"
    if carets is not None:
        assert line[below.index("^") : len(below)] == carets
    assert error.column == at - text.rfind("\n", 0, at)


def test_a_message_shows_no_part_of_a_broken_secret() -> None:
    (error,) = bind_text(
        "CREATE TABLE t (a INT) USING csv OPTIONS (path 'x, password 'hunter2-Zq8x more', a 'b')"
    ).errors
    assert not re.search("hunter2|Zq8x|more", str(error))


def test_names_of_secrets() -> None:
    secret = "password Passwd db.pwd client_secret sasToken kafka.sasl.jaas.config apikey API_KEY accountKey key"
    secret += " credentials spark.hadoop.fs.s3a.secret.key auth oauth2 Authorization sas passwrd keystore.password"
    secret += " connectionString dbpass db.pw session.cookie tls.pem jwt"
    harmless = "path header kafka.key.deserializer key.serializer kafka.sasl.mechanism startingOffsets keyspace author"
    harmless += (
        " bypass spin.lock kafka.bootstrap.servers maxFilesPerTrigger kafka.security.protocol timestampFormat broker"
    )
    assert [name for name in secret.split() if not is_secret_name(name)] == []
    assert [name for name in harmless.split() if is_secret_name(name)] == []


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s (a INT, ts TIMESTAMP) TIMESTAMP BY ts WITH (x 'y', password = Zq8Xw-hunter2/ab+c==);",
        "CREATE STREAM s (a INT, ts TIMESTAMP) TIMESTAMP BY ts WITH (password CONCAT('x', 'Zq8Xw-hunter2/ab+c=='));",
        "SET password = Zq8Xw-hunter2/ab+c==; SELECT 1",
        "CREATE TABLE s (a INT) USING jdbc OPTIONS (password. 'Zq8Xw-hunter2/ab+c==', path 'x');",
        "CREATE TABLE s (a INT) USING jdbc OPTIONS (url 'jdbc:oracle:thin:me/Zq8Xw-hunter2/ab+c==@//h/x', path y z",
        "CREATE TABLE s (a INT) USING http OPTIONS (header 'Authorization: Bearer Zq8Xw-hunter2/ab+c==', path y z",
    ],
)
def test_a_secret_is_masked_however_it_is_written(text: str) -> None:
    errors = bind_text(text).errors
    assert errors
    assert not re.search(r"Zq8Xw|hunter2|ab\+c", "".join(map(str, errors)))


def test_columns_that_are_called_like_secrets_are_shown() -> None:
    text = "CREATE STREAM message (key BINARY, token STRING, ts TIMESTAMP) TIMESTAMP BY t; SELECT a.key = b.key FROM x"
    assert secret_spans(text) == ()
    assert secret_spans("CREATE QUERY q WITH (adaptive = 'off') AS SELECT token + 1, key FROM message") == ()


def test_a_declaration_shows_no_secret_of_its_own() -> None:
    session = Session()
    session.sql(f"{PLANTED})")
    connector = Connector("jdbc", (("user", "me"), ("password", SECRET)))
    assert repr(connector) == "Connector(format='jdbc', options=(('user', 'me'), ('password', '***')))"
    script = bind_text(f"{PLANTED}); SELECT a FROM planted")
    for shown in (repr(session.catalog), repr(script), str(script.catalog), repr(script.errors)):
        assert SECRET not in shown
    assert pickle.loads(pickle.dumps(connector)) == connector, "what is not shown is still there"


def test_a_known_secret_is_masked_wherever_it_occurs() -> None:
    remember_secrets([("password", "s3cr'et/\"x"), ("pin.token", "7341"), ("auth", "true"), ("secret", "id")])
    assert masked("open s3cr'et/\"x, 's3cr''et/\"x', s3cr%27et%2F%22x") == "open ***, '***', ***"
    assert masked('{"why": "s3cr\'et/\\"x"}') == '{"why": "***"}'
    assert masked("7341 of 17341, true of identity") == "*** of 17341, true of identity"
    assert PenstockError("cannot log in with s3cr'et/\"x", "not 7341").args == ("cannot log in with ***",)


def test_a_secret_of_the_environment_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "correct horse")
    assert str(PenstockError("no entry with correct horse")) == "no entry with ***"


def test_what_java_says_is_relayed_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    from pyspark.errors import PySparkException

    from penstock.catalog import StreamDef
    from penstock.engines.spark.declared import _explained
    from penstock.engines.spark.reports import explained

    remember_secrets([("kafka.password", "tr0ub4dor")])
    for context in (explained(()), _explained(StreamDef("s", (), "ts"))):
        with pytest.raises(PenstockError) as raised, context:
            raise PySparkException("[A] no login with tr0ub4dor at db://me:other@host;password=third")
        shown = "".join(traceback.format_exception(raised.value))
        assert "no login with ***" in shown
        assert not re.search("tr0ub4dor|other|third", shown)
    show_traceback(ValueError, ValueError("tr0ub4dor"), None)
    assert capsys.readouterr().err == "ValueError: ***\n"


FOREIGN = "root:x:0:0:root:/root:/bin/bash\ndaemon:*:19000:0:99999:7:::\n"


@pytest.mark.parametrize("source", ["csv OPTIONS (path 'f', header 'true')", "csv OPTIONS (path 'f')"])
@pytest.mark.parametrize("columns", ["a BIGINT", "a BIGINT, b STRING"])
@pytest.mark.parametrize("content", [FOREIGN, f'"{FOREIGN}', FOREIGN.replace(":", ",")])
def test_a_csv_file_of_another_kind_is_not_shown(penstock: Penstock, source: str, columns: str, content: str) -> None:
    assert_nothing_of_it_is_shown(penstock, f"CREATE TABLE t ({columns}) USING {source};", content)


@pytest.mark.parametrize("format_", ["json", "parquet"])
def test_another_file_of_another_kind_is_not_shown(penstock: Penstock, format_: str) -> None:
    assert_nothing_of_it_is_shown(penstock, f"CREATE TABLE t (a BIGINT) USING {format_} OPTIONS (path 'f');", FOREIGN)


def assert_nothing_of_it_is_shown(penstock: Penstock, declaration: str, content: str) -> None:
    penstock.file("f", content)
    penstock.file("q.sql", f"{declaration} SELECT a FROM t;")
    done = penstock("run", "q.sql", "--engine", "embedded", "--until-done")
    assert done.code == 2
    assert not re.search("root|daemon|bash|19000", done.out + done.err)


def test_a_value_is_shown_as_one_short_line(penstock: Penstock) -> None:
    penstock.file("f.csv", "a\n1\n" + "\x1b]0;title\x07" + "x" * 500 + "\n")
    penstock.file("f.json", '{"a": 1}\n{"a": "\\u001b[2J' + "y" * 500 + '"}\n')
    for source in ("csv OPTIONS (path 'f.csv', header 'true')", "json OPTIONS (path 'f.json')"):
        penstock.file("q.sql", f"CREATE TABLE t (a BIGINT) USING {source}; SELECT a FROM t;")
        done = penstock("run", "q.sql", "--engine", "embedded", "--until-done")
        assert "\x1b" not in done.err
        assert "\\u001b" in done.err
        assert len(done.err.splitlines()[0]) < 140


def test_data_do_not_steer_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    (query,) = bind_text(
        "CREATE STREAM s (a STRING, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a AS `\x1b[5m` FROM s [ROWS 5]"
    ).queries
    rows = pa.table({"_ts": [1], "_op": ["+"], "a": ["\x1b[2J\x9b\u202e\rx\ty"]})
    terminal, ours = pty.openpty()
    with os.fdopen(ours, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        sink = open_sink("-", query)
        sink.write(rows)
        say("\x1b[31mred")
        out.flush()
        shown = b""
        while not shown.endswith(b"red\r\n"):
            shown += os.read(terminal, 1000)
    os.close(terminal)
    assert shown.decode() == '_ts,_op,\\u001b[5m\r\n1,+,"\\u001b[2J\\u009b\\u202e\\u000dx\ty"\r\n\\u001b[31mred\r\n'
    assert printable("ä 漢\tb\n") == "ä 漢\tb\n"


def test_a_pipe_gets_results_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa

    (query,) = bind_text("CREATE STREAM s (a STRING, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM s [ROWS 5]").queries
    open_sink("-", query).write(pa.table({"_ts": [1], "_op": ["+"], "a": ["\x1b[2J"]}))
    assert capsys.readouterr().out == "_ts,_op,a\n1,+,\x1b[2J\n"

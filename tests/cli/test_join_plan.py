"""`penstock run --join-plan` runs a join by a tree, whatever the query says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Penstock

TEXT = """\
CREATE STREAM a (k BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 'a.csv', header 'true');
CREATE STREAM b (k BIGINT, m BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 'b.csv', header 'true');
CREATE STREAM c (m BIGINT, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path 'c.csv', header 'true');
CREATE QUERY one WITH (plan = '(a (b c))') AS
SELECT a.k, b.m FROM a [ROWS 3], b [ROWS 3], c [ROWS 3] WHERE a.k = b.k AND b.m = c.m;
CREATE QUERY two AS SELECT a.k FROM a [ROWS 3], b [ROWS 3] WHERE a.k = b.k;
"""


@pytest.fixture
def joined(penstock: Penstock) -> Penstock:
    penstock.file("q.sql", TEXT)
    penstock.file("a.csv", "k,ts\n" + "".join(f"{n % 3},{n}\n" for n in range(1, 40)))
    penstock.file("b.csv", "k,m,ts\n" + "".join(f"{n % 2},{n % 4},{n}\n" for n in range(1, 40)))
    penstock.file("c.csv", "m,ts\n" + "".join(f"{n % 5},{n}\n" for n in range(1, 40)))
    return penstock


def run(penstock: Penstock, folder: Path, *arguments: str) -> list[str]:
    done = penstock(
        "run",
        "--engine",
        "embedded",
        "--until-done",
        "--out",
        "out.csv",
        "--overwrite",
        "--query",
        "one",
        *arguments,
        "q.sql",
    )
    assert done.code == 0
    return sorted((folder / "out.csv").read_text().splitlines())


def test_all_trees_give_the_same(joined: Penstock, tmp_path: Path) -> None:
    answers = [run(joined, tmp_path)]
    answers += [run(joined, tmp_path, "--join-plan", tree) for tree in ("a b c", "((A b) c)", "(b (a c))")]
    assert len(answers[0]) > 10
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(
    ("tree", "query", "fault"),
    [
        ("((a b)", "one", "((a b) is no tree of joins: a ( is not closed"),
        ("(a (b d))", "one", "the query has no join of a, b, d"),
        ("(a (b c))", "two", "the query has no join of a, b, c"),
    ],
)
def test_a_tree_of_no_join_is_refused(joined: Penstock, tree: str, query: str, fault: str) -> None:
    done = joined("run", "--engine", "embedded", "--until-done", "--query", query, "--join-plan", tree, "q.sql")
    assert done.code == 2
    assert fault in done.err


def test_fmt_keeps_the_plan(joined: Penstock) -> None:
    joined.file(
        "short.sql",
        "create stream a (k bigint, ts timestamp) timestamp by ts;"
        "create query q with (plan='(x (y `my z`))', adaptive='off') as select istream(x.k)"
        " from a [rows 2] x, a [rows 3] y, a [rows 4] `my z` where x.k=y.k and y.k=`my z`.k;",
    )
    done = joined("fmt", "short.sql")
    assert done.code == 0
    text = (joined.folder / "short.sql").read_text() + done.out
    assert "WITH (adaptive = 'off', plan = '(x (y `my z`))')" in text

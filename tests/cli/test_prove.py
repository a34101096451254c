"""`penstock prove`: proofs and counter-models, and exit codes 0, 1 and 2; and what `check` says of assertions."""

from tests.cli.conftest import Golden, Penstock

HANDSHAKE = """\
CREATE STREAM syn (ip STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM ack (ip STRING, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE ASSERTION soon FOR ack a THEN EXISTS syn s WHERE s.ip = a.ip AND a.ts BETWEEN s.ts AND s.ts + INTERVAL 1 SECOND;
CREATE ASSERTION ever FOR ack a THEN EXISTS syn s WHERE s.ip = a.ip;
CREATE QUERY recent AS SELECT ip FROM ack [ROWS 5];
"""
CONTRADICTORY = HANDSHAKE + "CREATE ASSERTION never FOR syn s, ack a WHERE s.ip = a.ip THEN a.ts < s.ts;\n"


def test_an_assertion_that_others_imply_has_a_proof(penstock: Penstock) -> None:
    penstock.file("q.sql", HANDSHAKE)
    done = penstock("prove", "q.sql", "--assertion", "ever")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "ever: implied\n"
        "suppose rows ack a\n"
        "by soon of a: there is syn s1 with s1.ip = a.ip and s1.time <= a.time and a.time - s1.time <= 1000000\n"
        "so the conclusion holds by s1\n"
    )


def test_one_that_they_do_not_imply_has_a_counter_model(penstock: Penstock) -> None:
    penstock.file("q.sql", HANDSHAKE)
    done = penstock("prove", "q.sql", "--assertion", "soon")
    assert (done.code, done.err) == (1, "")
    assert done.out == (
        "soon: not implied\n"
        "these rows satisfy the declarations, and not the assertion:\n"
        "-- ack\n"
        "ip,ts\n"
        "v1,1970-01-01 00:00:01.000001\n"
        "-- syn\n"
        "ip,ts\n"
        "v1,1970-01-01 00:00:02.000002\n"
    )


def test_the_json_has_a_version(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", HANDSHAKE)
    done = penstock("prove", "q.sql", "--json")
    assert done.code == 1
    golden("prove.json", done.out)


def test_an_assertion_that_is_not_there(penstock: Penstock) -> None:
    penstock.file("q.sql", HANDSHAKE)
    done = penstock("prove", "q.sql", "--assertion", "nobody")
    assert (done.code, done.out) == (2, "")
    assert done.err == "there is no assertion nobody\nhint: the file has soon, ever\n"


def test_a_file_with_errors_is_bad_input(penstock: Penstock) -> None:
    penstock.file("q.sql", HANDSHAKE.replace("s.ip = a.ip;", "s.op = a.ip;"))
    done = penstock("prove", "q.sql")
    assert done.code == 2
    assert "there is no column" in done.err


def test_check_notes_assertions_that_follow_from_others(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", HANDSHAKE)
    done = penstock("check", "q.sql")
    assert (done.code, done.out) == (
        0,
        "recent: safe, at most 5 rows of ack\nnote: assertion ever follows from soon\n",
    )
    golden("check_assertions.json", penstock("check", "--json", "q.sql").out)


def test_check_fails_where_assertions_contradict_each_other(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", CONTRADICTORY)
    done = penstock("check", "q.sql")
    assert done.code == 1
    assert "warning: ack can have no row: soon and never exclude every one\n" in done.out
    golden("check_contradictory.json", penstock("check", "--json", "q.sql").out)


COUNTED = """\
CREATE STREAM r (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM a (id BIGINT, ts BIGINT, UNIQUE (id)) TIMESTAMP BY ts;
CREATE ASSERTION soon FOR a THEN EXISTS r WHERE r.id = a.id AND a.ts - r.ts BETWEEN 0 AND 5;
CREATE QUERY unanswered AS
SELECT r.ts / 20 AS b, COUNT(*) AS n FROM r WHERE NOT EXISTS (SELECT * FROM a WHERE a.id = r.id) GROUP BY r.ts / 20
APPROXIMATE;
CREATE QUERY plain AS SELECT COUNT(*) AS n FROM r [ROWS 5];
CREATE QUERY joined AS
SELECT r.ts / 2 AS b, COUNT(*) AS n FROM r, a WHERE a.id = r.id GROUP BY r.ts / 2 APPROXIMATE ALLOW UNBOUNDED;
"""


def test_what_a_query_leans_on_is_proved(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", COUNTED)
    done = penstock("prove", "q.sql", "--query", "unanswered")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("unanswered: counts streams apart\n\neach a follows a r within 5: implied\n")
    done = penstock("prove", "q.sql", "--query", "unanswered", "--json")
    assert done.code == 0
    golden("prove_query.json", done.out)


def test_why_a_query_joins(penstock: Penstock) -> None:
    penstock.file("q.sql", COUNTED)
    done = penstock("prove", "q.sql", "--query", "joined")
    assert (done.code, done.err) == (1, "")
    assert done.out == "joined: runs exactly: a bucket of 2 microseconds is shorter than a delay of 5\n"
    done = penstock("prove", "q.sql", "--query", "plain")
    assert done.code == 2
    assert "plain is exact: it does not say APPROXIMATE" in done.err

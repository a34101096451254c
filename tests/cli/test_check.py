"""`penstock check`: all that is wrong with a file, which queries have bounded state, and exit codes 0, 1 and 2."""

from tests.cli.conftest import Golden, Penstock

GOOD = """\
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE item (id BIGINT, name STRING);
CREATE QUERY top AS SELECT auction, MAX(price) AS price FROM bid [RANGE 10 MINUTES] GROUP BY auction;
CREATE QUERY named AS SELECT ISTREAM(i.name, b.price) FROM bid [NOW] AS b JOIN item AS i ON b.auction = i.id;
"""
BAD = """\
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY good AS SELECT price FROM bid [ROWS 5];
CREATE QUERY misspelt AS SELECT acution, prise FROM bid;
SELECT price FROM bid [RANGE 10];
"""


UNSAFE = """\
CREATE STREAM item (id BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction)) TIMESTAMP BY ts;
CREATE QUERY gain AS
SELECT i.id, SUM(b.price) AS gain
FROM item i, bid b
WHERE i.id = b.auction
GROUP BY i.id;
CREATE QUERY last AS SELECT price FROM bid [ROWS 1];
"""


def test_a_safe_query_has_one_line_with_its_bound(penstock: Penstock) -> None:
    penstock.file("q.sql", GOOD)
    done = penstock("check", "q.sql")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "top: safe, at most the groups of 10 MINUTES of bid + the values of bid.price in 10 MINUTES of bid "
        "+ 10 MINUTES of bid\n"
        "named: safe, at most one instant of b\n"
    )


def test_an_unsafe_query_shows_what_grows_why_and_what_would_help(penstock: Penstock) -> None:
    penstock.file("q.sql", UNSAFE)
    done = penstock("check", "q.sql")
    assert (done.code, done.err) == (1, "")
    assert done.out == (
        "gain: not safe\n"
        "q.sql:5:14: every row of b is kept until its row of i arrives, and nothing says that one arrives, or by when\n"
        "    FROM item i, bid b\n"
        "                 ^^^^^\n"
        "why: suppose N rows of b arrive, each with its own auction: a partner of any of them may arrive next\n"
        "any of these would make it safe:\n"
        "  1. ALTER STREAM item ADD PUNCTUATED BY (id);\n"
        "  2. ALTER STREAM bid ADD FOREIGN KEY (auction) REFERENCES item (id) WITHIN 1 HOUR;\n"
        "  3. ALTER STREAM item ADD ORDERED BY id WITHIN 1000 ROWS;\n"
        "  4. b.ts BETWEEN i.ts - INTERVAL 1 HOUR AND i.ts + INTERVAL 1 HOUR\n"
        "  5. bid [RANGE 1 HOUR] b\n"
        "\n"
        "last: safe, at most 1 row of bid\n"
    )


def test_every_action_in_json_can_be_put_behind_the_file(penstock: Penstock) -> None:
    penstock.file("q.sql", UNSAFE)
    done = penstock("check", "--json", "q.sql")
    assert done.code == 1
    actions = done.json["queries"][0]["actions"]
    assert len(actions) == 5
    for statements in actions:
        penstock.file("again.sql", UNSAFE + "\n".join(statements))
        assert penstock("check", "again.sql").code == 0, statements


def test_explain_prints_the_proof(penstock: Penstock) -> None:
    penstock.file("q.sql", UNSAFE)
    assert "given bid: PUNCTUATED BY (auction)" in penstock("check", "--explain", "q.sql").out


def test_a_witness_is_written_as_csv(penstock: Penstock) -> None:
    penstock.file("q.sql", UNSAFE)
    done = penstock("check", "--witness", "3", "q.sql")
    assert (done.code, done.err) == (1, "wrote gain_item.csv, gain_bid.csv\n")
    assert (penstock.folder / "gain_bid.csv").read_text().splitlines()[0] == "auction,price,ts"
    assert len((penstock.folder / "gain_item.csv").read_text().splitlines()) == 4


def test_run_refuses_an_unsafe_query(penstock: Penstock) -> None:
    penstock.file("q.sql", UNSAFE)
    done = penstock("run", "--engine", "embedded", "--query", "gain", "q.sql")
    assert done.code == 2
    assert done.err.startswith("gain: not safe\nq.sql:5:14: every row of b is kept")
    assert done.err.endswith("hint: to run it all the same, write CREATE QUERY ... AS SELECT ... ALLOW UNBOUNDED\n")


def test_a_bad_file_shows_all_errors_and_the_queries_that_are_right(penstock: Penstock) -> None:
    penstock.file("q.sql", BAD)
    done = penstock("check", "q.sql")
    assert done.code == 2
    assert done.out == "good: safe, at most 5 rows of bid\n"
    assert done.err == (
        "q.sql:3:33: there is no column acution\n"
        "    CREATE QUERY misspelt AS SELECT acution, prise FROM bid;\n"
        "                                    ^^^^^^^\n"
        "hint: did you mean auction?\n"
        "\n"
        "q.sql:3:42: there is no column prise\n"
        "    CREATE QUERY misspelt AS SELECT acution, prise FROM bid;\n"
        "                                             ^^^^^\n"
        "hint: did you mean price?\n"
        "\n"
        "q.sql:4:32: expected a unit of time after 10\n"
        "    SELECT price FROM bid [RANGE 10];\n"
        "                                   ^\n"
        "hint: units are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS\n"
    )


def test_declarations_alone_are_well_formed(penstock: Penstock) -> None:
    penstock.file("q.sql", "CREATE TABLE t (a INT)")
    done = penstock("check", "q.sql")
    assert (done.code, done.out) == (0, "no query; the declarations are well formed\n")


def test_the_report_as_json(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", GOOD)
    done = penstock("check", "--json", "q.sql")
    assert (done.code, done.err) == (0, "")
    golden("check.json", done.out)


def test_errors_as_json(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", BAD)
    done = penstock("check", "--json", "q.sql")
    assert (done.code, done.err) == (2, "")
    golden("check_errors.json", done.out)


def test_json_keeps_letters_as_they_are(penstock: Penstock) -> None:
    penstock.file("q.sql", "CREATE TABLE `größe` (a INT); SELECT b FROM `größer`")
    assert "größe" in penstock("check", "--json", "q.sql").out


def test_several_files_and_patterns_are_checked_one_by_one(penstock: Penstock) -> None:
    penstock.file("good.sql", GOOD)
    penstock.file("unsafe.sql", UNSAFE)
    done = penstock("check", "*.sql")
    assert done.code == 1
    assert done.out.startswith("good.sql:\ntop: safe")
    assert "\nunsafe.sql:\ngain: not safe" in done.out
    assert penstock("check", "good.sql", "good.sql").code == 0
    assert '"files": [' in penstock("check", "--json", "good.sql", "unsafe.sql").out

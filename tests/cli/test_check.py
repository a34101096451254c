"""`penstock check`: all that is wrong with a file, and exit code 0 or 2."""

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


def test_a_good_file_lists_its_queries_and_what_they_read(penstock: Penstock) -> None:
    penstock.file("q.sql", GOOD)
    done = penstock("check", "q.sql")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "top: well formed; reads bid [RANGE 10 MINUTES]\nnamed: well formed; reads bid [NOW] AS b, item AS i\n"
    )


def test_a_bad_file_shows_all_errors_and_the_queries_that_are_right(penstock: Penstock) -> None:
    penstock.file("q.sql", BAD)
    done = penstock("check", "q.sql")
    assert done.code == 2
    assert done.out == "good: well formed; reads bid [ROWS 5]\n"
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

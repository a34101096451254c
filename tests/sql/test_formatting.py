"""`penstock fmt`: the normal form means the same, is its own normal form, and keeps every comment."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from penstock.catalog import Catalog, Definition, ViewDef
from penstock.errors import SqlErrors
from penstock.functions.files import catalog_of_files
from penstock.sql import Script, bind_text
from penstock.sql.comments import comments
from penstock.sql.formatting import format_text
from penstock.sql.statements import DIALECT
from tests.generators import Case, cases

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.sql"))
REFUSALS = sorted((ROOT / "tests" / "refusals").rglob("*.sql"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_an_example_means_the_same_after_formatting(path: Path) -> None:
    functions = path.with_suffix(".py")
    assert_kept(path.read_text(), catalog_of_files([str(functions)] if functions.exists() else []))


@pytest.mark.parametrize("path", REFUSALS, ids=name)
def test_a_refused_text_is_refused_alike_after_formatting(path: Path) -> None:
    text = path.read_text()
    try:
        formatted = format_text(text)
    except SqlErrors:
        return
    assert messages(bind_text(formatted)) == messages(bind_text(text))
    assert format_text(formatted) == formatted
    assert comment_texts(formatted) == comment_texts(text)


@given(cases(), st.randoms(use_true_random=False))
def test_a_query_means_the_same_after_formatting_and_keeps_comments_wherever_they_stand(
    case: Case, random: Random
) -> None:
    assert_kept(case.script)
    commented = with_comments(case.script, random)
    note(commented)
    assert_kept(commented)


COMMENTS = (
    " -- {}\n",
    "\n-- {}\n",
    "\n\n-- {}\n\n",
    "\r\n-- {}\r\n",
    " --{} */ not the end\n",
    " /* {} */ ",
    "\n/* {} */\n",
    "\n/* {}\n   and more */\n",
    " /* {} /* within */ without */ ",
    " /*{}*/ -- beside it\n",
)


def with_comments(text: str, random: Random) -> str:
    """The text with comments between some of its tokens."""
    parts, end = [], 0
    for number, token in enumerate(DIALECT.tokenize(text)):
        parts.append(text[end : token.start])
        if random.random() < 0.2:
            parts.append(random.choice(COMMENTS).format(f"c{number}"))
        parts.append(text[token.start : token.end + 1])
        end = token.end + 1
    return "".join(parts) + random.choice(("", *COMMENTS)).format("the last")


def assert_kept(text: str, catalog: Catalog | None = None) -> None:
    before = bind_text(text, catalog=catalog).checked()
    formatted = format_text(text)
    after = bind_text(formatted, catalog=catalog).checked()
    assert after.queries == before.queries, formatted
    assert definitions(after.catalog) == definitions(before.catalog)
    assert format_text(formatted) == formatted
    assert comment_texts(formatted) == comment_texts(text)


def definitions(catalog: Catalog) -> dict[str, Definition | str]:
    """What is declared. A view's query has the places of its text in it, so it counts as what it prints as."""
    return {
        key: DIALECT.generate(found.query, comments=False) if isinstance(found, ViewDef) else found
        for key, found in catalog.definitions.items()
    }


def messages(script: Script) -> Counter[str]:
    return Counter(error.message for error in script.errors)


def comment_texts(text: str) -> Counter[str]:
    return Counter(" ".join(comment.text.split()) for comment in comments(text, DIALECT.tokenize(text)))


def shown(text: str) -> str:
    """The text without its first newline and its indentation."""
    lines = text.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[margin:] for line in lines).rstrip() + "\n"


FORMATTED = {
    "a declaration has an element on each line, and its options on the last": (
        """
        create stream bid(auction bigint,price decimal(10,2),ts timestamp,
          foreign key auction references item(id) within 100 rows, unique(auction,ts),
          clustered by (auction) within 1.5 seconds on violation widen, ordered by (ts) inferred(W 500,c 1.50),
          punctuated by (auction) when kind='close' lifespan 240 minutes on violation error, VIRTUAL day date)
          using parquet options('path' 'data/bid', maxFilesPerTrigger=1, `it's`="x")
          timestamp by ts delay 5000 milliseconds idle after 120 seconds
        """,
        """
        CREATE STREAM bid (
          auction BIGINT,
          price DECIMAL(10, 2),
          ts TIMESTAMP,
          FOREIGN KEY (auction) REFERENCES item (id) WITHIN 100 ROWS,
          UNIQUE (auction, ts),
          CLUSTERED BY (auction) WITHIN 1500 MILLISECONDS ON VIOLATION WIDEN,
          ORDERED BY ts INFERRED (c 1.5, w 500),
          PUNCTUATED BY (auction) WHEN kind = 'close' LIFESPAN 4 HOURS ON VIOLATION ERROR,
          VIRTUAL day DATE
        ) TIMESTAMP BY ts DELAY 5 SECONDS IDLE AFTER 2 MINUTES
        USING parquet OPTIONS (path 'data/bid', maxFilesPerTrigger '1', 'it''s' 'x');
        """,
    ),
    "names keep their quotes, formats get them where they need them": (
        "create or replace table `my table` (`a b` int) using `org.example.source`",
        """
        CREATE OR REPLACE TABLE `my table` (
          `a b` INT
        ) USING `org.example.source`;
        """,
    ),
    "the smaller statements stand on one line": (
        """
        drop stream if exists s; alter stream s add unique(a), ordered by ts within 3 rows;
        create assertion later for syn s, ack where s.id=ack.id then exists syn z where z.ts>s.ts and z.id=ack.id
        """,
        """
        DROP STREAM IF EXISTS s;

        ALTER STREAM s ADD
          UNIQUE (a),
          ORDERED BY ts WITHIN 3 ROWS;

        CREATE ASSERTION later
        FOR syn s, ack
        WHERE s.id = ack.id
        THEN EXISTS syn z WHERE z.ts > s.ts AND z.id = ack.id;
        """,
    ),
    "a query": (
        """
        create query if not exists q as select s.a,count(*) filter (where b>1) n,cast('2026-01-31' as date) from s[range
        60 seconds slide 1 minutes] join (t [partition by b rows 3]) as u using(a) left anti join v on v.a=s.a, w
        where not a in(1,2) and (a=1 or not b like 'it''s') and exists(select 1 from t) group by 1,s.a having n>1
        allow unbounded
        """,
        """
        CREATE QUERY IF NOT EXISTS q ALLOW UNBOUNDED AS
        SELECT s.a, COUNT(*) FILTER (WHERE b > 1) AS n, DATE '2026-01-31'
        FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE]
        JOIN t [PARTITION BY b ROWS 3] AS u USING (a)
        LEFT ANTI JOIN v ON v.a = s.a, w
        WHERE a NOT IN (1, 2)
          AND (a = 1 OR b NOT LIKE 'it''s')
          AND EXISTS (
            SELECT 1
            FROM t
          )
        GROUP BY 1, s.a
        HAVING n > 1;
        """,
    ),
    "what is too wide for a line is broken": (
        "select istream(the_first_of_them as a, second_of_them as b, third_of_them as c, fourth_of_them as d) "
        "from some_other_stream [range 10 minutes] a, some_other_stream [range 10 minutes] b, "
        "(select a from s) c, s [now] "
        "join t on some_other_stream.first_of_them = t.first_of_them and some_other_stream.the_other_of_them = "
        "t.the_other_of_them where (the_first_of_them > 1 or the_first_of_them < 2 or the_first_of_them = 3 "
        "or the_first_of_them = 4) and a=1 "
        "group by the_first_of_them, the_second_of_them, the_third_of_them, the_fourth_of_them, the_fifth_of_them",
        """
        SELECT ISTREAM(
          the_first_of_them AS a,
          second_of_them AS b,
          third_of_them AS c,
          fourth_of_them AS d
        )
        FROM some_other_stream [RANGE 10 MINUTES] AS a,
          some_other_stream [RANGE 10 MINUTES] AS b,
          (
            SELECT a
            FROM s
          ) AS c,
          s [NOW]
        JOIN t
          ON some_other_stream.first_of_them = t.first_of_them
          AND some_other_stream.the_other_of_them = t.the_other_of_them
        WHERE (
            the_first_of_them > 1
            OR the_first_of_them < 2
            OR the_first_of_them = 3
            OR the_first_of_them = 4
          )
          AND a = 1
        GROUP BY
          the_first_of_them,
          the_second_of_them,
          the_third_of_them,
          the_fourth_of_them,
          the_fifth_of_them;
        """,
    ),
    "comments above statements keep their distance": (
        """
        -- What this file is.


        -- What s is.
        create table s (a int); /* so it is */ -- indeed
        -- The end.
        """,
        """
        -- What this file is.

        -- What s is.
        CREATE TABLE s (
          a INT
        ); /* so it is */ -- indeed

        -- The end.
        """,
    ),
    "comments of elements stay with them": (
        """
        create table s ( -- a table
          -- the key
          a int, -- its id
          b int  /* the value */, c int -- the last
          -- no more
        ) /* closed */
        using csv -- a file
        """,
        """
        CREATE TABLE s ( -- a table
          -- the key
          a INT, -- its id
          b INT, /* the value */
          c INT -- the last
        -- no more
        ) USING csv; /* closed */ -- a file
        """,
    ),
    "comments of a query stay with its parts": (
        """
        select a, -- the key
          /* the value */ b from s -- where from
        -- only some
        where a = 1 -- one
          -- or two
          or a = 2 /* that
          is all */
        """,
        """
        SELECT
          a, -- the key
          /* the value */
          b
        FROM s -- where from
        -- only some
        WHERE a = 1 -- one
          -- or two
          OR a = 2;

        /* that
          is all */
        """,
    ),
    "two comments to the end of one line go above it": (
        "select a -- first\n, -- second\n b from s",
        """
        SELECT
          -- first
          -- second
          a,
          b
        FROM s;
        """,
    ),
    "without comments inside a query is not tall": (
        "-- above\nselect a, b from -- from\n s",
        """
        -- above
        SELECT a, b
        FROM s; -- from
        """,
    ),
    "only comments": ("-- one\n/* two */", "-- one\n/* two */"),
}


@pytest.mark.parametrize(("text", "expected"), FORMATTED.values(), ids=FORMATTED.keys())
def test_normal_form(text: str, expected: str) -> None:
    assert format_text(shown(text)) == shown(expected)
    assert format_text(shown(expected)) == shown(expected)


def test_nothing_stays_nothing() -> None:
    assert format_text("") == format_text(" ;\n; ") == ""


@pytest.mark.parametrize("text", ["a''b", "\\", "tab\tand\nline", "%_", "\x00", "“q”", '"', "`", "\r\n", "it's \\'"])
def test_strings_stay_as_they_are(text: str) -> None:
    literal = text.replace("\\", "\\\\").replace("'", "''")
    assert_kept(f"CREATE TABLE t (a STRING) USING x OPTIONS ('{literal}' '{literal}'); SELECT '{literal}' AS a FROM t")


def test_a_name_may_hold_a_line_break() -> None:
    assert_kept("CREATE TABLE t (`a\nb` INT); SELECT `a\nb`, 1 AS c /* one */ FROM t -- two\n")


def test_formatting_grows_slowly_with_depth() -> None:
    """Each level is printed once, not twice: this would never end otherwise."""
    condition = "a IS NULL"
    for _ in range(20):
        condition = f"NOT ({condition} AND b NOT IN (1))"
    assert_kept(f"CREATE TABLE t (a INT, b INT); SELECT a FROM t WHERE {condition}")


def test_what_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(SqlErrors, match="expected a unit of time after 10"):
        format_text("SELECT a FROM s [RANGE 10]; SELECT b FROM s")

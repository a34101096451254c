"""`penstock explain`: the plan of each query, as a picture and as JSON."""

import json

import pytest

from penstock.errors import PenstockError
from tests.cli.conftest import Golden, Penstock

DECLARED = """\
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE TABLE item (id BIGINT, name STRING);
"""
TWO = f"""{DECLARED}
CREATE QUERY top AS SELECT auction, MAX(price) AS price FROM bid [RANGE 10 MINUTES] GROUP BY auction;
CREATE QUERY Named ALLOW UNBOUNDED AS SELECT ISTREAM(name, price) FROM bid, item WHERE id = auction;
"""
#: Each kind of node stands in one of these.
NODES = f"""{DECLARED}
CREATE QUERY first AS
SELECT DSTREAM(DISTINCT i.name, n)
FROM item i, (
  SELECT auction, COUNT(*) AS n, SUM(DISTINCT price) AS total
  FROM bid [PARTITION BY auction ROWS 10]
  GROUP BY auction
) b
WHERE i.id = b.auction AND n > 1
  AND EXISTS (SELECT 1 FROM bid [RANGE 1 HOUR SLIDE 1 MINUTE] c WHERE c.auction = i.id)
  AND i.id NOT IN (SELECT auction FROM bid [NOW]);

CREATE QUERY second AS SELECT id FROM item EXCEPT ALL SELECT auction FROM bid [ROWS 5];
"""


def test_pictures(penstock: Penstock) -> None:
    penstock.file("q.sql", TWO)
    done = penstock("explain", "q.sql")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "top\n"
        "└─ Project agg.auction, agg.max AS price\n"
        "   └─ Aggregate by bid.auction AS agg.auction: MAX(bid.price) AS agg.max\n"
        "      └─ bid [RANGE 10 MINUTES]\n"
        "output: auction BIGINT, price BIGINT\n"
        "state: safe, at most the groups of 10 MINUTES of bid + the values of bid.price in 10 MINUTES of bid"
        " + 10 MINUTES of bid\n"
        "\n"
        "Named (ALLOW UNBOUNDED)\n"
        "└─ ISTREAM\n"
        "   └─ Project item.name, bid.price\n"
        "      └─ Join on bid.auction = item.id\n"
        "         ├─ bid [UNBOUNDED]\n"
        "         └─ item\n"
        "output: name STRING, price BIGINT\n"
        "state: safe, it keeps nothing\n"
    )


def test_streams_that_may_be_idle_are_named(penstock: Penstock) -> None:
    streams = (
        "CREATE STREAM s (a INT, ts TIMESTAMP) TIMESTAMP BY ts IDLE AFTER 90 SECONDS;"
        "CREATE STREAM r (b INT, ts TIMESTAMP) TIMESTAMP BY ts;"
    )
    penstock.file("q.sql", f"{streams} CREATE QUERY q AS SELECT ISTREAM(a) FROM s [NOW], r [NOW] WHERE a = b;")
    assert "output: a INT\nidle: s, after 90 SECONDS\nstate: " in penstock("explain", "q.sql").out
    (found,) = json.loads(penstock("explain", "--json", "q.sql").out)["queries"]
    assert found["idle_after"] == {"s": 90_000_000}


def test_one_query_is_chosen_without_regard_to_case(penstock: Penstock) -> None:
    penstock.file("q.sql", TWO)
    done = penstock("explain", "q.sql", "--query", "nAMED")
    assert done.code == 0
    assert done.out.startswith("Named (ALLOW UNBOUNDED)\n")
    assert "top" not in done.out


def test_an_unknown_query_is_refused_with_those_there_are(penstock: Penstock) -> None:
    penstock.file("q.sql", TWO)
    done = penstock("explain", "q.sql", "--query", "other")
    assert (done.code, done.out) == (2, "")
    assert done.err == "there is no query other\nhint: the file has top, Named\n"


def test_an_unknown_query_of_a_broken_file_shows_what_is_broken(penstock: Penstock) -> None:
    penstock.file("q.sql", "CREATE QUERY other AS SELECT a FROM nowhere")
    done = penstock("explain", "q.sql", "--query", "other")
    assert (done.code, done.out) == (2, "")
    assert "there is no stream, table or view nowhere" in done.err


def test_what_is_right_is_explained_beside_what_is_wrong(penstock: Penstock) -> None:
    penstock.file(
        "q.sql", f"{DECLARED} CREATE QUERY good AS SELECT id FROM item; CREATE QUERY bad AS SELECT x FROM item;"
    )
    done = penstock("explain", "q.sql")
    assert done.code == 2
    assert done.out == "good\n└─ Project item.id\n   └─ item\noutput: id BIGINT\nstate: safe, it keeps nothing\n"
    assert done.err.count("hint:") == 1


def test_declarations_alone_have_no_plan(penstock: Penstock) -> None:
    penstock.file("q.sql", DECLARED)
    assert penstock("explain", "q.sql").out == "no query; the declarations are well formed\n"


def test_plans_as_json(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", NODES)
    done = penstock("explain", "--json", "q.sql")
    assert (done.code, done.err) == (0, "")
    golden("explain.json", done.out)


def test_the_json_names_every_kind_of_node(penstock: Penstock) -> None:
    penstock.file("q.sql", NODES)
    text = penstock("explain", "--json", "q.sql").out
    kinds = "Window Table Select Project Join SemiJoin AntiJoin Aggregate Distinct SetOp ToStream"
    assert [kind for kind in kinds.split() if f'"node": "{kind}"' not in text] == []


def test_errors_as_json(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", f"{DECLARED} CREATE QUERY bad AS SELECT id, prize FROM item, bid;")
    done = penstock("explain", "--json", "q.sql")
    assert (done.code, done.err) == (2, "")
    golden("explain_errors.json", done.out)


def test_debug_shows_the_traceback(penstock: Penstock) -> None:
    penstock.file("q.sql", TWO)
    with pytest.raises(PenstockError, match="there is no query other"):
        penstock("--debug", "explain", "q.sql", "--query", "other")


GRID = """\
CREATE STREAM a (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (x BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM c (y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
SELECT ISTREAM(a.x) FROM a [RANGE 1 MINUTE], b, c [ROWS 5] WHERE a.x = b.x AND b.y = c.y AND a.ts > c.ts;
"""


@pytest.mark.parametrize("form", ["txt", "json"])
def test_cells_show_the_fragments(penstock: Penstock, golden: Golden, form: str) -> None:
    penstock.file("q.sql", GRID)
    done = penstock("explain", "q.sql", "--cells", "4", *(["--json"] if form == "json" else []))
    assert done.code == 0
    golden(f"explain_fragments.{form}", done.out)


def test_one_cell_is_one_fragment(penstock: Penstock) -> None:
    penstock.file("q.sql", GRID)
    shown = penstock("explain", "q.sql", "--cells", "1").out
    assert shown.count("fragment") == 1
    assert "  reads c\n" in shown


@pytest.mark.parametrize("cells", ["0", "-1", "many"])
def test_no_cells_cannot_be(penstock: Penstock, cells: str, capsys: pytest.CaptureFixture[str]) -> None:
    penstock.file("q.sql", GRID)
    with pytest.raises(SystemExit, match="2"):
        penstock("explain", "q.sql", f"--cells={cells}")
    assert "is not a whole number of at least 1" in capsys.readouterr().err


JOINED = """\
CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM b (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM c (m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY two AS SELECT ISTREAM(a.k) FROM a [ROWS 10], b [ROWS 10] WHERE a.k = b.k;
CREATE QUERY windowed AS
SELECT ISTREAM(a.k, b.m) FROM a [ROWS 10], b [ROWS 10], c [ROWS 10] WHERE a.k = b.k AND b.m = c.m;
CREATE QUERY unsafe WITH (plan = '(a (b c))') ALLOW UNBOUNDED AS
SELECT a.k, b.m FROM a, b [ROWS 10], c WHERE a.k = b.k AND b.m = c.m;
"""


def test_plans_are_listed_with_costs_and_bounds(penstock: Penstock, golden: Golden) -> None:
    penstock.file("q.sql", JOINED)
    done = penstock("explain", "--plans", "q.sql")
    assert (done.code, done.err) == (0, "")
    golden("explain_plans.txt", done.out)
    done = penstock("explain", "--plans", "--json", "q.sql")
    assert done.code == 0
    golden("explain_plans.json", json.dumps([each["plans"] for each in json.loads(done.out)["queries"]], indent=2))


def test_statistics_decide_which_plan_is_cheapest(penstock: Penstock) -> None:
    penstock.file("q.sql", JOINED)
    penstock.file("known.json", '{"rates": {"C": 10000, "a": 1, "b": 1}, "values": {"b.m": 2, "c.m": 2}}')
    done = penstock("explain", "--plans", "--query", "windowed", "--statistics", "known.json", "q.sql")
    assert (done.code, done.err) == (0, "")
    plans = done.out.partition("plans of a, b, c")[2].splitlines()[1:]
    assert "((a ⋈ b) ⋈ c)" in plans[0]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"rate": {"a": 1}}', "rate is none of rates, rows and values"),
        ('{"rates": 5}', "rates are numbers by name"),
        ('{"rates": {"a": 0}}', "rates of a is no number above 0"),
        ("[1]", "[1] is none of rates, rows and values"),
        ("", "Expecting value"),
    ],
)
def test_statistics_that_are_none_are_refused(penstock: Penstock, text: str, fault: str) -> None:
    penstock.file("q.sql", JOINED)
    penstock.file("known.json", text)
    done = penstock("explain", "--plans", "--statistics", "known.json", "q.sql")
    assert done.code == 2
    assert f"known.json has no statistics: {fault}" in done.err


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--statistics", "known.json"), "--statistics goes with --plans"),
        (("--plans", "--statistics", "missing.json"), "missing.json: No such file"),
    ],
)
def test_statistics_go_with_plans_and_are_in_a_file(penstock: Penstock, arguments: tuple[str, ...], fault: str) -> None:
    penstock.file("q.sql", JOINED)
    penstock.file("known.json", "{}")
    done = penstock("explain", *arguments, "q.sql")
    assert done.code == 2
    assert fault in done.err

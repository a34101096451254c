"""`penstock run` on Spark prints what it prints embedded."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Penstock

SCRIPT = """\
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND
USING csv OPTIONS (path 'bid.csv', header 'true');
CREATE TABLE item (id BIGINT, name STRING) USING json OPTIONS (path 'item.json');
CREATE QUERY top AS
SELECT name, MAX(price) AS top FROM bid [RANGE 2 SECONDS] JOIN item ON auction = id GROUP BY name;
"""
BIDS = """\
auction,price,ts
1,10,1970-01-01 00:00:01
2,20,1970-01-01T00:00:03Z
1,30,1970-01-01 00:00:02
1,99,1970-01-01 00:00:00
\\N,5,1970-01-01 00:00:04
,,
"""


@pytest.mark.slow
def test_spark_prints_what_the_embedded_engine_prints(penstock: Penstock) -> None:
    penstock.file("q.sql", SCRIPT)
    penstock.file("bid.csv", BIDS)
    penstock.file("item.json", '{"id": 1, "name": "chair"}\n{"id": 2}\n')
    embedded = penstock("run", "q.sql", "--engine", "embedded", "--until-done")
    spark = penstock("run", "q.sql", "--until-done", "--cells", "2", "--master", "local[2,4]", "--metrics", "m.json")
    assert (spark.code, spark.out) == (0, embedded.out), spark.err
    assert spark.err.splitlines()[-1] == embedded.err.splitlines()[-1] == "6 rows in, 4 rows out, 1 late, 1 bad"


@pytest.mark.slow
def test_spark_tells_an_empty_text_from_null_in_csv(penstock: Penstock) -> None:
    penstock.file(
        "q.sql",
        f"""
        CREATE STREAM s (w STRING, ts BIGINT) TIMESTAMP BY ts USING csv OPTIONS (path '{penstock.folder}/s.csv');
        CREATE QUERY q AS SELECT ISTREAM(w, ts) FROM s [NOW];
        """,
    )
    penstock.file("s.csv", '"",1\n,2\n\\N,3\nx,4\n')
    arguments = ["--until-done", "--cells", "1", "--master", "local[2,4]"]
    assert penstock("run", "q.sql", *arguments, "--out", f"{penstock.folder}/out.csv").code == 0
    lines = [line for file in (penstock.folder / "out.csv").glob("*.csv") for line in file.read_text().splitlines()]
    written = ['1,+,"",1', "2,+,\\N,2", "3,+,\\N,3", "4,+,x,4"]
    assert sorted(line for line in lines if not line.startswith("_ts")) == written
    penstock("run", "q.sql", "--engine", "embedded", "--until-done", "--out", "embedded.csv")
    assert (penstock.folder / "embedded.csv").read_text().splitlines()[1:] == written


def test_results_of_another_run_are_not_mixed_in(penstock: Penstock) -> None:
    penstock.file("q.sql", SCRIPT)
    (penstock.folder / "out.csv" / "_spark_metadata").mkdir(parents=True)
    done = penstock("run", "q.sql", "--until-done", "--out", "out.csv")
    assert done.code == 2
    assert done.err.startswith("out.csv: it holds the results of another run")

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
    spark = penstock("run", "q.sql", "--until-done", "--cells", "2", "--master", "local[2]", "--metrics", "m.json")
    assert (spark.code, spark.out) == (0, embedded.out)
    assert spark.err.splitlines()[-1] == embedded.err.splitlines()[-1] == "6 rows in, 4 rows out, 1 late, 1 bad"


def test_results_of_another_run_are_not_mixed_in(penstock: Penstock) -> None:
    penstock.file("q.sql", SCRIPT)
    (penstock.folder / "out.csv" / "_spark_metadata").mkdir(parents=True)
    done = penstock("run", "q.sql", "--until-done", "--out", "out.csv")
    assert done.code == 2
    assert done.err.startswith("out.csv: it holds the results of another run")

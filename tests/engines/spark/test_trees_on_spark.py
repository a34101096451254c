"""A tree of joins on Spark: its subresults travel between cells, and the answer is that of one MJoin."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock

WHERE = "SELECT a.k, b.m, c.n FROM a [ROWS 20], b [RANGE 30 MICROSECONDS], c [ROWS 10] WHERE a.k = b.k AND b.m = c.m"


def test_a_tree_gives_what_one_mjoin_gives(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(7)
    columns = {"a": ("k",), "b": ("k", "m"), "c": ("m", "n")}
    for place, (name, own) in enumerate(columns.items()):
        rows = {column: [random.randint(0, 3) for _ in range(200)] for column in own}
        pq.write_table(
            pa.table({**rows, "ts": pa.array(range(place, 600, 3), pa.int64())}), tmp_path / f"{name}.parquet"
        )
    declared = "\n".join(
        f"CREATE STREAM {name} ({', '.join(f'{column} BIGINT' for column in own)}, ts BIGINT)"
        f" TIMESTAMP BY ts USING parquet OPTIONS (path '{tmp_path}/{name}.parquet');"
        for name, own in columns.items()
    )
    session = penstock.Session(spark)
    session.sql(declared)
    query = session.query(f"CREATE QUERY tree WITH (plan = '((a b) c)') AS {WHERE}")
    out = str(tmp_path / "out.parquet")
    query.start(out, checkpoint=str(tmp_path / "checkpoint"), until_done=True, cells=3).await_done()
    found = sorted(tuple(row.values()) for row in spark.read.parquet(out).toArrow().to_pylist())
    alone = penstock.Session()
    alone.sql(declared)
    flat = alone.query(f"CREATE QUERY flat AS {WHERE}").run(horizon=597 + 2)
    expected = sorted(tuple(row.values()) for table in flat for row in table.to_pylist())
    assert len(expected) > 500
    assert found == expected

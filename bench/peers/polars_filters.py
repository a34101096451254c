"""polars: comparisons on columns of a Parquet file, and Python functions by `map_elements`, on one thread."""

import json
import re
import statistics
import sys
import time

import polars as pl

path, runs, conditions, patterns = (json.loads(argument) for argument in sys.argv[1:])


def filtered() -> pl.DataFrame:
    found = pl.scan_parquet(path).filter(*(pl.col(name) < bound for name, bound in conditions))
    for pattern in patterns:
        search = re.compile(pattern).search
        matches = pl.col("text").map_elements(lambda text, search=search: search(text) is not None, pl.Boolean)
        found = found.filter(matches)
    return found.select("ts", "v").collect()


times = []
for run in range(runs + 1):
    start = time.process_time()
    rows = filtered().height
    if run:
        times.append(time.process_time() - start)
print(json.dumps({"seconds": statistics.median(times), "rows": rows}))

"""bytewax: a data flow whose filter steps see one row after the other, as Python functions."""

import json
import re
import statistics
import sys
import time

import bytewax.operators as op
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

path, runs, conditions, patterns = (json.loads(argument) for argument in sys.argv[1:])
columns = pq.read_table(path).to_pydict()
names = list(columns)
rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def filtered() -> int:
    out: list[tuple[int, int]] = []
    flow = Dataflow("filters")
    stream = op.input("input", flow, TestingSource(rows, batch_size=4096))
    for number, (name, bound) in enumerate(conditions):
        stream = op.filter(f"test{number}", stream, lambda row, name=name, bound=bound: row[name] < bound)
    for number, pattern in enumerate(patterns):
        search = re.compile(pattern).search
        stream = op.filter(f"match{number}", stream, lambda row, search=search: search(row["text"]) is not None)
    op.output("output", op.map("project", stream, lambda row: (row["ts"], row["v"])), TestingSink(out))
    run_main(flow)
    return len(out)


times = []
for run in range(runs + 1):
    start = time.process_time()
    found = filtered()
    if run:
        times.append(time.process_time() - start)
print(json.dumps({"seconds": statistics.median(times), "rows": found}))

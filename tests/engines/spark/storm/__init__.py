"""The fault regime: queries on Spark under hundreds of seeded faults, whose output must equal the reference.

`make test-all ARGS='tests/engines/spark/storm'` runs it and prints what was tried, by kind of fault, as a table.
"""

"""What Spark's workers have to import, asked before a query starts on a cluster.

Without this a worker that lacks a module fails in its first task, with a traceback of Spark's. Functions of this module
are pickled by value, since a worker that is asked may not have it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.engines.spark.reports import INSTALL, explained
from penstock.errors import PenstockError

#: What a worker imports, and PySpark with it.
MODULES = ("penstock", "numba", "numpy", "pyarrow", "pandas", "sqlglot")

#: The applications whose workers were found right.
_asked: set[str] = set()


@dataclass(frozen=True, slots=True)
class Worker:
    """What one worker can import."""

    host: str
    python: tuple[int, int]
    missing: tuple[str, ...]
    #: The version of Penstock, and whether it lies in an archive, as --py-files brings it.
    version: str | None
    is_archived: bool


def check_workers(spark: SparkSession) -> None:
    """Refuses an application on a cluster whose workers cannot run queries, once for each application."""
    context = spark.sparkContext
    if is_local(context.master or "") or context.applicationId in _asked:
        return
    refuse_archives(context.getConf().get("spark.submit.pyFiles", "") or "")
    refuse(asked(spark))
    _asked.add(str(context.applicationId))


def is_local(master: str) -> bool:
    """Returns whether workers are forked on this machine with the interpreter of this process; of clusters none are."""
    return master == "local" or master.startswith("local[")


def refuse_archives(py_files: str) -> None:
    """Refuses --py-files with Penstock in it: what Penstock needs is machine code, which no archive can be used for.

    >>> refuse_archives("hdfs:///jobs/mine.zip")
    >>> refuse_archives("hdfs:///jobs/penstock-0.1.0.zip")
    Traceback (most recent call last):
    penstock.errors.PenstockError: --py-files hdfs:///jobs/penstock-0.1.0.zip cannot bring Penstock to ...
    """
    for file in py_files.split(","):
        if file.rpartition("/")[2].lower().startswith(("penstock", "numba", "pyarrow")):
            raise PenstockError(f"--py-files {file} cannot bring Penstock to Spark's workers", INSTALL)


def asked(spark: SparkSession, modules: Iterable[str] = MODULES) -> list[Worker]:
    """Asks workers what they can import: as many tasks as there are cores, wherever Spark puts them."""
    wanted = tuple(modules)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    try:
        tasks = spark.sparkContext.defaultParallelism
        with explained(()):
            found = spark.sparkContext.parallelize(range(tasks), tasks).map(lambda _: importable(wanted)).collect()
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return [Worker(**{**each, "python": tuple(each["python"]), "missing": tuple(each["missing"])}) for each in found]


def importable(modules: tuple[str, ...]) -> dict[str, Any]:
    """Runs in a worker, and returns the fields of a `Worker`; it imports nothing that may not be there."""
    import importlib.metadata  # noqa: PLC0415
    import importlib.util  # noqa: PLC0415
    import socket  # noqa: PLC0415

    specs = {name: importlib.util.find_spec(name) for name in modules}
    own = specs.get("penstock")
    try:
        version = importlib.metadata.version("penstock")
    except importlib.metadata.PackageNotFoundError:  # it is on the path and not installed
        version = None
    return {
        "host": socket.gethostname(),
        "python": sys.version_info[:2],
        "missing": [name for name, spec in specs.items() if spec is None],
        "version": version,
        "is_archived": own is not None and any(end in (own.origin or "") for end in (".zip/", ".egg/", ".whl/")),
    }


def refuse(workers: Iterable[Worker]) -> None:
    """Refuses workers that cannot run queries, and names the first host of each fault."""
    driver = importable(("penstock",))
    here = driver["python"]
    for worker in workers:
        if worker.missing:
            modules = ", ".join(worker.missing)
            raise PenstockError(f"Spark's workers on {worker.host} cannot import {modules}", INSTALL)
        if worker.is_archived:
            raise PenstockError(f"Spark's workers on {worker.host} have Penstock in an archive of --py-files", INSTALL)
        if worker.python != here:
            theirs, ours = (".".join(map(str, version)) for version in (worker.python, here))
            message = f"Spark's workers on {worker.host} run Python {theirs}, and the driver {ours}"
            raise PenstockError(message, "let both have the same: " + INSTALL)
        if worker.version != driver["version"]:
            theirs, ours = worker.version or "of no version", driver["version"] or "one of no version"
            message = f"Spark's workers on {worker.host} have Penstock {theirs}, and the driver {ours}"
            raise PenstockError(message, "let both have the same: " + INSTALL)

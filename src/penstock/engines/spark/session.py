"""The Spark session: made with the settings that the operators need, or given them if it is the user's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.engines.spark.reports import causes, plain_message, relayed
from penstock.engines.spark.versions import refuse_older_for_running
from penstock.engines.spark.workers import check_workers, is_local
from penstock.errors import PenstockError
from penstock.masking import remember_secrets

TIME_ZONE = "spark.sql.session.timeZone"

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

PARTITIONS = "spark.sql.shuffle.partitions"

#: What Spark reads when a query starts, so that it can still be set in a session of the user's own.
_OF_QUERIES = {
    # State is kept page by page, which only RocksDB can; and a micro-batch must write only what changed.
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # So many packets are less than the 2 GB that an Arrow batch can hold. A limit in bytes would be tested row by row,
    # which is half of what it costs to hand rows to Python: this is none.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}

_OWN = {
    **_OF_QUERIES,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    TIME_ZONE: DEFAULT,
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.ui.showConsoleProgress": "false",
    # What Spark itself takes out of the plans and the settings that it shows.
    "spark.redaction.regex": "(?i)passw|pwd|passphrase|secret|token|jaas|credential|access[.]?key|api[.]?key",
    # A deep plan's text is long, and Spark's regular expressions over it recurse.
    "spark.driver.extraJavaOptions": "-Xss16m",
    # Workers are forked from a process that has imported what they need.
    "spark.python.daemon.module": "penstock.engines.spark.daemon",
}

#: There is a `sitecustomize` that makes Python processes start faster.
_STARTUP = str(Path(__file__).parent / "startup")


def spark_session(master: str | None = None, *, time_zone: str = DEFAULT, **settings: str) -> SparkSession:
    """Returns a session for Penstock, local with all cores unless a master is given, or the one that is running."""
    settings = {TIME_ZONE: zone_name(time_zone), **settings}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("penstock").config("spark.ui.enabled", "false")
    # A task that dies with its worker is tried again, as on a cluster.
    master = master or os.environ.get("MASTER") or "local[*,4]"
    builder = builder.master(master)
    for name, value in {**_OWN, **(_own_locally() if master.startswith("local") else {}), **settings}.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        message = f"Spark does not start with the master {master}: {plain_message(causes(error)[-1])}"
        hint = "check whether there is such a master; --debug shows Spark's output"
        raise PenstockError(message, hint) from relayed(error)
    session.sparkContext.setLogLevel("ERROR")
    if PARTITIONS not in settings:
        # A cell is a task, and there are as many cells as cores: more partitions would be empty.
        session.conf.set(PARTITIONS, session.sparkContext.defaultParallelism)
    return session


def _own_locally() -> dict[str, str]:
    """Returns the settings of sessions whose processes all run here.

    An executor of a local cluster does not get the driver's PYTHONPATH but this one, so it holds both: else workers
    would import another Penstock than the driver, or none.
    """
    inherited = os.environ.get("PYTHONPATH")
    return {"spark.executorEnv.PYTHONPATH": os.pathsep.join([_STARTUP, inherited] if inherited else [_STARTUP])}


@contextmanager
def stderr_to(log: Path) -> Iterator[None]:
    """Sends what is written to this process's stderr, and by the processes that it starts meanwhile, to a file.

    The JVM and its Python workers keep writing there: most of their output does not help the user of a query.
    """
    kept = os.dup(2)
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def session_zone(spark: SparkSession) -> str:
    """Returns the time zone of a session."""
    return zone_name(str(spark.conf.get(TIME_ZONE)))


def check_session(spark: SparkSession, zone: str = DEFAULT) -> None:
    """Refuses a session in which the query cannot run rightly: too old, in another time zone or Python."""
    refuse_older_for_running()
    problems = [*_wrong_zone(spark, zone), *_wrong_python(spark)]
    if problems:
        raise PenstockError("; ".join(message for message, _ in problems), "; ".join(hint for _, hint in problems))
    check_workers(spark)
    remember_secrets(spark.sparkContext.getConf().getAll())


def _wrong_zone(spark: SparkSession, zone: str) -> Iterator[tuple[str, str]]:
    if (found := session_zone(spark)) != zone:
        yield (
            f"the query was declared in the time zone {zone}, and the Spark session has {found}",
            f'declare the query again, or set the session back: spark.conf.set("{TIME_ZONE}", "{zone}")',
        )


def _wrong_python(spark: SparkSession) -> Iterator[tuple[str, str]]:
    context = spark.sparkContext
    workers = shutil.which(context.pythonExec) or context.pythonExec
    if is_local(context.master or "") and not _is_same(workers, sys.executable):
        yield (
            f"Spark's workers would run {workers}, but this is {sys.executable}",
            "set the environment variable PYSPARK_PYTHON to sys.executable before the session is made, "
            "or use penstock.spark_session()",
        )


def set_for_queries(spark: SparkSession, partitions: int) -> dict[str, str | None]:
    """Sets what Spark reads when a query starts, and returns what was set before.

    Spark keeps the number of partitions in the checkpoint of a query: it must be that of the cells from the first
    start on, since a cell is a task, and each further partition a Python task without rows.
    """
    before: dict[str, str | None] = {}
    refused = []
    for name, value in {**_OF_QUERIES, PARTITIONS: str(partitions)}.items():
        found = spark.conf.get(name, None)
        if found == value:
            continue
        try:
            spark.conf.set(name, value)
            before[name] = found
        except PySparkException:
            refused.append(f'.config("{name}", "{value}")')
    if refused:
        restore(spark, before)
        raise PenstockError(
            "the Spark session does not let its settings be changed, and queries need others",
            f"set them when the session is made: {''.join(refused)}; or use penstock.spark_session()",
        )
    return before


def restore(spark: SparkSession, before: Mapping[str, str | None]) -> None:
    """Sets a session back to what `set_for_queries` has returned."""
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def _is_same(one: str, other: str) -> bool:
    """Returns whether two interpreters see the same packages: they stand in one folder, by whatever name."""
    return os.path.dirname(os.path.abspath(one)) == os.path.dirname(os.path.abspath(other))

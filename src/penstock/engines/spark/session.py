"""The Spark session: made with the settings that the operators need, or checked for them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.algebra.zones import DEFAULT, zone_name
from penstock.engines.spark.reports import causes, plain_message, relayed
from penstock.errors import PenstockError
from penstock.masking import remember_secrets

TIME_ZONE = "spark.sql.session.timeZone"

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

#: Without these a query cannot run, or not rightly: (setting, value, why).
_NEEDED = (
    ("spark.sql.streaming.stateStore.providerClass", _ROCKSDB, "state is kept page by page, which only RocksDB can"),
    (
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "a micro-batch must write only what changed",
    ),
)

_OWN = {
    **{name: value for name, value, _ in _NEEDED},
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # So many packets are less than the 2 GB that an Arrow batch can hold. A limit in bytes would be tested row by row,
    # which is half of what it costs to hand rows to Python: this is none.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
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


def spark_session(
    master: str | None = None, ui: bool = False, time_zone: str = DEFAULT, **settings: str
) -> SparkSession:
    """Returns a session for Penstock, local with all cores unless a master is given, or the one that is running."""
    settings = {TIME_ZONE: zone_name(time_zone), **settings}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("penstock").config("spark.ui.enabled", str(ui).lower())
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
    if "spark.sql.shuffle.partitions" not in settings:
        # A cell is a task, and there are as many cells as cores: more partitions would be empty.
        session.conf.set("spark.sql.shuffle.partitions", session.sparkContext.defaultParallelism)
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
    """Refuses a session that lacks what queries need, or is of another time zone than the query that it is to run."""
    if (found_zone := session_zone(spark)) != zone:
        raise PenstockError(
            f"the query was declared in the time zone {zone}, and the Spark session has {found_zone}",
            f'declare the query again, or set the session back: spark.conf.set("{TIME_ZONE}", "{zone}")',
        )
    for name, value, why in _NEEDED:
        found = spark.conf.get(name, "")
        if found != value:
            raise PenstockError(
                f"the Spark session has {name} = {found or 'nothing'}, but {why}",
                f'set it when the session is made: .config("{name}", "{value}"), or use penstock.spark_session()',
            )
    context = spark.sparkContext
    remember_secrets(context.getConf().getAll())
    workers = shutil.which(context.pythonExec) or context.pythonExec
    if (context.master or "").startswith("local") and not _is_same(workers, sys.executable):
        raise PenstockError(
            f"Spark's workers would run {workers}, but this is {sys.executable}",
            "set the environment variable PYSPARK_PYTHON to sys.executable before the session is made",
        )


def _is_same(one: str, other: str) -> bool:
    """Returns whether two interpreters see the same packages: they stand in one folder, by whatever name."""
    return os.path.dirname(os.path.abspath(one)) == os.path.dirname(os.path.abspath(other))

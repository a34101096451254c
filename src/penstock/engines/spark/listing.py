"""Files that Spark lists and workers read.

Spark hands the rows of a file to Python one by one, which is most of what it costs to read them. Of a declared stream
of Parquet files it is asked for the files alone: which are new, which micro-batch and task they belong to, and which
were read before a restart. A worker then reads the columns that it needs, as the embedded engine does. A file is read
by one task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.catalog import Connector
from penstock.engines.parquet_files import read_parquet

#: Options that say which files there are and when they are read. With any other one Spark reads the rows itself.
_OF_LISTING = frozenset(
    (
        "path",
        "maxfilespertrigger",
        "maxbytespertrigger",
        "latestfirst",
        "filenameonly",
        "maxfileage",
        "maxcachedfiles",
        "discardcachedinputratio",
        "cleansource",
        "sourcearchivedir",
        "pathglobfilter",
        "recursivefilelookup",
    )
)

#: What Spark says that a binary file is.
_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"

#: How workers read files of a format.
READERS = {"parquet": read_parquet}


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """A stream of files, each known by its name."""

    #: One column, the names as URIs.
    frame: DataFrame
    format: str


def listed_files(spark: SparkSession, connector: Connector, options: Mapping[str, str]) -> ListedFiles | None:
    """The files of a declared stream, or None where only Spark can read them."""
    format_ = connector.format.lower()
    if format_ not in READERS or not {name.lower() for name in options} <= _OF_LISTING:
        return None
    path = next((value for name, value in options.items() if name.lower() == "path"), None)
    if path is None or not _is_local(spark, path):
        return None
    # The content of the files is not asked for, so Spark does not open them.
    files = spark.readStream.format("binaryFile").schema(_BINARY_FILE).options(**options).load()
    return ListedFiles(files.select(F.col("_metadata.file_path").alias("file")), format_)


def _is_local(spark: SparkSession, path: str) -> bool:
    """Whether a path is one of the operating system's, which Python can open."""
    context = spark.sparkContext
    assert context._jvm is not None
    at = context._jvm.org.apache.hadoop.fs.Path(path)
    return str(at.getFileSystem(context._jsc.hadoopConfiguration()).getUri().getScheme()) == "file"

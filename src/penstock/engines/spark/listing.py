"""Files that Spark lists and Python reads.

Spark hands the rows of a file to Python one by one, which is most of what it costs to read them, and it reads much
that is wrong in a file without an error, as something else. Of a declared stream of files it is asked for the files
alone: which are new, which micro-batch and task they belong to, and which were read before a restart. A worker then
reads the columns that it needs, with the embedded engine's readers: so a file means the same on both engines. A file
is read by one task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.catalog import Connector
from penstock.engines.files import FORMATS, MODES
from penstock.engines.spark.session import session_zone

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

#: Those that limit how many of the files a micro-batch reads.
_MOST_FILES, _MOST_BYTES = "maxfilespertrigger", "maxbytespertrigger"

#: What Spark says that a binary file is.
_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """A stream of files, each known by its name."""

    #: One column, the names as URIs.
    frame: DataFrame
    format: str
    #: The options of the format's reader.
    options: Mapping[str, str]
    #: Whether a micro-batch reads all files that there are.
    reads_all: bool
    #: How many files a micro-batch reads at most, as was declared, and whether it is declared how many bytes.
    most_files: int | None = None
    limits_bytes: bool = False


def files_at_once(frames: Mapping[str, object]) -> tuple[dict[str, int | None], list[str]]:
    """Returns how many files of each stream a micro-batch reads at most, as was declared, or None.

    The streams of the second list are not read by files alone, so that nothing can be said of them.
    """
    listed = {name: f for name, f in frames.items() if isinstance(f, ListedFiles) and not f.limits_bytes}
    return {name: files.most_files for name, files in listed.items()}, [n for n in frames if n not in listed]


def listed_files(
    spark: SparkSession, connector: Connector, given: Mapping[str, str], *, slowly: bool = False
) -> ListedFiles | None:
    """Returns the files of a declared stream, or None where only Spark can read them.

    `slowly`: a micro-batch reads one file, until it is known what that takes, or as many as are declared.
    """
    options = reading_options(spark, connector)
    if options is None:
        return None
    listing = {name.lower(): value for name, value in given.items() if name.lower() in _OF_LISTING}
    most = int(listing[_MOST_FILES]) if listing.get(_MOST_FILES, "").isdecimal() else None
    if slowly and not listing.keys() & {_MOST_FILES, _MOST_BYTES}:
        listing[_MOST_FILES] = "1"
    # The content of the files is not asked for, so Spark does not open them.
    files = spark.readStream.format("binaryFile").schema(_BINARY_FILE).options(**listing).load()
    names = files.select(F.col("_metadata.file_path").alias("file"))
    reads_all = listing.keys().isdisjoint((_MOST_FILES, _MOST_BYTES))
    return ListedFiles(names, connector.format.lower(), options, reads_all, most, _MOST_BYTES in listing)


def reading_options(spark: SparkSession, connector: Connector) -> dict[str, str] | None:
    """Returns the options with which the embedded engine's reader reads a source, or None where only Spark can."""
    options = {name.lower(): value for name, value in connector.options}
    known = FORMATS.get(connector.format.lower())
    if known is None or "path" not in options or options.get("mode", "failfast").lower() not in MODES:
        return None
    if not options.keys() <= _OF_LISTING | set(known.options) or not _is_local(spark, options["path"]):
        return None
    if "timezone" in known.options:
        options.setdefault("timezone", session_zone(spark))
    return options


def _is_local(spark: SparkSession, path: str) -> bool:
    """Returns whether a path is one of the operating system's, which Python can open."""
    context = spark.sparkContext
    assert context._jvm is not None
    at = context._jvm.org.apache.hadoop.fs.Path(path)
    return str(at.getFileSystem(context._jsc.hadoopConfiguration()).getUri().getScheme()) == "file"

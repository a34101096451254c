"""Paths as Spark's Java process and this one see them: both mean the same folder, wherever either was started."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import SparkSession


def from_here(spark: SparkSession, path: str) -> str:
    """Returns a relative path as an absolute one, since Java may have been started in another folder.

    Where Spark's default file system is not this machine's, a relative path is one of that file system, and stays.
    """
    if not path or urlparse(path).scheme or os.path.isabs(path) or local_folder(spark, path) is None:
        return path
    return os.path.abspath(path)


def local_folder(spark: SparkSession, folder: str) -> str | None:
    """Returns the path of a folder as workers write to it, or None if it is not one of the machine's."""
    context = spark.sparkContext
    assert context._jvm is not None
    path = context._jvm.org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(context._jsc.hadoopConfiguration())
    found = local_path(str(files.makeQualified(path).toUri()))
    return None if found is None else str(found)


def local_path(file: str) -> Path | None:
    """Returns the path of a file that Spark names by a URI, if it is on this machine's disks."""
    parts = urlparse(file)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None

"""What Penstock keeps in a checkpoint folder beside Spark's own files: the query's fingerprint, and the control files.

`<checkpoint>/penstock/fingerprint` says which query the checkpoint is of. `<checkpoint>/penstock/control` is a source
of the query from its first start on: a file that appears there closes time. Paths are Hadoop's, so the folder may be
anywhere that Spark can write to.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.engines.spark.cell import changed_query
from penstock.engines.spark.work import Work


class Checkpoint:
    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self.folder = folder.rstrip("/")
        self._fingerprint = f"{self.folder}/penstock/fingerprint"
        self._control = f"{self.folder}/penstock/control"

    def claim(self, work: Work) -> None:
        """Makes the folder this query's own, or refuses if it is another's."""
        found = self._read(self._fingerprint)
        if found is not None and found != work.fingerprint:
            raise changed_query()
        folder = self._path(self._control)
        folder.getFileSystem(self._hadoop()).mkdirs(folder)
        if found is None:
            self._write(self._fingerprint, work.fingerprint)

    def control(self) -> DataFrame:
        """The control files as a stream."""
        return self._spark.readStream.text(self._control)

    def close(self) -> None:
        """Says that no more rows come. To say it again changes nothing."""
        self._write(f"{self._control}/close", "close\n")

    def _read(self, path: str) -> str | None:
        at = self._path(path)
        files = at.getFileSystem(self._hadoop())
        if not files.exists(at):
            return None
        stream = files.open(at)
        try:
            return str(self._jvm().org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _write(self, path: str, text: str) -> None:
        """Writes a file as a whole or not at all, unless it is there."""
        at, draft = self._path(path), self._path(f"{path.rpartition('/')[0]}/_draft")
        files = at.getFileSystem(self._hadoop())
        if files.exists(at):
            return
        stream = files.create(draft, True)
        stream.write(bytearray(text.encode()))
        stream.close()
        files.rename(draft, at)

    def _jvm(self) -> Any:
        return self._spark.sparkContext._jvm

    def _hadoop(self) -> Any:
        return self._spark.sparkContext._jsc.hadoopConfiguration()

    def _path(self, path: str) -> Any:
        return self._jvm().org.apache.hadoop.fs.Path(path)

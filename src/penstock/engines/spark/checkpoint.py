"""What Penstock keeps in a checkpoint folder beside Spark's own files: the query's fingerprint, and the control files.

`<checkpoint>/penstock/fingerprint` says which query the checkpoint is of. `<checkpoint>/penstock/control` is a source
of the query from its first start on: a file that appears there closes time, has settings for the cells, or says which
streams are idle. Paths are Hadoop's, so the folder may be anywhere that Spark can write to.
`<checkpoint>/penstock/lock` is held by the run that continues from the checkpoint.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.engines.spark.cell import changed_query
from penstock.engines.spark.lock import Lock
from penstock.engines.spark.paths import local_path
from penstock.engines.spark.work import Work
from penstock.errors import PenstockError

#: How the names of decisions begin, and how many are kept. A decision follows a micro-batch, and a micro-batch reads
#: all that there are, so that older ones are of micro-batches which are done.
_IDLE = "idle-"
_MOST_DECISIONS = 64


#: How the names of the files begin by which a start closes time.
_CLOSE = "close-"


class Checkpoint:
    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self.folder = folder.rstrip("/")
        self._fingerprint = f"{self.folder}/penstock/fingerprint"
        self._control = f"{self.folder}/penstock/control"
        self._lock: Lock | None = None
        #: Settings and decisions may be written at once, from two threads.
        self._writing = threading.Lock()
        #: The sequence numbers of the decisions which streams are idle that are still there.
        self._decisions: deque[int] = deque()

    @property
    def full_path(self) -> str:
        """Returns the folder's own path, whatever it was called by."""
        at = self._path(self.folder)
        return str(at.getFileSystem(self._hadoop()).makeQualified(at).toUri())

    def claim(self, work: Work, out: str) -> None:
        """Makes the folder this query's own, or refuses if it is another's, or its results are not those in `out`."""
        found = self._read(self._fingerprint)
        if found is not None:
            self._take_lock()  # first, or a run that is active would make the following checks fail
        if self._holds("offsets"):
            if found is None:
                message = f"{self.folder} is the checkpoint of a Spark query that Penstock did not start"
                raise PenstockError(message, "choose a folder of its own for this query")
            if found != work.fingerprint:
                raise changed_query(found, work.zone)
        self._check_results(out)
        folder = self._path(self._control)
        folder.getFileSystem(self._hadoop()).mkdirs(folder)
        self._take_lock()
        if found != work.fingerprint:
            self._write(self._fingerprint, work.fingerprint)

    def release(self) -> None:
        """Releases the lock, so that another run can continue from the checkpoint."""
        if self._lock is not None:
            self._lock.release()

    def _take_lock(self) -> None:
        folder = local_path(self.full_path)
        if self._lock is not None or folder is None:
            return
        try:
            self._lock = Lock(folder / "penstock")
        except OSError as error:
            message = f"{self.folder}: {error.strerror}"
            raise PenstockError(message, "choose a folder that can be written") from error

    def _check_results(self, out: str) -> None:
        """Checks the results: Spark skips micro-batches whose numbers the results have."""
        # A run that ended before its first micro-batch has left the folder of the log, and nothing in it.
        has_results = self._has_files(f"{out.rstrip('/')}/_spark_metadata")
        if has_results and not self._holds("offsets"):
            hint = "choose another folder, remove this one, or go on with the checkpoint of that run"
            raise PenstockError(f"{out}: it holds the results of another run", hint)
        if not has_results and self._holds("commits"):
            hint = "write to the folder that it wrote to, or start with a new checkpoint folder"
            raise PenstockError(f"{out}: it does not hold the results that the checkpoint goes on from", hint)

    def _holds(self, log: str) -> bool:
        """Returns whether one of Spark's logs of micro-batches has begun."""
        return self._has_files(f"{self.folder}/{log}")

    def _has_files(self, folder: str) -> bool:
        at = self._path(folder)
        files = at.getFileSystem(self._hadoop())
        return bool(files.exists(at)) and any(not f.getPath().getName().startswith(".") for f in files.listStatus(at))

    def control(self) -> DataFrame:
        """Returns the control files as a stream."""
        return self._spark.readStream.text(self._control)

    def close(self, run: str) -> None:
        """Writes that no more rows arrive, by this start of the query. Writing it again has no effect."""
        if not self.is_closed(run):
            self._write(self._closing(run), "close\n")

    def reopen(self) -> None:
        """Takes back what earlier starts closed and no micro-batch has read.

        What a micro-batch reads that is not done stays, since it must give the same again.
        """
        if self._latest("offsets") == self._latest("commits"):
            at = self._path(self._control)
            for each in at.getFileSystem(self._hadoop()).listStatus(at):
                if each.getPath().getName().startswith(_CLOSE):
                    # The source may have listed the file, so it must be there.
                    self._write(f"{self._control}/{each.getPath().getName()}", "")

    def is_closed(self, run: str) -> bool:
        """Returns whether this start of the query has said that no more rows arrive."""
        return self._read(self._closing(run)) is not None

    def _closing(self, run: str) -> str:
        return f"{self._control}/{_CLOSE}{run}"

    def _latest(self, log: str) -> int:
        """Returns the last micro-batch that is in one of Spark's logs; -1 if there is none."""
        at = self._path(f"{self.folder}/{log}")
        files = at.getFileSystem(self._hadoop())
        names = [each.getPath().getName() for each in files.listStatus(at)] if files.exists(at) else []
        return max((int(name) for name in names if name.isdigit()), default=-1)

    def adjust(self, sequence: int, run: str, settings: Mapping[str, Any]) -> None:
        """Writes settings for the cells, of this start of the query."""
        text = json.dumps({"sequence": sequence, "run": run, "settings": settings})
        self._write(f"{self._control}/settings-{run}-{sequence:09d}", text + "\n")

    def wake(self) -> None:
        """Writes that no stream is idle, if an earlier start of the query may have said otherwise."""
        at = self._path(self._control)
        names = [each.getPath().getName() for each in at.getFileSystem(self._hadoop()).listStatus(at)]
        self._decisions += sorted(int(name.removeprefix(_IDLE)) for name in names if name.startswith(_IDLE))
        if self._decisions:
            self.decide({})

    def decide(self, idle: Mapping[str, int]) -> None:
        """Writes which streams are idle from now on, each with the rows that there are of it."""
        sequence = max([time.time_ns(), *(latest + 1 for latest in self._decisions)])
        self._write(self._decision(sequence), json.dumps({"sequence": sequence, "idle": idle}) + "\n")
        self._decisions.append(sequence)
        while len(self._decisions) > _MOST_DECISIONS:
            at = self._path(self._decision(self._decisions.popleft()))
            at.getFileSystem(self._hadoop()).delete(at, False)

    def _decision(self, sequence: int) -> str:
        return f"{self._control}/{_IDLE}{sequence:020d}"

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
        """Writes a file as a whole or not at all."""
        at, draft = self._path(path), self._path(f"{path.rpartition('/')[0]}/_draft")
        files = at.getFileSystem(self._hadoop())
        with self._writing:
            stream = files.create(draft, True)
            stream.write(bytearray(text.encode()))
            stream.close()
            files.delete(at, False)
            files.rename(draft, at)

    def _jvm(self) -> Any:
        return self._spark.sparkContext._jvm

    def _hadoop(self) -> Any:
        return self._spark.sparkContext._jsc.hadoopConfiguration()

    def _path(self, path: str) -> Any:
        return self._jvm().org.apache.hadoop.fs.Path(path)

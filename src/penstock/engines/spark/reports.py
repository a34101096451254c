"""Errors of Spark as messages that say what to correct, without a Java trace.

A worker's own error travels inside Spark's. A file that Spark could not read is read again as the embedded engine
reads it, which finds the line and the column of the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from penstock.catalog import StreamDef, TableDef
from penstock.engines.files import FORMATS
from penstock.engines.spark.paths import local_path
from penstock.errors import PenstockError
from penstock.masking import masked

Definitions = Iterable[StreamDef | TableDef]

_OURS = "penstock.errors.PenstockError: "
_PYTHON = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", re.MULTILINE)
_FILE = re.compile(r"while reading file (\S+?)\.\s")

#: How a worker's traceback ends whose state store failed in the JVM: the worker only sees that the connection ended.
_STATE_STORE = re.compile(r"stateful_processor_api_client\.py.*^EOFError$", re.MULTILINE | re.DOTALL)


#: What Spark says when a Python process that it started has not called it within ten seconds, which no setting changes.
_NO_CALL = "waiting for the Python worker to connect back"


#: What Python says in a worker, or instead of starting one, that lacks what Penstock needs.
_MISSING = re.compile(r"No module named '(penstock|numba|numpy|pyarrow|pandas|sqlglot)(?:\.[\w.]+)?'")

#: How workers get what they need.
INSTALL = (
    "install penstock[spark] into the Python that spark.pyspark.python names on every host, or ship an environment: "
    "pack it with venv-pack or conda-pack, and give it to spark-submit with --archives environment.tar.gz#environment "
    "and --conf spark.pyspark.python=./environment/bin/python"
)

#: What Spark says of a query while its process is about to end.
_STOPPED = r"stopped SparkContext|SparkContext (?:was|has been|is) (?:being )?(?:shut ?down|stopped)"


class SlowStart(PenstockError):
    """A query could not start because the machine was too busy. It can be started again."""


class SparkDied(PenstockError):
    """Spark's Java process has ended."""


@contextmanager
def explained(definitions: Definitions) -> Iterator[None]:
    """Turns what Spark raises inside into a PenstockError."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise error_of(causes(error), definitions, in_checkpoint=_reads_checkpoint(error)) from relayed(error)
    except (Py4JError, ConnectionError) as error:
        if not is_death(error):
            raise
        raise _died() from relayed(error)


def _died() -> SparkDied:
    return SparkDied(
        "Spark's Java process has ended, and the query with it",
        "start the query again with the same checkpoint: it goes on after the last micro-batch that was completed; "
        "if the process ended for lack of memory, give it more (spark.driver.memory)",
    )


def is_death(error: BaseException) -> bool:
    """Returns whether a call of Spark's failed because its Java process is gone: then there is no Java exception."""
    is_answer = isinstance(error, Py4JJavaError) or "Trace:" in str(error)
    return isinstance(error, ConnectionError) or (isinstance(error, Py4JError) and not is_answer)


@contextmanager
def naming(folder: str) -> Iterator[None]:
    """Turns what Spark raises inside into a PenstockError about a folder that is to be written."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        message = f"{folder}: {plain_message(causes(error)[-1])}"
        raise PenstockError(message, "choose a folder that can be written") from relayed(error)


def relayed(error: Exception) -> Exception:
    """Returns an error of Spark's that may be the cause of ours; only its text if secrets have to be masked.

    It is not a PenstockError: on its way through Java it would be taken for the one that it is the cause of.
    """
    said = masked(str(error))
    return error if said == str(error) else RuntimeError(said)


def causes(error: Any) -> list[str]:
    """Returns the message of an error of Spark's, and those of its causes."""
    said = [str(java.getMessage() or java.getClass().getSimpleName()) for java in _exceptions(error)]
    return said or [str(error)]


def _exceptions(error: Any) -> Iterator[Any]:
    """Yields the Java exception behind an error of Spark's, and its causes."""
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while java is not None:
        yield java
        java = java.getCause()


#: The methods by which Spark reads its own logs and the metadata of its state.
_READS_CHECKPOINT = re.compile(
    r"(?:OperatorStateMetadata|MetadataLog|OffsetSeq|CommitLog|StreamMetadata|TransformWithState\w*Propert"
    r"|TransformWithStateVariable|StateSchema).*\.(?:read|deserialize|fromJson)"
)


def _reads_checkpoint(error: Any) -> bool:
    """Returns whether an exception was thrown while Spark read its logs: what it says then may be anything."""
    frames = (frame for java in _exceptions(error) for frame in java.getStackTrace())
    return any(_READS_CHECKPOINT.search(f"{frame.getClassName()}.{frame.getMethodName()}") for frame in frames)


def error_of(said: list[str], definitions: Definitions = (), *, in_checkpoint: bool = False) -> PenstockError:
    """Returns an error made of these messages, from the outermost to its first cause.

    `in_checkpoint` says that Spark was reading its own logs when it happened.

    >>> file = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://in/a.csv.  SQLSTATE: KD001"
    >>> print(error_of([file, 'For input string: "foo"']))
    s3a://in/a.csv: For input string: "foo"
    hint: put the file right, and start again
    """
    for message in said:
        if _OURS in message:
            return _ours(message.partition(_OURS)[2])
    if any(_NO_CALL in message for message in said):
        hint = "the machine is busy, or Python starts slowly on it: start the query again"
        return SlowStart("Spark waited ten seconds for a Python process to start, and no longer", hint)
    if any(re.search(_STOPPED, message) for message in said):
        return _died()
    for message in said:
        if found := _FILE.search(message + " "):
            return _placed(found.group(1), definitions) or _unreadable(found.group(1), plain_message(said[-1]))
    for signs, error in ((_CONCURRENT, _in_use), (_DAMAGED, _damaged)):
        if any(re.search(signs, message) for message in said):
            return error(said)
    if in_checkpoint:
        return _damaged(said)
    everything = "\n".join(said)
    if found := _MISSING.search(everything):
        return PenstockError(f"Spark's workers cannot import {found.group(1)}", INSTALL)
    if _STATE_STORE.search(everything):
        return PenstockError(
            "Spark's state store failed, and the query stopped after the last micro-batch that was completed",
            "see whether there is space left on the disk of the checkpoint and on that of Spark's temporary files, and "
            "start again; Spark's log has the cause",
        )
    python = list(_PYTHON.finditer(everything)) if "Traceback" in everything else []
    reason = f"{python[-1].group(1)}: {python[-1].group(2)}" if python else plain_message(said[-1])
    hint = "--debug, or the cause of this error, shows all that Spark says"
    return PenstockError(f"Spark stopped the query: {reason}", hint)


#: What Spark says when two queries write to the logs of one checkpoint.
_CONCURRENT = r"CONCURRENT_STREAM_LOG_UPDATE|CONCURRENT_QUERY|Multiple streaming (jobs|queries)"

#: What Spark says when it cannot read what is in a checkpoint: its state, or one of its logs, which are JSON.
_DAMAGED = (
    r"CANNOT_LOAD_STATE_STORE|STATE_STORE_\w*(?:INVALID|CANNOT|FAILED|MISSING)\w*|Checksum error"
    r"|batch \d+ doesn't exist|Incomplete log file|[Mm]alformed log file|Log file was malformed"
    r"|Unexpected end-of-input|Unrecognized token"
    r"|Unexpected character \(|^Input length = \d+"
)


def _in_use(said: list[str]) -> PenstockError:
    message = "another run goes on from the same checkpoint, or writes to the same folder"
    hint = "stop one of them; each run needs a checkpoint folder and an output folder of its own"
    return PenstockError(message, hint)


def _damaged(said: list[str]) -> PenstockError:
    loading = [message for message in said if "CANNOT_LOAD_STATE_STORE" in message]
    reasons = [plain_message(message) for message in (*reversed(said), *loading) if " " in message]
    return PenstockError(
        f"the checkpoint cannot be read, a file in it is damaged or missing: {reasons[0] if reasons else said[-1]}",
        "if the disk or the network failed for a moment, start again with the same checkpoint; else restore the "
        "checkpoint folder and the output folder from one backup, or begin with new folders for both",
    )


#: What the embedded engine can read in a file, and Spark cannot.
_ONLY_EMBEDDED = (
    ("CSV header", "on Spark a csv file has the declared columns, all of them, in their order"),
    ("physicalType: INT64, logicalType: timestamp", "write the file's times in microseconds: Spark reads no others"),
)


def _unreadable(file: str, reason: str) -> PenstockError:
    hints = [hint for sign, hint in _ONLY_EMBEDDED if sign in reason]
    return PenstockError(f"{file}: {reason}", hints[0] if hints else "put the file right, and start again")


def _ours(text: str) -> PenstockError:
    """Returns the error that a text begins with: its message, of which further lines are indented, and its hint."""
    first, *others = text.split("\n")
    message = [first, *takewhile(lambda line: line.startswith("  "), others)]
    following = others[len(message) - 1] if len(others) >= len(message) else ""
    hint = following.removeprefix("hint: ") if following.startswith("hint: ") else None
    return PenstockError("\n".join(message), hint)


def plain_message(message: str) -> str:
    """Returns a message without Spark's own names of errors.

    >>> plain_message("[A.B] It is wrong. SQLSTATE: 42K02\\nand more")
    'It is wrong.'
    """
    line = next((line for line in message.splitlines() if line.strip()), message)
    return re.sub(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w{5}", "", line).strip()


def _placed(file: str, definitions: Definitions) -> PenstockError | None:
    """Returns the embedded engine's error for a local file."""
    path = local_path(file)
    if path is None:
        return None
    for definition in definitions:
        connector = definition.connector
        if connector is None or connector.format.lower() not in FORMATS:
            continue
        options = {name.lower(): value for name, value in connector.options}
        if not _is_of(path, options.get("path", "")):
            continue
        declared = [attribute for attribute in definition.attributes if not attribute.virtual]
        try:
            for _ in FORMATS[connector.format.lower()].read(path, declared, declared, options):
                pass
        except PenstockError as error:
            return error
    return None


def _is_of(file: Path, source: str) -> bool:
    path = Path(unquote(urlparse(source).path)).absolute()
    return path == file or path in file.parents or fnmatch(str(file), str(path))

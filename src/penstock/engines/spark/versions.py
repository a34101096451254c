"""Versions of Spark: from which on its plans can be read, and from which on queries run."""

from __future__ import annotations

import re

from pyspark import __version__

from penstock.errors import PenstockError

#: Older ones do not write all of a plan down.
_LINTED = (4, 0)
#: Older ones lack what cells keep their state with.
_RUN = (4, 1)


def refuse_older_for_lint(version: str = __version__) -> None:
    """Refuses a Spark whose plans cannot be read.

    >>> refuse_older_for_lint("3.5.9")
    Traceback (most recent call last):
    penstock.errors.PenstockError: this is Spark 3.5.9, and plans are read of Spark 4.0 or newer
    hint: pip install 'penstock[spark]' installs one that will do
    """
    _refuse_older(version, _LINTED, "plans are read of")


def refuse_older_for_running(version: str = __version__) -> None:
    """Refuses a Spark on which queries do not run."""
    _refuse_older(version, _RUN, "queries run on")


def _refuse_older(version: str, least: tuple[int, int], what: str) -> None:
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if found < least:
        message = f"this is Spark {version}, and {what} Spark {least[0]}.{least[1]} or newer"
        raise PenstockError(message, "pip install 'penstock[spark]' installs one that will do")

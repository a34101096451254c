"""Spark's physical plan, as Spark explains it: which operators keep state, by which keys, and what each removes.

Spark itself derives what a watermark lets it remove, and prints it. An attribute with a watermark ends with its delay:

    StateStoreSave [window#14-T600000ms, av#3L], state info [ ... ], Append, ...
    StreamingSymmetricHashJoin [av#3L], [bv#7L], Inner, ..., state cleanup [ left = null, right value predicate: ... ]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_OPERATORS = (
    "StreamingSymmetricHashJoin",
    "StateStoreSave",
    "SessionWindowStateStoreSave",
    "StreamingDeduplicateWithinWatermark",
    "StreamingDeduplicate",
    "StreamingGlobalLimit",
    "FlatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState",
    "TransformWithStateInPySpark",
    "TransformWithStateInPandas",
    "TransformWithState",
)
_NODE = re.compile(r"^(?P<lead>[ :|]*(?:[+:]- )?)(?:\* ?\(\d+\) |[*!])?(?P<kind>\w+)")
_CLEANUP = re.compile(r"state cleanup \[ (left .*?), (right .*?) \], \d")
_KEY = re.compile(r"#(\d+)L?(-T\d+ms)?(?=, |$)")
_WATERMARKED = re.compile(r"#(\d+)L?-T\d+ms")
_SESSION = re.compile(r"\], [^,]*?#(\d+): struct<")
_FIELDS = "spark.sql.debug.maxToStringFields"


@dataclass(frozen=True, slots=True)
class Explained:
    """A stateful operator of a physical plan."""

    kind: str
    text: str
    #: The attributes of the whole plan that have a watermark.
    watermarked: frozenset[int] = frozenset()

    @property
    def keys(self) -> tuple[tuple[int, bool], ...]:
        """Returns the attributes among the keys, and whether each has a watermark.

        >>> Explained("StreamingDeduplicate", "StreamingDeduplicate [av#3L, ats#2-T600000ms], state info [ ]").keys
        ((3, False), (2, True))
        """
        return tuple((int(number), bool(delay)) for number, delay in _KEY.findall(_bracketed(self.text)))

    @property
    def cleaned(self) -> tuple[str | None, str | None]:
        """Returns what a join removes of its left and of its right side, None where it removes nothing."""
        found = _CLEANUP.search(self.text)
        left, right = found.groups() if found is not None else ("= null", "= null")
        return tuple(None if side.endswith("= null") else side for side in (left, right))  # type: ignore[return-value]

    @property
    def has_session_watermark(self) -> bool:
        """Whether the session window that an operator merges has a watermark."""
        found = _SESSION.search(self.text)
        return found is not None and int(found[1]) in self.watermarked


def explained(df: Any) -> tuple[Explained, ...]:
    """Returns the stateful operators of a DataFrame, each before those that it reads."""
    with _all_fields(df.sparkSession):
        return read_text(_explanation(df))


def read_text(text: str) -> tuple[Explained, ...]:
    """Reads the operators of an explained plan.

    >>> [each.kind for each in read_text("*(2) Filter x#1\\n+- StreamingDeduplicate [id#1L], state info [ ]")]
    ['StreamingDeduplicate']
    """
    lines = [(found["kind"], line[found.start("kind") :]) for line in text.splitlines() if (found := _NODE.match(line))]
    watermarked = frozenset(map(int, _WATERMARKED.findall(text)))
    return tuple(Explained(kind, rest, watermarked) for kind, rest in lines if kind in _OPERATORS)


def _explanation(df: Any) -> str:
    if not hasattr(df, "_jdf"):
        return str(df._explain_string())
    mode = df.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    # A query of SQL is known to be a stream only once it is analysed, as what another query reads is.
    return str(df.select("*")._jdf.queryExecution().explainString(mode))


@contextmanager
def _all_fields(spark: Any) -> Iterator[None]:
    """Makes Spark print all fields of a plan, however many there are."""
    before = spark.conf.get(_FIELDS, None)
    spark.conf.set(_FIELDS, "100000")
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FIELDS)
        else:
            spark.conf.set(_FIELDS, before)


def _bracketed(text: str) -> str:
    """Returns what stands in the first pair of brackets."""
    start, depth = text.find("["), 0
    for place in range(max(start, 0), len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 1 : place]
    return ""

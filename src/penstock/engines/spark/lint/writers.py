"""A `DataStreamWriter` as what is to be checked: the DataFrame that it writes, its output mode and the query's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_NAME = "queryName"


@dataclass(frozen=True, slots=True)
class Written:
    """A query as a writer would start it."""

    df: Any
    output_mode: str
    name: str | None


def written(writer: Any) -> Written:
    """Returns what a writer writes; Spark's default mode is append."""
    proto = getattr(writer, "_write_proto", None)
    if proto is not None:  # Spark Connect
        return Written(writer._df, (proto.output_mode or "append").lower(), proto.query_name or None)
    java = writer._jwrite
    mode = str(_field(java, "outputMode").toString()).lower()
    name = _field(java, "extraOptions").get(_NAME)
    return Written(writer._df, mode, str(name.get()) if name.isDefined() else None)


def _field(java: Any, name: str) -> Any:
    """Returns a private field of one of Spark's objects: a writer tells nobody what it was given."""
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)

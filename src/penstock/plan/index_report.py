"""What an index of a join takes, for who asks how a run goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexReport:
    """An index on some columns of one input of a join, by the input's number."""

    input: int
    columns: tuple[str, ...]
    buckets: int
    bytes: int

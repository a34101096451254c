"""What stored rows of a join wait for before they can be dropped, for who asks how a run goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitingReport:
    """So many rows of an input, an occurrence of a stream, wait for the same."""

    input: str
    waits_for: str
    rows: int

"""What a join watches while it runs: the k-constraints that its rules read, RIDS, CA and OA of thesis chapter 6.

A monitor sees how far rows are from what a constraint says, and finds k where that is left to it. The run time's side
is `retention/monitors.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.catalog import Inferred, OnViolation, Within, WithinRows, WithinTime


@dataclass(frozen=True, slots=True)
class Monitor:
    """Of one constraint, by which rows of the input `target` do not come late, with values of these variables."""

    #: As it is written, behind the name of its stream.
    constraint: str
    target: int
    variables: tuple[int, ...]
    within: Within
    on_violation: OnViolation
    #: The evidence that counts the rows that k counts; without, k is a time.
    ticks: int | None

    @property
    def declared(self) -> int | None:
        """The k that is declared."""
        match self.within:
            case WithinRows(k) | WithinTime(k):
                return k
        return None

    @property
    def stops(self) -> bool:
        return self.on_violation is OnViolation.ERROR

    @property
    def varies(self) -> bool:
        """Whether rows go by the k that is found."""
        return self.declared is None or self.on_violation is OnViolation.WIDEN

    @property
    def parameters(self) -> Inferred:
        return self.within if isinstance(self.within, Inferred) else Inferred()


@dataclass(frozen=True, slots=True)
class OfReference(Monitor):
    """RIDS: rows of the target come at most k rows after those of the source that refer to them."""

    source: int
    #: Whether one row of the target at most has the values.
    is_key: bool


@dataclass(frozen=True, slots=True)
class OfCluster(Monitor):
    """CA: all rows of the target's stream, with the values, are that evidence."""

    evidence: int


@dataclass(frozen=True, slots=True)
class OfOrder(Monitor):
    """OA: so are they here."""

    evidence: int

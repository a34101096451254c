"""What monitors say of constraints, and what is spilled, for who asks how a run goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConstraintReport:
    """What the monitor of a constraint says: the k that rows adhere to, if it is known, and whether rows go by it."""

    constraint: str
    k: int | None
    used: bool
    #: Rows that required more than the k that is declared, since the start, each counted in so many cells.
    violations: int = 0
    copies: int = 1
    #: How many results may be missing because k was too small: an estimate, since the start.
    false_negatives: float = 0.0

    @property
    def broken(self) -> int:
        """How many rows of all cells broke it, where this is the sum over all cells."""
        return -(-self.violations // self.copies)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What of a join lies on disk, and how many rows were brought back from there, since the start."""

    rows: int = 0
    bytes: int = 0
    brought_back: int = 0

    def __add__(self, other: OnDisk) -> OnDisk:
        return OnDisk(self.rows + other.rows, self.bytes + other.bytes, self.brought_back + other.brought_back)


NOTHING_ON_DISK = OnDisk()


def together(reports: Iterable[ConstraintReport]) -> list[ConstraintReport]:
    """What the cells of a join say, as one: the largest k, of those that know it."""
    by_constraint: dict[str, list[ConstraintReport]] = {}
    for each in reports:
        by_constraint.setdefault(each.constraint, []).append(each)
    return [
        ConstraintReport(
            constraint,
            max((each.k for each in reports if each.k is not None), default=None),
            any(each.used for each in reports),
            sum(each.violations for each in reports),
            reports[0].copies,
            sum(each.false_negatives for each in reports),
        )
        for constraint, reports in by_constraint.items()
    ]


def strongest(reports: Iterable[ConstraintReport]) -> list[ConstraintReport]:
    """Of each constraint what those say who saw it broken most often: many may see the same rows."""
    found: dict[str, ConstraintReport] = {}
    for each in reports:
        found[each.constraint] = max(
            each, found.get(each.constraint, each), key=lambda one: (one.broken, one.false_negatives)
        )
    return list(found.values())

"""How much later than a row of one input those of another are that join it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """`later - earlier <= by` between the times of two inputs; what it leans on, if it is declared."""

    later: int
    earlier: int
    by: int
    leans_on: tuple[str, ...] = ()

"""The answer: changes end, by which steps, on which declarations, and how much is open until then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.closing.bounds import Bound, plus


@dataclass(frozen=True, slots=True)
class Ending:
    """Changes end: what is open at a time, by which steps, and on which declarations that leans."""

    terms: tuple[Bound, ...]
    steps: tuple[str, ...]
    leans_on: tuple[str, ...]
    #: Whether watermarks alone do it.
    by_time: bool

    @property
    def open(self) -> Bound:
        return plus(self.terms)


def both(endings: Iterable[Ending | None]) -> Ending | None:
    found = list(endings)
    if None in found:
        return None
    all_found = [each for each in found if each is not None]
    return Ending(
        tuple(dict.fromkeys(term for each in all_found for term in each.terms)),
        tuple(dict.fromkeys(step for each in all_found for step in each.steps)),
        tuple(dict.fromkeys(lean for each in all_found for lean in each.leans_on)),
        by_time=all(each.by_time for each in all_found),
    )

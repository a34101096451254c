"""Shapes that are called safe and grow all the same. Each is a task: mend the engine, or the verdict, and remove it.

The random test leaves queries of these shapes out; `test_known.py` holds the least query of each that grows today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.register import Verdict
from penstock.register.states import State, StatefulOperator
from tests.growth.process import Declaration, Nulls
from tests.growth.queries import Growing


@dataclass(frozen=True, slots=True)
class Known:
    """A shape, by a test of a query and its verdict, and its least query, with what is declared of which stream."""

    name: str
    applies: Callable[[Growing, Verdict], bool]
    select: str
    declared: tuple[str, ...] = ()
    nulls: Nulls = Nulls.NONE
    cells: int = 1

    @property
    def declarations(self) -> list[Declaration]:
        return [Declaration(*text.split(": ", maxsplit=1)) for text in self.declared]


def is_known(query: Growing, verdict: Verdict) -> bool:
    return any(known.applies(query, verdict) for known in KNOWN)


_GROUPS = (
    StatefulOperator.GROUP_BY,
    StatefulOperator.DISTINCT,
    StatefulOperator.SET_OPERATION,
    StatefulOperator.AGGREGATE_VALUES,
)


def _leaning(verdict: Verdict, holders: tuple[StatefulOperator, ...], *words: str) -> Iterator[State]:
    """The pieces of state of such operators whose proofs lean on such declarations, each of them."""
    for state in verdict.states:
        if state.holder in holders and all(any(word in lean for lean in state.leans_on) for word in words):
            yield state


def _null_is_punctuated(query: Growing, verdict: Verdict) -> bool:
    return query.nulls is not Nulls.NONE and any(_leaning(verdict, _GROUPS, "PUNCTUATED"))


KNOWN = (
    Known(
        "a NULL that comes all the time, and of which no punctuation comes, is never closed",
        _null_is_punctuated,
        "SELECT DISTINCT k, x FROM a",
        ("a: PUNCTUATED BY (k) WHEN ends = 1",),
        Nulls.OPEN,
    ),
)

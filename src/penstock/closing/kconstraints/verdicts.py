"""A component that has a bound is empty or bounded; a proof says why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.closing.kconstraints.waits import Fact, Wait


class Component(Enum):
    """Definition 6.3.1: Yes rows join with all of G_S(Q), No rows never will, and Unknown rows are undecided."""

    YES = "Yes"
    NO = "No"
    UNKNOWN = "Unknown"


class ComponentKind(Enum):
    """A component is bounded in one of these ways; the best stands first."""

    WINDOW = "window"
    """It holds the rows of its stream's window."""
    K = "k"
    """It holds the rows that arrive during a wait, which ends by itself as long as streams go on."""
    OPEN = "open"
    """It holds the rows that an ordered stream has not passed yet."""


@dataclass(frozen=True, slots=True)
class ComponentProof:
    """A rule of the thesis bounds the component, and leans on declarations."""

    rule: str
    leans_on: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class EmptyComponent:
    proof: ComponentProof

    @property
    def number(self) -> int:
        return 0

    def __str__(self) -> str:
        return "nothing"


@dataclass(frozen=True, slots=True)
class BoundedComponent:
    """It holds as many rows as arrive on `counted` during the longest wait: at most `number`, if rates tell.

    `counted` is the component's own stream, or another with a row for each row of it.
    """

    kind: ComponentKind
    counted: str
    waits: tuple[Wait, ...]
    number: int | None
    proof: ComponentProof

    def __str__(self) -> str:
        match self.kind:
            case ComponentKind.WINDOW:
                words = f"the rows of {self.counted} in its window of {self.waits[0]}"
            case ComponentKind.K:
                words = f"the rows of {self.counted} that arrive during {_or(self.waits)}"
            case ComponentKind.OPEN:
                words = f"the rows of {self.counted} that wait for {_or(self.waits)}"
        return words if self.number is None else f"{words}: at most {self.number}"


ComponentBound: TypeAlias = EmptyComponent | BoundedComponent


def _or(waits: Iterable[Wait]) -> str:
    """
    >>> _or([Wait(), Wait()])
    'no time or no time, whichever is longer'
    """
    texts = [str(wait) for wait in waits]
    return texts[0] if len(texts) == 1 else f"{' or '.join(texts)}, whichever is longer"

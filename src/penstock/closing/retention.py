"""Retention: what an operator keeps of an input, until what, by which declarations, and whether the engines enforce it.

A row of a join's input goes when a chain of closers has reached all other inputs (004, theorem 3): no more row of the
first joins it, no more row of the second joins these, and so on. The chain is made of the closers by which a run
purges, so the register, which reads it as a bound, and the plan, which carries it to the operator, cannot disagree.

    row of a ──punctuation (k) of b──▶ rows of b ──2 SECONDS of c──▶ rows of c: all inputs are reached, the row goes
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.closing.bounds import UNBOUNDED, Bound, BoundKind


@dataclass(frozen=True, slots=True)
class RetentionStep:
    """One closer of a chain: the input that it closes, in words until what, and the declarations behind it."""

    closes: str
    until: str
    kind: BoundKind
    leans_on: tuple[str, ...] = ()
    #: Whether a run can tell when it applies. It cannot see punctuations of a scheme without WHEN or FROM.
    is_seen: bool = True
    #: Whether it comes in the end, whatever the data: an order passes a value only if its stream goes beyond it.
    is_certain: bool = True
    #: Whether rows that break the declarations are rejected.
    is_guarded: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept of one input: all of its rows, or, with a chain of steps, each until they are done."""

    #: The occurrence of a stream, or the scope of what is computed.
    input: str
    #: None if nothing says that each row goes in the end.
    chain: tuple[RetentionStep, ...] | None = None
    #: Whether the chain also waits until rows have left that are taken back when they leave their windows.
    ends: bool = False
    #: Columns such that rows in which they are NULL stay until a punctuation with NULL arrives, by sets of columns.
    awaiting_null: tuple[tuple[str, ...], ...] = ()
    #: Why a chain that there is does not do: what it goes by would be kept without end, in one sentence.
    piles_up: str | None = None

    @property
    def goes(self) -> bool:
        """Whether each row goes in the end, if what is declared can be seen."""
        return self.chain is not None

    @property
    def is_certain(self) -> bool:
        """Whether each row goes in the end, whatever the data; else the theory of k-constraints has to know more."""
        return self.chain is not None and all(step.is_certain for step in self.chain)

    @property
    def leans_on(self) -> tuple[str, ...]:
        """The declarations that the chain needs, as proofs name them."""
        return tuple(dict.fromkeys(lean for step in self.chain or () for lean in step.leans_on))

    @property
    def unseen(self) -> tuple[str, ...]:
        """The declarations of which no run sees anything."""
        return tuple(dict.fromkeys(lean for step in self.chain or () if not step.is_seen for lean in step.leans_on))

    @property
    def guarded(self) -> tuple[str, ...]:
        """The declarations whose violations are rejected."""
        return tuple(dict.fromkeys(lean for step in self.chain or () if step.is_guarded for lean in step.leans_on))

    @property
    def enforced(self) -> bool:
        """Whether the engines drop each row in the end."""
        return self.goes and not self.unseen

    @property
    def bound(self) -> Bound:
        """How much is kept, in the words of the chain; the theories may know a number."""
        if self.chain is None:
            return UNBOUNDED
        kind = max((step.kind for step in self.chain), key=lambda kind: kind.rank, default=BoundKind.NONE)
        return (
            Bound(kind, f"rows of {self.input} until {self.until}")
            if kind is not BoundKind.NONE
            else Bound(kind, "", 0)
        )

    @property
    def until(self) -> str:
        """Until what a row is kept, in words."""
        return ", then ".join(step.until for step in self.chain or () if step.until)

    def __str__(self) -> str:
        """
        >>> step = RetentionStep("b", "punctuation (k) of b", BoundKind.OPEN, ("b: PUNCTUATED BY (k)",))
        >>> str(Retention("a", (step,))), str(Retention("a"))
        ('keeps a until punctuation (k) of b [b: PUNCTUATED BY (k)]', 'keeps a')
        """
        if not self.until:
            return f"keeps {self.input}"
        leans_on = f" [{'; '.join(self.leans_on)}]" if self.leans_on else ""
        return f"keeps {self.input} until {self.until}{leans_on}"


def listed(leans_on: tuple[str, ...]) -> str:
    """Declarations in a sentence.

    >>> listed(("s: UNIQUE (a)",)), listed(("a", "b", "c", "d"))
    ('s: UNIQUE (a)', 'a, b and 2 more')
    """
    if len(leans_on) < 3:
        return " and ".join(leans_on)
    return f"{leans_on[0]}, {leans_on[1]} and {len(leans_on) - 2} more"

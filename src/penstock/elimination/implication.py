"""Implication: does a theory imply a constraint? Implied, with a proof; not implied, with a counter-model; or unknown.

Both are checked by code of their own before they are given (`proof_checker.py`, `model_checker.py`), and a proof is cut
down to the steps that it needs. Unknown counts as no: nothing is rewritten by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from penstock.effort import OutOfEffort, answering
from penstock.elimination.chase import Chase, Limits, Search
from penstock.elimination.constraints import Constraint
from penstock.elimination.model_checker import breaks
from penstock.elimination.models import Model
from penstock.elimination.proof_checker import ProofRefused, check_proof
from penstock.elimination.proofs import Proof, Split

#: Most questions are answered by the first. Those with circles may need small models or well-ordering.
ATTEMPTS = (
    (Search.PLAIN, Limits(turns=120, rows=16)),
    (Search.FIRST_ALIKE, Limits(turns=120, rows=20)),
    (Search.SMALL_MODEL, Limits(turns=300, rows=8)),
    (Search.FIRST_OF_STREAM, Limits(turns=120, rows=20)),
    (Search.PLAIN, Limits(turns=600, rows=40)),
)


class Answer(Enum):
    IMPLIED = "implied"
    NOT_IMPLIED = "not implied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer with its evidence, and the turns of the chase that it took."""

    answer: Answer
    proof: Proof | None = None
    counter_model: Model | None = None
    turns: int = 0


def decide(theory: Sequence[Constraint], goal: Constraint) -> Decision:
    """Whether every model of the theory satisfies the goal.

    >>> from penstock.elimination.constraints import AtMost, Row
    >>> soon = Constraint("soon", (Row("a", "x"),), (), (Row("b", "y"),), (AtMost("y", "x", 5), AtMost("x", "y", 0)))
    >>> later = replace(soon, name="later", conclusion=(AtMost("y", "x", 9),))
    >>> decide([soon], later).answer.value, decide([later], soon).answer.value
    ('implied', 'not implied')
    """
    turns = 0
    relevant = tuple(_relevant(theory, goal))
    try:
        with answering():
            for search, limits in ATTEMPTS:
                chase = Chase(relevant, goal, search, limits)
                found = chase.run()
                turns += chase.turns
                if isinstance(found, Proof) and _is_accepted(theory, goal, found):
                    return Decision(Answer.IMPLIED, shortened(found, theory, goal), None, turns)
                if isinstance(found, Model) and breaks(found, theory, goal):
                    return Decision(Answer.NOT_IMPLIED, None, found, turns)
    except OutOfEffort:
        pass
    return Decision(Answer.UNKNOWN, turns=turns)


def shortened(proof: Proof, theory: Sequence[Constraint], goal: Constraint) -> Proof:
    """The proof without steps and cases that the checker does not miss."""
    changed = True
    while changed:
        changed = False
        for shorter in _shorter(proof):
            if _is_accepted(theory, goal, shorter):
                proof, changed = shorter, True
                break
    return proof


def _is_accepted(theory: Sequence[Constraint], goal: Constraint, proof: Proof) -> bool:
    try:
        check_proof(theory, goal, proof)
    except ProofRefused:
        return False
    return True


def _shorter(proof: Proof) -> Iterator[Proof]:
    """Proofs with one step or one split less."""
    for number in reversed(range(len(proof.steps))):
        yield replace(proof, steps=proof.steps[:number] + proof.steps[number + 1 :])
    if isinstance(proof.end, Split):
        split = proof.end
        for case in (split.holds, *split.fails):
            yield Proof(proof.steps + case.steps, case.end)
        for shorter in _shorter(split.holds):
            yield replace(proof, end=replace(split, holds=shorter))
        for number, case in enumerate(split.fails):
            for shorter in _shorter(case):
                fails = (*split.fails[:number], shorter, *split.fails[number + 1 :])
                yield replace(proof, end=replace(split, fails=fails))


def _relevant(theory: Sequence[Constraint], goal: Constraint) -> Iterator[Constraint]:
    """The constraints whose premise may come to hold: those about streams that have rows if the goal's have."""
    streams = {row.stream for row in goal.each}
    found: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number, constraint in enumerate(theory):
            if number not in found and all(row.stream in streams for row in constraint.each):
                found.add(number)
                streams |= {row.stream for row in constraint.some}
                changed = True
    return (constraint for number, constraint in enumerate(theory) if number in found)

"""Proofs of implications, as values that the checker reads and `penstock prove` prints.

A proof refutes: it takes rows that satisfy the premise of the goal, named as the goal names them, and shows that the
conclusion holds for them, or that there are no such rows. Steps add to what is known of rows. A split goes through two
cases, and nothing follows it: each case has its own end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from penstock.elimination.constraints import (
    AtMost,
    Cell,
    Condition,
    Congruent,
    Constraint,
    Equal,
    Row,
    TimeCondition,
    conditions_text,
    renamed,
)


@dataclass(frozen=True, slots=True)
class Fire:
    """The premise of a constraint holds for `rows`, so its conclusion holds: there are rows `added`, if it says so."""

    constraint: Constraint
    rows: tuple[str, ...]
    added: tuple[str, ...] = ()

    @property
    def conclusion(self) -> tuple[Condition, ...]:
        names = dict(zip([row.name for row in self.constraint.each], self.rows, strict=True))
        names |= dict(zip([row.name for row in self.constraint.some], self.added, strict=True))
        return tuple(renamed(condition, names) for condition in self.constraint.conclusion)


@dataclass(frozen=True, slots=True)
class First:
    """Time is well-ordered, so there is a first row `added` of the stream that agrees with `row` on these columns.

    Later steps use it as the constraint that no such row is before it.
    """

    row: str
    columns: tuple[str, ...]
    added: str


@dataclass(frozen=True, slots=True)
class Rounded:
    """A bound that the other bounds imply, rounded down to the next difference that the congruence allows."""

    bound: AtMost
    congruence: Congruent


@dataclass(frozen=True, slots=True)
class Chained:
    """Of two congruences or fixed differences, by way of a row in between, follows a third."""

    congruence: Congruent
    between: str


@dataclass(frozen=True, slots=True)
class Combined:
    """Of two congruences between the same rows follows one of their least common multiple."""

    congruence: Congruent
    one: Congruent
    other: Congruent


Step: TypeAlias = Fire | First | Rounded | Chained | Combined


@dataclass(frozen=True, slots=True)
class Concluded:
    """The conclusion of the goal holds, with these rows for those that it says exist."""

    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """There are no such rows: times go round in a circle, congruences exclude each other, or constants are equal."""


@dataclass(frozen=True, slots=True)
class Split:
    """Either a condition on times holds, or it does not."""

    condition: TimeCondition
    holds: Proof
    fails: tuple[Proof, ...]


End: TypeAlias = Concluded | Contradiction | Split


@dataclass(frozen=True, slots=True)
class Proof:
    steps: tuple[Step, ...]
    end: End


def negations(condition: TimeCondition) -> tuple[TimeCondition, ...]:
    """The cases in which a condition fails: of a congruence, every other residue.

    >>> [str(case) for case in negations(Congruent("x", "y", 3, 1))]
    ['(x.time - y.time) % 3 = 0', '(x.time - y.time) % 3 = 2']
    """
    if isinstance(condition, AtMost):
        return (condition.negated,)
    others = (residue for residue in range(condition.modulus) if residue != condition.residue)
    return tuple(Congruent(condition.left, condition.right, condition.modulus, residue) for residue in others)


def used(proof: Proof) -> frozenset[str]:
    """The names of the declarations that a proof leans on."""
    return frozenset(step.constraint.name for step in all_steps(proof) if isinstance(step, Fire))


def all_steps(proof: Proof) -> Iterator[Step]:
    yield from proof.steps
    if isinstance(proof.end, Split):
        for case in (proof.end.holds, *proof.end.fails):
            yield from all_steps(case)


def proof_text(goal: Constraint, proof: Proof) -> str:
    """The proof, one line per step, cases indented."""
    premise = f" with {conditions_text(goal.premise)}" if goal.premise else ""
    opening = f"suppose rows {', '.join(map(str, goal.each))}{premise}"
    return "\n".join([opening, *_lines(proof, goal, "")])


def _lines(proof: Proof, goal: Constraint, margin: str) -> Iterator[str]:
    for step in proof.steps:
        yield margin + _step_text(step)
    match proof.end:
        case Concluded(witnesses):
            by = f" by {', '.join(witnesses)}" if witnesses else ""
            yield f"{margin}so the conclusion holds{by}"
        case Contradiction():
            yield f"{margin}so there are no such rows"
        case Split(condition, holds, fails):
            yield f"{margin}case {conditions_text((condition,))}:"
            yield from _lines(holds, goal, margin + "  ")
            for case, failed in zip(negations(condition), fails, strict=True):
                yield f"{margin}case {conditions_text((case,))}:"
                yield from _lines(failed, goal, margin + "  ")


def _step_text(step: Step) -> str:
    match step:
        case Fire(constraint, rows, added):
            new = [Row(row.stream, name) for row, name in zip(constraint.some, added, strict=True)]
            exists = f"there is {', '.join(map(str, new))} with " if new else ""
            return f"by {constraint.name} of {', '.join(rows)}: {exists}{conditions_text(step.conclusion) or 'true'}"
        case First(row, columns, added):
            like = f" that agrees with {row} on {', '.join(columns)}" if columns else f" of the stream of {row}"
            return f"let {added} be the first row{like}"
        case Rounded(bound, congruence):
            return f"as {congruence}: {bound}"
        case Chained(congruence, between):
            return f"by way of {between or 'the instant 0'}: {congruence}"
        case Combined(congruence):
            return f"together: {congruence}"


def first_constraint(stream: str, first: First) -> Constraint:
    """What it means to be the first: no row of the stream that agrees on the columns is before it."""
    other = Row(stream, f"any_{first.added}")
    like = tuple(Equal(Cell(other.name, column), Cell(first.added, column)) for column in first.columns)
    return Constraint(f"{first.added} is the first", (other,), like, (), (AtMost(first.added, other.name, 0),))

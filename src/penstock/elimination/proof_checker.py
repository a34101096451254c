"""The checker of proofs: reads a proof step by step and accepts it only if every step follows.

It shares no code with the chase. What is known is a plain list of facts; equalities follow by walking from cell to
cell, bounds of times by Bellman and Ford's shortest paths, and congruences by the three steps that a proof writes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd, inf, lcm

from penstock.effort import spend
from penstock.elimination.constraints import (
    ORIGIN,
    AtMost,
    Cell,
    Condition,
    Congruent,
    Constant,
    Constraint,
    Equal,
    Term,
    TimeCondition,
    renamed,
    rows_of,
)
from penstock.elimination.proofs import (
    Chained,
    Combined,
    Concluded,
    Contradiction,
    Fire,
    First,
    Proof,
    Rounded,
    Split,
    Step,
    first_constraint,
    negations,
)


class ProofRefused(Exception):
    """A step of a proof does not follow."""


def check_proof(theory: Sequence[Constraint], goal: Constraint, proof: Proof) -> None:
    """Returns if the proof shows that the theory implies the goal, and raises `ProofRefused` if it does not."""
    facts = _Facts()
    for row in goal.each:
        facts.add_row(row.name, row.stream)
    for condition in goal.premise:
        facts.add(condition)
    _check(frozenset(theory), goal, proof, facts)


def _check(theory: frozenset[Constraint], goal: Constraint, proof: Proof, facts: _Facts) -> None:
    for step in proof.steps:
        theory = _take(step, theory, facts)
    match proof.end:
        case Contradiction():
            _require(facts.exclude_each_other(), "there is no contradiction")
        case Concluded(witnesses):
            _require(len(witnesses) == len(goal.some), "a row is missing")
            for row, name in zip(goal.some, witnesses, strict=True):
                _require(facts.streams.get(name) == row.stream, f"{name} is not a row of {row.stream}")
            names = {row.name: name for row, name in zip(goal.some, witnesses, strict=True)}
            _require_all(goal.conclusion, names, facts)
        case Split(condition, holds, fails):
            facts.require_rows(condition)
            _check(theory, goal, holds, facts.with_fact(condition))
            cases = negations(condition)
            _require(len(cases) == len(fails), "a case is missing")
            for case, failed in zip(cases, fails, strict=True):
                _check(theory, goal, failed, facts.with_fact(case))


def _take(step: Step, theory: frozenset[Constraint], facts: _Facts) -> frozenset[Constraint]:
    """Adds what a step shows to the facts, and returns the constraints that later steps may use."""
    match step:
        case Fire(constraint, rows, added):
            _require(constraint in theory, f"{constraint.name} is not in the theory")
            _require(len(rows) == len(constraint.each) and len(added) == len(constraint.some), "wrong number of rows")
            for row, name in zip(constraint.each, rows, strict=True):
                _require(facts.streams.get(name) == row.stream, f"{name} is not a row of {row.stream}")
            names = {row.name: name for row, name in zip(constraint.each, rows, strict=True)}
            _require_all(constraint.premise, names, facts)
            for row, name in zip(constraint.some, added, strict=True):
                facts.add_row(name, row.stream)
                names[row.name] = name
            for condition in constraint.conclusion:
                facts.add(renamed(condition, names))
        case First(row, columns, added):
            _require(row in facts.streams, f"there is no row {row}")
            facts.add_row(added, facts.streams[row])
            for column in columns:
                _require(facts.has_value(Cell(row, column)), f"{row}.{column} may be NULL")
                facts.add(Equal(Cell(added, column), Cell(row, column)))
            facts.add(AtMost(added, row, 0))
            return theory | {first_constraint(facts.streams[row], step)}
        case Rounded(bound, congruence):
            _require(congruence in facts.congruences, f"it is not known that {congruence}")
            same = (bound.later, bound.earlier) == (congruence.left, congruence.right)
            known = facts.most(bound.later, bound.earlier)
            _require(same and known < inf, "nothing is known that could be rounded")
            _require(known == -inf or _rounded(int(known), congruence) <= bound.most, "rounded too far")
            facts.add(bound)
        case Chained(congruence, between):
            _require(facts.chain(congruence, between), f"{congruence} does not follow by way of {between}")
            facts.add(congruence)
        case Combined(congruence, one, other):
            _require(_agree(congruence, one, other), f"{congruence} does not follow")
            _require({one, other} <= facts.congruences, "one of the congruences is not known")
            facts.add(congruence)
    return theory


def _rounded(bound: int, congruence: Congruent) -> int:
    return bound - (bound - congruence.residue) % congruence.modulus


def _agree(congruence: Congruent, one: Congruent, other: Congruent) -> bool:
    """Whether a congruence is what two between the same rows say together."""
    same = {(each.left, each.right) for each in (congruence, one, other)}
    residues = all((congruence.residue - each.residue) % each.modulus == 0 for each in (one, other))
    return len(same) == 1 and residues and congruence.modulus == lcm(one.modulus, other.modulus)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ProofRefused(otherwise)


def _require_all(conditions: Iterable[Condition], names: Mapping[str, str], facts: _Facts) -> None:
    for condition in conditions:
        of_rows = renamed(condition, names)
        _require(facts.imply(of_rows), f"it is not known that {of_rows}")


class _Facts:
    """Rows and conditions that hold for them, in no order."""

    def __init__(self) -> None:
        self.streams: dict[str, str] = {}
        self.equalities: set[Equal] = set()
        self.bounds: set[AtMost] = set()
        #: Each one both ways round.
        self.congruences: set[Congruent] = set()

    def with_fact(self, condition: TimeCondition) -> _Facts:
        other = _Facts()
        other.streams = dict(self.streams)
        other.equalities, other.bounds = set(self.equalities), set(self.bounds)
        other.congruences = set(self.congruences)
        other.add(condition)
        return other

    def add_row(self, name: str, stream: str) -> None:
        _require(name != ORIGIN and name not in self.streams, f"there is a row {name} already")
        self.streams[name] = stream
        self.bounds.add(AtMost(ORIGIN, name, 0))

    def require_rows(self, condition: Condition) -> None:
        named = rows_of(condition)
        _require(named <= self.streams.keys(), f"{condition} is about a row that is not known")

    def add(self, condition: Condition) -> None:
        self.require_rows(condition)
        match condition:
            case Equal():
                self.equalities.add(condition)
            case AtMost():
                self.bounds.add(condition)
            case Congruent(left, right, modulus, residue):
                self.congruences |= {condition, Congruent(right, left, modulus, -residue % modulus)}

    def imply(self, condition: Condition) -> bool:
        self.require_rows(condition)
        match condition:
            case Equal(left, right):
                return self.has_value(left) and right in self._same(left)
            case AtMost(later, earlier, most):
                return self.most(later, earlier) <= most
            case Congruent(left, right, modulus, residue):
                return self._is_congruent(left, right, modulus, residue)

    def has_value(self, cell: Cell) -> bool:
        return any(cell in (equality.left, equality.right) for equality in self.equalities)

    def _same(self, term: Term) -> set[Term]:
        """All that equalities lead to from a cell or constant."""
        reached: set[Term] = {term}
        before = 0
        while before < len(reached):
            before = len(reached)
            for equality in self.equalities:
                if equality.left in reached or equality.right in reached:
                    reached |= {equality.left, equality.right}
        return reached

    def most(self, later: str, earlier: str) -> float:
        """The least sum of bounds that leads from one row to the other; below all numbers if there is a circle."""
        reached: dict[str, float] = {earlier: 0}
        for _ in range(len(self.streams) + 2):
            spend()
            changed = False
            for bound in self.bounds:
                far = reached.get(bound.earlier, inf) + bound.most
                if far < reached.get(bound.later, inf):
                    reached[bound.later] = far
                    changed = True
            if not changed:
                return reached.get(later, inf)
        return -inf

    def _is_congruent(self, left: str, right: str, modulus: int, residue: int) -> bool:
        if left == right:
            return residue == 0
        known = [each for each in self.congruences if (each.left, each.right) == (left, right)]
        if any(each.modulus % modulus == 0 and each.residue % modulus == residue for each in known):
            return True
        most, least = self.most(left, right), -self.most(right, left)
        return modulus == 1 or (most == least and abs(most) < inf and int(most) % modulus == residue)

    def chain(self, congruence: Congruent, between: str) -> bool:
        """Whether a congruence follows of one to a row in between and one from there."""
        modulus = congruence.modulus
        onward = range(modulus) if modulus <= 1 else self._residues(congruence.left, between, modulus)
        return any(
            self._is_congruent(between, congruence.right, modulus, (congruence.residue - first) % modulus)
            for first in onward
        )

    def _residues(self, left: str, right: str, modulus: int) -> set[int]:
        """The residues that a difference is known to leave."""
        known = {
            each.residue % modulus
            for each in self.congruences
            if (each.left, each.right) == (left, right) and each.modulus % modulus == 0
        }
        most, least = self.most(left, right), -self.most(right, left)
        return known | ({int(most) % modulus} if most == least and abs(most) < inf else set())

    def exclude_each_other(self) -> bool:
        """Whether no rows can be as the facts say."""
        if any(self.most(name, name) < 0 for name in (ORIGIN, *self.streams)):
            return True
        for one in self.congruences:
            for other in self.congruences:
                differ = (one.residue - other.residue) % gcd(one.modulus, other.modulus)
                if differ and (one.left, one.right) == (other.left, other.right):
                    return True
            if one.left == one.right and one.residue:
                return True
        constants = {equality.right for equality in self.equalities if isinstance(equality.right, Constant)}
        return any(len(self._same(constant) & constants) > 1 for constant in constants)

"""The chase: does a theory imply a constraint? Proof by refutation, guided by candidate models.

```text
  rows of the goal's premise ──▶ least model at some times ──▶ no constraint broken ──▶ counter-model
          ▲                                │ one is
          │                                ▼
          ├── its conclusion is added ◀── its premise follows from what is known    (the goal's: the case is closed)
          └── two cases               ◀── it depends on the times
```

Data is Horn: in the least model two cells are equal only if they must be, so only conditions on times are split.
Without circles of existential conclusions the chase ends, and then it is complete. With circles it may go on for ever:
then `lassos.py` guesses ultimately periodic counter-models, and well-ordering (`First`) ends descents into the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice, product

from penstock.elimination.constraints import (
    AtMost,
    Cell,
    Condition,
    Congruent,
    Constraint,
    Equal,
    Row,
    TimeCondition,
    renamed,
)
from penstock.elimination.known_rows import KnownRows
from penstock.elimination.lassos import Lassos
from penstock.elimination.matching import Pattern, Rule
from penstock.elimination.models import Model
from penstock.elimination.proofs import (
    Concluded,
    Contradiction,
    Fire,
    First,
    Proof,
    Split,
    Step,
    first_constraint,
    negations,
)

#: A congruence is split into as many cases as its modulus says; beyond this it is not.
MOST_CASES = 64
#: How many choices of rows that are there already a small model is looked for with.
MOST_WITNESSES = 16


class Search(Enum):
    """What a chase does beyond adding rows that must exist.

    It considers the first of the rows that agree on all known cells, or the first row of a stream; or it looks for a
    small model, in which rows that are there already serve as those that must exist. The last finds no proofs.
    """

    PLAIN = "plain"
    FIRST_ALIKE = "first alike"
    FIRST_OF_STREAM = "first of stream"
    SMALL_MODEL = "small model"


@dataclass(frozen=True, slots=True)
class Limits:
    """Turns of the loop in all, and rows in one case."""

    turns: int = 600
    rows: int = 32


class Chase:
    """One question, asked once. `turns` counts the work."""

    def __init__(self, theory: Sequence[Constraint], goal: Constraint, search: Search, limits: Limits) -> None:
        self.turns = 0
        self._goal = goal
        self._search = search
        self._limits = limits
        self._spread = 1 + max((abs(bound) for bound in _constants((*theory, goal))), default=0)
        self._lassos = Lassos(theory, goal)
        self._rules = tuple(map(Rule.of, sorted(theory, key=lambda constraint: len(constraint.some) > 0)))
        #: The goal is denied: rows that satisfy its conclusion close a case.
        self._denied = Pattern.of(goal.some, goal.conclusion)

    def run(self) -> Proof | Model | None:
        """A proof, a counter-model that is still to be checked, or None within the limits."""
        case = _Case(KnownRows(), {}, (), frozenset())
        for row in self._goal.each:
            case.known.add_row(row)
        for condition in self._goal.premise:
            case.known.add(condition)
        steps: list[Step] = []
        for row in self._goal.each:
            self._find_first(row, case, steps)
        return self._close(case, steps)

    def _close(self, case: _Case, steps: list[Step]) -> Proof | Model | None:
        """Closes a case, or finds a counter-model in it."""
        while True:
            known = case.known
            steps += known.times.log
            known.times.log.clear()
            if known.are_impossible:
                return Proof(tuple(steps), Contradiction())
            self.turns += 1
            if self.turns > self._limits.turns or len(known.rows) > self._limits.rows:
                return None
            times = known.times.solution(self._spread)
            if times is None:
                return self._split(known.times.open_difference(), case, steps)
            match self._next(case, times):
                case None:
                    return self._lassos.least_model(known, times)
                case Concluded() as end:
                    return Proof(tuple(steps), end)
                case Fire(constraint) as fire if constraint.some and self._search is Search.SMALL_MODEL:
                    return self._reuse(fire, case)
                case Fire() as fire:
                    self._fire(fire, case, steps)
                    if fire.constraint.some and (model := self._repeated(case)) is not None:
                        return model
                case condition:
                    return self._split(condition, case, steps)

    def _next(self, case: _Case, times: Mapping[str, int]) -> Concluded | Fire | TimeCondition | None:
        """What to do about the least model at these times: nothing, if it is a counter-model."""
        known = case.known
        for names in self._denied.matches(known, times):
            open_condition = _not_implied(self._goal.conclusion, names, known)
            return open_condition or Concluded(tuple(names[row.name] for row in self._goal.some))
        split: TimeCondition | None = None
        oldest: tuple[int, Fire | TimeCondition] | None = None
        for rule in (*case.local, *self._rules):
            if split is not None and rule.constraint.some:
                return split  # rows are added only to cases that need them
            for names in rule.broken(known, times):
                fire = Fire(rule.constraint, tuple(names[row.name] for row in rule.constraint.each))
                open_condition = _not_implied(rule.constraint.premise, names, known)
                if not rule.constraint.some:
                    if open_condition is None:
                        return fire
                    split = split or open_condition
                    continue
                # Fair: what is about older rows comes first, so that nothing waits for ever.
                age = max(known.ages[name] for name in fire.rows)
                if oldest is None or age < oldest[0]:
                    oldest = age, open_condition or fire
        return split or (oldest and oldest[1])

    def _reuse(self, fire: Fire, case: _Case) -> Model | None:
        """Lets rows that are there be those that must exist, and adds rows only where that leads to no model."""
        streams = [case.known.of_stream.get(row.stream, ()) for row in fire.constraint.some]
        for witnesses in islice(product(*streams), MOST_WITNESSES):
            inside = case.copy()
            for condition in Fire(fire.constraint, fire.rows, witnesses).conclusion:
                inside.known.add(condition)
            answer = self._close(inside, [])
            if isinstance(answer, Model) or self.turns > self._limits.turns:
                return answer if isinstance(answer, Model) else None
        self._fire(fire, case, [])
        answer = self._close(case, [])
        return answer if isinstance(answer, Model) else None

    def _fire(self, fire: Fire, case: _Case, steps: list[Step]) -> None:
        added = [Row(row.stream, case.new_name(row.name)) for row in fire.constraint.some]
        for row in added:
            case.known.add_row(row)
            case.parents[row.name] = fire.rows
        done = Fire(fire.constraint, fire.rows, tuple(row.name for row in added))
        for condition in done.conclusion:
            case.known.add(condition)
        steps.append(done)
        for row in added:
            self._find_first(row, case, steps)

    def _find_first(self, row: Row, case: _Case, steps: list[Step]) -> None:
        """Adds the first of the rows that are like one, where that is asked for and it has not been added."""
        if self._search not in (Search.FIRST_ALIKE, Search.FIRST_OF_STREAM) or case.known.are_impossible:
            return
        known, columns = case.known, tuple[str, ...]()
        if self._search is Search.FIRST_ALIKE:
            mentioned = self._lassos.columns.get(row.stream, ())
            columns = tuple(column for column in mentioned if known.value(Cell(row.name, column)) is not None)
        like = row.stream, tuple((column, known.value(Cell(row.name, column))) for column in columns)
        if like in case.firsts:
            return
        first = First(row.name, columns, case.new_name(f"first_{row.name}"))
        steps += known.times.log
        known.times.log.clear()
        steps.append(first)
        known.add_row(Row(row.stream, first.added))
        for column in columns:
            known.add(Equal(Cell(first.added, column), Cell(row.name, column)))
        known.add(AtMost(first.added, row.name, 0))
        case.parents[first.added] = (row.name,)
        case.firsts |= {like}
        case.local += (Rule.of(first_constraint(row.stream, first)),)

    def _repeated(self, case: _Case) -> Model | None:
        if case.known.are_impossible:
            return None
        times = case.known.times.solution(self._spread)
        return None if times is None else self._lassos.repeated(case.known, times, case.parents)

    def _split(self, condition: TimeCondition | None, case: _Case, steps: list[Step]) -> Proof | Model | None:
        if condition is None or (isinstance(condition, Congruent) and condition.modulus > MOST_CASES):
            return None
        proofs: list[Proof] = []
        cases = (*negations(condition), condition)
        for each in cases:
            inside = case.copy()
            inside.known.add(each)
            answer = self._close(inside, [])
            if isinstance(answer, Model):
                return answer
            if answer is not None:
                proofs.append(answer)
        if len(proofs) < len(cases):
            return None
        return Proof(tuple(steps), Split(condition, proofs[-1], tuple(proofs[:-1])))


class _Case:
    """What is supposed: rows, what each follows from, and which rows are first."""

    __slots__ = ("firsts", "known", "local", "parents")

    def __init__(
        self,
        known: KnownRows,
        parents: dict[str, tuple[str, ...]],
        local: tuple[Rule, ...],
        firsts: frozenset[tuple[object, ...]],
    ) -> None:
        self.known = known
        self.parents = parents
        self.local = local
        self.firsts = firsts

    def copy(self) -> _Case:
        return _Case(self.known.copy(), dict(self.parents), self.local, self.firsts)

    def new_name(self, name: str) -> str:
        number = 1
        while f"{name}{number}" in self.known.rows:
            number += 1
        return f"{name}{number}"


def _not_implied(conditions: Iterable[Condition], names: Mapping[str, str], known: KnownRows) -> TimeCondition | None:
    """The first of some conditions that are true at the times at hand, but do not have to be."""
    for condition in conditions:
        if not isinstance(condition, Equal):
            of_rows = renamed(condition, names)
            assert not isinstance(of_rows, Equal)
            if not known.times.implies(of_rows):
                return of_rows
    return None


def _constants(constraints: Iterable[Constraint]) -> Iterable[int]:
    for constraint in constraints:
        for condition in (*constraint.premise, *constraint.conclusion):
            if isinstance(condition, AtMost):
                yield condition.most

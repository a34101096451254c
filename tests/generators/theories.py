"""Random small theories over two or three streams, and goals that are near to what they say."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from penstock.elimination.constraints import (
    ORIGIN,
    AtMost,
    Cell,
    Condition,
    Congruent,
    Constant,
    Constraint,
    Equal,
    Row,
)

STREAMS = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class Question:
    theory: tuple[Constraint, ...]
    goal: Constraint
    columns: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        return "\n".join(
            [*map(str, self.theory), f"implies? {self.goal}", "", f"theory = {self.theory!r}", f"goal = {self.goal!r}"]
        )


def question(rng: random.Random, cyclic: bool = True, congruences: bool = True) -> Question:
    """A theory of one to four constraints, and a goal."""
    streams = STREAMS[: rng.choice((1, 2, 2, 3))]
    columns = rng.choice(((), ("k",), ("k",), ("k", "v")))
    maker = _Maker(rng, streams, columns, cyclic, congruences)
    theory = tuple(maker.constraint(f"c{number}") for number in range(rng.randint(1, 4)))
    goal = maker.constraint("goal")
    if rng.random() < 0.3:
        goal = replace(rng.choice(theory), name="goal")
        loosened = tuple(
            AtMost(each.later, each.earlier, each.most + rng.choice((0, 1, 2))) if isinstance(each, AtMost) else each
            for each in goal.conclusion
        )
        goal = replace(goal, conclusion=loosened)
    return Question(theory, goal, dict.fromkeys(streams, columns))


@dataclass(frozen=True, slots=True)
class _Maker:
    rng: random.Random
    streams: tuple[str, ...]
    columns: tuple[str, ...]
    cyclic: bool
    congruences: bool

    def constraint(self, name: str) -> Constraint:
        rng = self.rng
        each = tuple(Row(rng.choice(self.streams), variable) for variable in "xy"[: rng.choice((1, 1, 2))])
        some: tuple[Row, ...] = ()
        if rng.random() < 0.5:
            # Without circles, what exists is of a stream further on.
            furthest = max(self.streams.index(row.stream) for row in each)
            allowed = self.streams if self.cyclic else self.streams[furthest + 1 :]
            if allowed:
                some = tuple(Row(rng.choice(allowed), variable) for variable in "uv"[: rng.choice((1, 1, 1, 2))])
        names = [row.name for row in each]
        premise = tuple(self.condition(names) for _ in range(rng.choice((0, 0, 1, 1, 2))))
        conclusion = tuple(
            self.condition([*names, *(row.name for row in some)]) for _ in range(rng.choice((1, 1, 2, 3)))
        )
        return Constraint(name, each, premise, some, conclusion)

    def condition(self, names: list[str]) -> Condition:
        rng = self.rng
        one, other = rng.choice(names), rng.choice(names)
        kind = rng.random()
        if self.columns and kind < 0.45:
            right = Constant(1) if rng.random() < 0.15 else Cell(other, rng.choice(self.columns))
            return Equal(Cell(one, rng.choice(self.columns)), right)
        if self.congruences and kind < 0.55:
            modulus = rng.choice((2, 2, 3))
            return Congruent(one, rng.choice((ORIGIN, other)), modulus, rng.randrange(modulus))
        if kind < 0.6:
            ends = [one, ORIGIN]
            rng.shuffle(ends)
            return AtMost(ends[0], ends[1], rng.randint(-2, 3))
        return AtMost(one, other, rng.randint(-2, 3))

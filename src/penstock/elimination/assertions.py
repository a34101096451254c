"""Questions about assertions: does a catalog imply one, do they exclude each other, which are of no use?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from penstock.catalog import AssertionDef, Catalog, StreamDef
from penstock.elimination.conditions import Beyond
from penstock.elimination.constraints import FALSE, Constraint, Row
from penstock.elimination.implication import Answer, decide
from penstock.elimination.proofs import Proof, proof_text, used
from penstock.elimination.translation import Theory, goal_of, theory_of
from penstock.elimination.typed_rows import TypedRow, typed_rows, with_keys


@dataclass(frozen=True, slots=True)
class Implication:
    """What `penstock.implies` says: whether declarations imply an assertion, and why. It is true if they do."""

    name: str
    answer: Answer
    #: What was asked, in the theory's words; None where the theory cannot express it.
    goal: Constraint | None = None
    proof: Proof | None = None
    counter_model: tuple[TypedRow, ...] | None = None
    #: The declarations that the proof leans on.
    leans_on: tuple[str, ...] = ()
    #: Why the answer is unknown.
    reason: str | None = None
    catalog: Catalog = field(default_factory=Catalog, repr=False)

    def __bool__(self) -> bool:
        return self.answer is Answer.IMPLIED

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.answer.value}"]
        if self.proof is not None and self.goal is not None:
            lines.append(proof_text(self.goal, self.proof))
        if self.counter_model is not None:
            lines += ["these rows satisfy the declarations, and not the assertion:", *counter_model_lines(self)]
        if self.reason is not None:
            lines.append(f"why: {self.reason}")
        return "\n".join(lines)


def counter_model_lines(implication: Implication) -> Iterator[str]:
    """The rows of a counter-model as csv, stream by stream."""
    rows = implication.counter_model or ()
    for name in dict.fromkeys(row.stream for row in rows):
        stream = implication.catalog.get(name)
        assert isinstance(stream, StreamDef)
        own = [row for row in rows if row.stream == name]
        yield f"-- {name}"
        yield ",".join(attribute.name for attribute in stream.attributes)
        yield from (",".join(row.texts(stream.attributes)) for row in own)
        for row in (row for row in own if row.period):
            again = ",".join(row.texts(stream.attributes))
            yield f"-- the row {again} comes again and again, each time {row.period} later"


def implication(assertion: AssertionDef, catalog: Catalog) -> Implication:
    """Whether the other declarations of a catalog imply an assertion."""
    others = catalog if catalog.get(assertion.name) != assertion else catalog.without(assertion.name)
    goal = goal_of(assertion, catalog)
    if isinstance(goal, Beyond):
        reason = f"the theory does not express {goal}"
        return Implication(assertion.name, Answer.UNKNOWN, reason=reason, catalog=catalog)
    return _asked(goal, theory_of(others, about=(goal,)), catalog)


def _asked(goal: Constraint, theory: Theory, catalog: Catalog) -> Implication:
    decision = decide(theory.constraints, goal)
    name, answer = goal.name, decision.answer
    if decision.proof is not None:
        leans_on = tuple(dict.fromkeys(c.name for c in theory.constraints if c.name in used(decision.proof)))
        return Implication(name, answer, goal, decision.proof, None, leans_on, catalog=catalog)
    if decision.counter_model is None:
        reason = "neither a proof nor a counter-model was found within the limits of work"
        return Implication(name, Answer.UNKNOWN, goal, reason=reason, catalog=catalog)
    streams = {row.stream for row in decision.counter_model.rows}
    beyond = [left.declaration for left in theory.left_out if left.streams & streams]
    if beyond:
        reason = f"what the theory expresses does not imply it, but it does not express {'; '.join(beyond)}"
        return Implication(name, Answer.UNKNOWN, goal, reason=reason, catalog=catalog)
    model = with_keys(decision.counter_model, catalog, theory.constraints, goal)
    rows = None if model is None else typed_rows(model, catalog)
    if rows is None:
        reason = "no counter-model was found whose columns have enough values"
        return Implication(name, Answer.UNKNOWN, goal, reason=reason, catalog=catalog)
    return Implication(name, answer, goal, None, rows, catalog=catalog)


@dataclass(frozen=True, slots=True)
class Contradictory:
    """No stream with a row satisfies these declarations."""

    stream: str
    declarations: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.stream} can have no row: {_listed(self.declarations)} exclude{_s(self.declarations)} every one"


@dataclass(frozen=True, slots=True)
class Redundant:
    """The other declarations imply an assertion."""

    assertion: str
    by: tuple[str, ...]

    def __str__(self) -> str:
        if not self.by:
            return f"assertion {self.assertion} is true of all streams"
        return f"assertion {self.assertion} follows from {_listed(self.by)}"


@dataclass(frozen=True, slots=True)
class Useless:
    """No query reads a stream that an assertion says something about."""

    assertion: str

    def __str__(self) -> str:
        return f"assertion {self.assertion} is of no use to the queries: they read none of the streams it bears on"


AssertionNotice = Contradictory | Redundant | Useless


def assertion_notices(catalog: Catalog, read: Sequence[frozenset[str]]) -> tuple[AssertionNotice, ...]:
    """What is to be said of a catalog's assertions; `read` has for each query the streams that it reads."""
    assertions = [d for d in catalog.definitions.values() if isinstance(d, AssertionDef)]
    if not assertions:
        return ()
    contradictory = tuple(_contradictory(catalog, assertions))
    if contradictory:
        return contradictory  # of streams without rows everything is true
    return (*_redundant(catalog, assertions), *_useless(assertions, read))


def _contradictory(catalog: Catalog, assertions: Iterable[AssertionDef]) -> Iterator[Contradictory]:
    theory = theory_of(catalog).constraints
    for stream in dict.fromkeys(variable.stream for assertion in assertions for variable in assertion.each):
        goal = Constraint(stream, (Row(stream, "x"),), (), (), (FALSE,))
        decision = decide(theory, goal)
        if decision.proof is not None:
            yield Contradictory(stream, _minimal(theory, goal, used(decision.proof)))


def _minimal(theory: Sequence[Constraint], goal: Constraint, names: frozenset[str]) -> tuple[str, ...]:
    """Declarations none of which can be left out."""
    needed = [name for name in dict.fromkeys(constraint.name for constraint in theory) if name in names]
    for name in tuple(needed):
        fewer = [constraint for constraint in theory if constraint.name in needed and constraint.name != name]
        if decide(fewer, goal).answer is Answer.IMPLIED:
            needed.remove(name)
    return tuple(needed)


def _redundant(catalog: Catalog, assertions: Iterable[AssertionDef]) -> Iterator[Redundant]:
    theory = theory_of(catalog)
    for assertion in assertions:
        goal = goal_of(assertion, catalog)
        if isinstance(goal, Beyond):
            continue
        # It is in the theory as it is asked for. What the theory says of keys depends on the columns of both.
        others = tuple(constraint for constraint in theory.constraints if constraint != goal)
        found = _asked(goal, replace(theory, constraints=others), catalog)
        if found.answer is Answer.IMPLIED:
            yield Redundant(assertion.name, found.leans_on)


def _useless(assertions: Sequence[AssertionDef], read: Sequence[frozenset[str]]) -> Iterator[Useless]:
    """Assertions that no chain of assertions links with what a query reads."""
    if not read:
        return
    reached = {stream for streams in read for stream in streams}
    changed = True
    while changed:
        linked = [assertion for assertion in assertions if _streams(assertion) & reached]
        after = reached.union(*map(_streams, linked))
        changed, reached = after != reached, after
    yield from (Useless(assertion.name) for assertion in assertions if not _streams(assertion) & reached)


def _streams(assertion: AssertionDef) -> frozenset[str]:
    return frozenset(variable.stream for variable in (*assertion.each, *assertion.some))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _s(names: Sequence[str]) -> str:
    return "s" if len(names) == 1 else ""

"""The verdict on a query: every piece of its state with a bound, and if one has none, why, and what would help.

A piece of state is as small as the best theory says. A query is safe if no piece is unbounded. Sound first: what no
theory bounds is called unbounded, though a cleverer plan might do; with a witness it is proved that none can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from penstock.algebra.copies import written
from penstock.algebra.relations import Query, walk_relations
from penstock.algebra.rewrites import normalise
from penstock.catalog import Catalog
from penstock.closing.bounds import UNBOUNDED, Bound, plus
from penstock.closing.evidence import REMEMBERED
from penstock.closing.finite import contradicts, truths
from penstock.closing.proof import Proof
from penstock.closing.retention import listed
from penstock.effort import STEPS, OutOfEffort, TooDeep, answering, from_pool, limit, limited, nesting
from penstock.errors import Origin, PenstockError
from penstock.register.advice import Advice, advice
from penstock.register.states import State, StatefulOperator, Theory
from penstock.register.step_bound import StepBound, step_bound
from penstock.register.steps import Action
from penstock.register.windows import states
from penstock.register.witness import Witness, witness

T = TypeVar("T")

#: Advice and the witness may take such a part of the steps of the verdict each.
_FOR_MORE = 4


@nesting
def judged(query: Query, catalog: Catalog) -> tuple[State, ...]:
    """All that a query keeps, by all theories."""
    with answering():
        return states(normalise(query), catalog)


Advise = Callable[[Query, Catalog, tuple[State, ...]], Advice]


@dataclass(frozen=True)
class Verdict:
    """What `penstock.check` says of a query. `print` shows it with the text of the query, and so does a notebook."""

    query: Query
    catalog: Catalog
    states: tuple[State, ...]
    #: The text that the query was read from, for messages.
    origin: Origin | None = None
    #: Where it runs: what could be changed there.
    advise: Advise = advice
    #: How many steps each answer may take, of advice and witness too.
    effort: int = STEPS
    #: Why there is no answer, where the limit was reached: then nothing is known, and it is not called safe.
    unanswered: PenstockError | None = None

    @property
    def name(self) -> str:
        """The name of the query; `query` if it has none."""
        return self.query.name

    @property
    def safe(self) -> bool:
        """Whether its state is bounded."""
        return not self.unbounded

    @property
    def allowed(self) -> bool:
        """Whether it may run: it is safe, or the query says ALLOW UNBOUNDED and there is a plan for it."""
        return self.safe or (self.query.allow_unbounded and self.has_plan)

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan for it, were it allowed to grow."""
        return not any(state.has_no_plan for state in self.unbounded)

    @property
    def unbounded(self) -> tuple[State, ...]:
        """The pieces of state that may grow without bound."""
        return tuple(state for state in self.states if not state.is_safe)

    @property
    def bound(self) -> Bound:
        """What all pieces of state take together: `size` entries, where that is a number, and `words`."""
        return plus(state.as_written().bound for state in self.states)

    @property
    def shown(self) -> tuple[State, ...]:
        """The pieces of state in the user's words: what copies of an occurrence hold alike is named once."""
        return tuple(dict.fromkeys(state.as_written() for state in self.states))

    @property
    def by(self) -> frozenset[Theory]:
        """The theories that its bounds come from: a run that does not do as they say may need more."""
        return frozenset(state.by for state in self.states)

    @property
    def message(self) -> str:
        """The verdict in one line.

        >>> import penstock
        >>> text = "CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT a FROM s [ROWS 5]"
        >>> penstock.check(text)[0].message
        'safe, at most 5 rows of s'
        """
        if self.safe:
            words = self.bound.words
            if self.empty:
                return "safe, but no row can ever satisfy its conditions"
            if all(state.bound.size == 0 for state in self.states):
                return "safe, it keeps nothing"
            return f"safe, at most {words}{_remembered(len(self.guards))}"
        return f"not safe: {written(self.unbounded[0].because)}"

    @cached_property
    def empty(self) -> bool:
        """Whether its conditions contradict each other somewhere, so that nothing ever comes out of that part."""
        return bool(self._worked_out(lambda: _is_empty(self.query), _alone))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a safe query's bound leans on that no run can see, or that not all data may have, in a line each.

        >>> import penstock
        >>> (verdict,) = penstock.check('''
        ...     CREATE STREAM s (a BIGINT, ts TIMESTAMP, PUNCTUATED BY (a)) TIMESTAMP BY ts;
        ...     CREATE QUERY q AS SELECT DISTINCT a FROM s;
        ... ''')
        >>> verdict.warnings[0].partition(" without")[0]
        'q: its bound leans on s: PUNCTUATED BY (a)'
        """
        if not self.safe or self.empty:
            return ()
        unseen = tuple(dict.fromkeys(lean for state in self.states for lean in state.unseen))
        nulls = dict.fromkeys(keys for state in self.shown for keys in state.awaiting_null)
        return (*((_unseen(self.name, unseen),) if unseen else ()), *(_awaiting(self.name, keys) for keys in nulls))

    @property
    def hint(self) -> str | None:
        """Input that makes the state grow whatever the plan, in words; None of a safe query, or if none was found."""
        if self.unanswered is not None:
            return self.unanswered.hint
        return None if self.safe or self.witness is None else written(self.witness.words)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The smallest sets of declarations and changes that would make it safe, cheapest assumption first."""
        return self.advice.actions

    @cached_property
    def advice(self) -> Advice:
        if self.safe or self.unanswered is not None:
            return Advice()
        found = self._worked_out(lambda: self.advise(self.query, self.catalog, self.unbounded), from_pool)
        return Advice(complete=False) if found is None else found

    @cached_property
    def witness(self) -> Witness | None:
        if self.safe or self.unanswered is not None:
            return None
        proved = tuple(state for state in self.unbounded if not state.is_shortfall)
        return self._worked_out(lambda: witness(self.query, self.catalog, proved), _alone)

    def _worked_out(self, work: Callable[[], T], within: Callable[[int], AbstractContextManager[None]]) -> T | None:
        """What a safe answer does not need is left out where it takes too much work."""
        try:
            with within(self.effort // _FOR_MORE):
                return nesting(work)()
        except (OutOfEffort, TooDeep):
            return None

    def __str__(self) -> str:
        from penstock.register.report import verdict_text  # noqa: PLC0415 - a report is about a verdict

        return verdict_text(self)

    def _repr_html_(self) -> str:
        from penstock.register.html import verdict_html  # noqa: PLC0415 - it is about a verdict, too

        return verdict_html(self)

    def explanation(self) -> str:
        """The proof of each bound."""
        guards = (
            f"guard, constant: the last {REMEMBERED:,} values in each cell that {lean} closed" for lean in self.guards
        )
        lines = (line for state in self.shown for line in _explained(state))
        return "\n".join((*lines, *guards))

    @cached_property
    def step(self) -> StepBound | None:
        """What a step of a run holds beside the state; None where there is no answer about the query."""
        return None if self.unanswered is not None else step_bound(normalise(self.query), self.catalog)

    @property
    def guards(self) -> tuple[str, ...]:
        """The declarations whose last closed values are remembered, to reject rows that arrive later."""
        unseen = {lean for state in self.states for lean in state.unseen}
        safe = [state for state in self.states if state.is_safe]
        leans_on = (lean for state in safe for lean in state.leans_on if _is_guarded(lean, state))
        return tuple(lean for lean in dict.fromkeys(leans_on) if lean not in unseen)


def _unseen(name: str, leans_on: tuple[str, ...]) -> str:
    reason = f"{listed(leans_on)} without WHEN or FROM, so that no punctuation is seen"
    return f"{name}: its bound leans on {reason}: its state will grow"


def _awaiting(name: str, keys: tuple[str, ...]) -> str:
    """Entries with NULL that may pile up, and what says that there are none."""
    null = f"{' and '.join(keys)} {'is' if len(keys) == 1 else 'are'} NULL"
    kept = f"what it keeps where {null} goes only after a punctuation with NULL"
    return f"{name}: {kept}: if none arrives, its state will grow. NOT NULL, or WHERE ... IS NOT NULL, rules it out"


@contextmanager
def _alone(steps: int) -> Iterator[None]:
    with limited(steps), answering():
        yield


def _is_guarded(lean: str, state: State) -> bool:
    """Whether rows that break a declaration are rejected: of clusters and references, where entries end by them."""
    is_grouped = state.operator not in (StatefulOperator.JOIN, StatefulOperator.SEMI_JOIN, StatefulOperator.ANTI_JOIN)
    return ": PUNCTUATED BY" in lean or (is_grouped and ": CLUSTERED BY" in lean) or lean in state.guarded


def _remembered(guards: int) -> str:
    """The closed values that guards remember, as a term of a bound."""
    if not guards:
        return ""
    return f" + the last {'' if guards == 1 else f'{guards} x '}{REMEMBERED:,} closed values"


def check_query(query: Query, catalog: Catalog, origin: Origin | None = None) -> Verdict:
    """Is the state of this query bounded? Where the answer takes more steps than it may, that counts as no."""
    try:
        found = judged(query, catalog)
    except (OutOfEffort, TooDeep) as reason:
        return Verdict(query, catalog, (_unknown(reason),), origin, effort=limit(), unanswered=reason)
    return Verdict(query, catalog, found, origin, effort=limit())


def _unknown(reason: OutOfEffort | TooDeep) -> State:
    """Sound first: what has no answer may grow without end."""
    within = f" within {reason.limit:,} steps of work" if isinstance(reason, OutOfEffort) else ": it nests too deeply"
    claim = f"it was not shown that what the query keeps is bounded{within}"
    return State(StatefulOperator.QUERY, None, UNBOUNDED, Theory.WINDOWS, Proof(claim), "")


def _is_empty(query: Query) -> bool:
    return any(contradicts(truths(node)) for node in walk_relations(normalise(query).relation))


def _explained(state: State) -> list[str]:
    of = f" of {state.stream}" if state.stream else ""
    bound = state.bound.kind.value if state.is_safe is False else f"{state.bound.kind.value}: {state.bound.words}"
    lines = state.proof.lines()
    return [f"{state.operator.value}{of}, {bound}", *(f"   {line}" for line in lines)]

"""What a join keeps of each operand: the least that windows and the three theories say.

A row is kept as long as a change of another operand may match it. Windows and finitely many rows bound it; so does
punctuation safety (a row that nothing can match any more), bounded memory (rows that are alike are counted together),
and a k-constraint (a row whose partner has had its time). Each operand takes the best of them: they may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TypeVar

from penstock.algebra.expressions import Column, Expr, IsNull, Or, columns
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import (
    AntiJoin,
    Join,
    Materialised,
    Range,
    Relation,
    Rows,
    Select,
    SemiJoin,
    Unbounded,
    Window,
)
from penstock.catalog import Catalog
from penstock.closing import Purging
from penstock.closing.blocks import Block, Operand, block_of, flat_block
from penstock.closing.bounds import UNBOUNDED, BoundKind, badness
from penstock.closing.contents import appends_only, content, unique_keys
from penstock.closing.join_graphs import BlockAnalysis, analyse_block, known_constraints, tells_more
from penstock.closing.join_trees import input_scope
from penstock.closing.proof import Proof
from penstock.closing.retention import Retention, listed
from penstock.register.constant_synopses import ConstantSynopses
from penstock.register.join_context import JoinContext, constant_synopses
from penstock.register.memo import Memo
from penstock.register.physical_form import PhysicalForm
from penstock.register.states import State, StatefulOperator, Theory, TheoryBound

T = TypeVar("T")


def join_states(
    relation: Join | SemiJoin | AntiJoin,
    above: JoinContext,
    catalog: Catalog,
    theories: frozenset[Theory],
    memo: Memo | None = None,
    form: PhysicalForm | None = None,
) -> Iterator[State]:
    """What the join keeps beside its operands' windows. With a memo any bound will do, and not just the least.

    With a physical form, what a run of it does not drop is unbounded, whatever the theories say.
    """
    block = block_of(relation) if memo is None else memo.once(relation, "block", lambda: block_of(relation))
    changing = [operand for operand in block.operands if not operand.is_static]
    if len(changing) < 2:
        return
    judge = _Judge(relation, above, catalog, theories, memo, form)
    if memo is not None:
        order = {name: number for number, name in enumerate(memo.suspects, start=1)}
        changing.sort(key=lambda operand: -order.get(operand.name, 0))
    for operand in changing:
        state = judge.state(block, operand)
        if state is not None:
            if memo is not None and not state.is_safe:
                memo.suspect(operand.name, judge.purging(block, operand))
            yield state


_OPERATORS = {Join: StatefulOperator.JOIN, SemiJoin: StatefulOperator.SEMI_JOIN, AntiJoin: StatefulOperator.ANTI_JOIN}


class _Judge:
    """Asks the theories about one join; what they say of all its operands at once is asked once."""

    def __init__(
        self,
        relation: Join | SemiJoin | AntiJoin,
        above: JoinContext,
        catalog: Catalog,
        theories: frozenset[Theory],
        memo: Memo | None = None,
        form: PhysicalForm | None = None,
    ) -> None:
        self.memo = memo
        self.form = form
        self.relation = relation
        self.above = above
        self.catalog = catalog
        self.theories = theories
        self.operator = _OPERATORS[type(relation)]
        self._shared: Purging | None = None

    def state(self, block: Block, operand: Operand) -> State | None:
        held = content(operand.relation, self.catalog)
        stream = operand.window.stream.occurrence if operand.window else None
        scope = stream or _scope(operand.relation)
        if held.is_safe:
            if _rows_of_window(operand.relation):
                return None
            return State(self.operator, stream, held, Theory.WINDOWS, Proof(f"the join keeps {held.words}"), scope)
        retention = self._retention(operand)
        if self.memo is not None and retention.goes and self.purging(block, operand).is_purged(operand):
            return None
        options = [*self._counted(operand, scope), *(self._waits(block, operand, retention) if retention.goes else ())]
        if options:
            bound, proof, theory = min(options, key=lambda option: badness(option[0]))
            unseen = () if theory is Theory.ARITHMETIC else retention.unseen
            found = State(self.operator, stream, bound, theory, proof, scope, unseen=unseen, guarded=retention.guarded)
            return found if theory is Theory.ARITHMETIC else replace(found, awaiting_null=retention.awaiting_null)
        shortfall = self._shortfall(block, operand) if self.memo is None else None
        return State(
            self.operator,
            stream,
            UNBOUNDED,
            Theory.WINDOWS,
            Proof(self._complaint(block, operand) if shortfall is None else shortfall),
            scope,
            _matched(block, operand),
            is_shortfall=shortfall is not None,
        )

    def _shortfall(self, block: Block, operand: Operand) -> str | None:
        """What a theory proves of an operand, and a run does not do, if that is why it is unbounded."""
        keeps = f"this version keeps every row of {operand.label}"
        if proved := list(self._theories(block, operand)):
            if (piles_up := self._retention(operand).piles_up) is not None:
                return piles_up
            _, proof, _ = min(proved, key=lambda option: badness(option[0]))
            return f"{keeps}, though by {listed(proof.declarations)} it could go" if proof.declarations else keeps
        is_counted = Theory.ARITHMETIC in self.theories and self._synopses.bound(operand) is not None
        return f"{keeps}, and does not count those together that are alike" if is_counted else None

    def _retention(self, operand: Operand) -> Retention:
        """What a run keeps of an operand. Where no run is asked about, the theories decide."""
        if self.form is None:
            return Retention(operand.label, ())
        stream = operand.window.stream.occurrence if operand.window else None
        return self.form.retention(stream or _scope(operand.relation), operand.label)

    def _complaint(self, block: Block, operand: Operand) -> str:
        """What keeps a row. A key ends its wait once the one row came that it joins, but that may never come.

        Example 1 of 004 takes for granted that it does: a bid's item is there. Here it has to be declared.
        """
        others = [other for other in block.others(operand) if not other.is_static]
        names = " or ".join(other.label for other in others)
        if isinstance(self.relation, Join) and len(others) == 1 and _joins_key(block, operand, others[0], self.catalog):
            wait = f"is kept until its row of {names} arrives, and nothing says that one arrives, or by when"
            return f"every row of {operand.label} {wait}"
        complaint = f"every row of {operand.label} is kept, because a row of {names} may always match it"
        if isinstance(self.relation, AntiJoin) and (tests := tuple(_null_tests(self.relation.on))):
            says = " and ".join(f"{expression_text(each)} IS NOT NULL" for each in tests)
            return f"{complaint}: to NOT IN a NULL may be any value. Add {says}, or write NOT EXISTS"
        return complaint

    def _counted(self, operand: Operand, scope: str) -> list[TheoryBound]:
        """Rows that are alike, counted together, where a run does so."""
        if Theory.ARITHMETIC not in self.theories or (found := self._synopses.bound(operand)) is None:
            return []
        stream = operand.window.stream.occurrence if operand.window else None
        is_done = self.form is None or self.form.has_buckets(self.operator, scope, stream)
        return [(*found, Theory.ARITHMETIC)] if is_done or self._grows_anyway(operand) else []

    def _grows_anyway(self, operand: Operand) -> bool:
        """Whether another operand has no bound at all: then it is what keeps a run from counting this one."""
        others = [other for other in block_of(self.relation).others(operand) if not other.is_static]
        return any(
            not content(other.relation, self.catalog).is_safe
            and self._synopses.bound(other) is None
            and not self._retention(other).goes
            for other in others
        )

    def _waits(self, block: Block, operand: Operand, retention: Retention) -> list[TheoryBound]:
        """How long rows are kept until they go: in the words of the theories, or else of the chain of closers."""
        found = list(islice(self._theories(block, operand), None if self.memo is None else 1))
        is_whole = retention.ends or all(_ends_in_time(other) for other in block.operands)
        is_chained = retention.is_certain and is_whole
        return found if found or self.form is None or not is_chained else [_chained(operand, retention)]

    def _theories(self, block: Block, operand: Operand) -> Iterator[TheoryBound]:
        if Theory.K_CONSTRAINTS in self.theories and (timed := self._timed(operand)) is not None:
            yield timed
        is_asked = Theory.PUNCTUATION in self.theories and self.memo is None
        if is_asked and (purged := self._purged(block, operand)) is not None:
            yield purged

    @cached_property
    def _synopses(self) -> ConstantSynopses:
        return self._once(self.above, lambda: constant_synopses(self.relation, self.above))

    def _once(self, what: Hashable, make: Callable[[], T]) -> T:
        return make() if self.memo is None else self.memo.once(self.relation, what, make)

    def _purged(self, block: Block, operand: Operand) -> TheoryBound | None:
        end = self.purging(block, operand).purge(operand)
        if end is None:
            return None
        claim = f"a row of {operand.label} goes once nothing can match it any more"
        steps = tuple(Proof(step) for step in end.steps)
        theory = Theory.K_CONSTRAINTS if end.open.kind is BoundKind.K else Theory.PUNCTUATION
        return end.open, Proof(claim, "theorem 3 of punctuation safety", end.leans_on, steps), theory

    def purging(self, block: Block, operand: Operand) -> Purging:
        """The block whose results need an operand's rows: for the right side of a semi-join, its left taken apart."""
        if isinstance(self.relation, Join) or operand.relation is not self.relation.right or not operand.window:
            if self._shared is None:
                self._shared = self._once("purging", lambda: Purging(block, self.catalog)).under(self.catalog)
            return self._shared
        left = flat_block(self.relation.left)
        return Purging(Block((*left.operands, operand), left.predicates + block.predicates), self.catalog)

    def _timed(self, operand: Operand) -> TheoryBound | None:
        """What k-constraints say. They speak of joins: what a semi- or anti-join takes back, they do not see."""
        if operand.window is None or (not isinstance(self.relation, Join) and not appends_only(self.relation.right)):
            return None
        if self.memo is not None and not tells_more(block_of(self.relation), self.catalog):
            return None
        found = self._analysis.bound(operand) if self._analysis is not None else None
        return None if found is None else (*found, Theory.K_CONSTRAINTS)

    @cached_property
    def _analysis(self) -> BlockAnalysis | None:
        block = block_of(self.relation)
        return self._once(known_constraints(block, self.catalog), lambda: analyse_block(block, self.catalog))


def _scope(relation: Relation) -> str:
    """What a message points at: a subresult is no piece of the text."""
    return input_scope(relation) if isinstance(relation, Materialised) else relation.schema[0].scope


def _ends_in_time(operand: Operand) -> bool:
    """Whether rows leave an operand only in time: a row of others that rows join waits until these leave."""
    return operand.is_static or (operand.window is not None and isinstance(operand.window.spec, Unbounded | Range))


def _chained(operand: Operand, retention: Retention) -> TheoryBound:
    """A bound in the words of the chain of closers."""
    claim = f"a row of {operand.label} goes once nothing can match it any more"
    steps = tuple(Proof(step.until) for step in retention.chain or () if step.until)
    theory = Theory.PUNCTUATION if retention.bound.kind is BoundKind.OPEN else Theory.K_CONSTRAINTS
    return retention.bound, Proof(claim, "theorem 3 of punctuation safety", retention.leans_on, steps), theory


def _null_tests(on: tuple[Expr, ...]) -> Iterator[Expr]:
    """What NOT IN asks whether it is NULL."""
    for predicate in on:
        for part in predicate.args if isinstance(predicate, Or) else ():
            if isinstance(part, IsNull):
                yield part.arg


def _joins_key(block: Block, operand: Operand, other: Operand, catalog: Catalog) -> bool:
    """Whether a row joins one row of the other operand at most: it is equal to it on a key."""
    own = frozenset(operand.relation.schema)
    views = [view for view in map(classify, block.predicates) if isinstance(view, ColumnEquality)]
    equal = {b for view in views for a, b in ((view.left, view.right), (view.right, view.left)) if a in own}
    return any(key <= equal for key in unique_keys(other.relation, catalog))


def _rows_of_window(relation: Relation) -> bool:
    """Whether its rows are some of a window's, which holds them already."""
    match relation:
        case Window(_, spec):
            return isinstance(spec, Range | Rows)
        case Select(below) | SemiJoin(left=below) | AntiJoin(left=below):
            return _rows_of_window(below)
    return False


def _matched(block: Block, operand: Operand) -> tuple[Column, ...]:
    own = frozenset(operand.relation.schema)
    crossing = [p for p in block.predicates if columns(p) & own and columns(p) - own]
    return tuple(dict.fromkeys(c for p in crossing for c in sorted(columns(p) & own, key=str)))

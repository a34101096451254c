"""What a join keeps of each operand: the least that windows and the three theories say.

A row is kept as long as a change of another operand may match it. Windows and finitely many rows bound it; so does
punctuation safety (a row that nothing can match any more), bounded memory (rows that are alike are counted together),
and a k-constraint (a row whose partner has had its time). Each operand takes the best of them: they may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TypeVar

from penstock.algebra.expressions import Column, Expr, IsNull, Or, columns, substitute
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    Project,
    Range,
    Relation,
    Rows,
    Select,
    SemiJoin,
    SetOp,
    ToStream,
    Window,
)
from penstock.catalog import Catalog
from penstock.closing import Purging
from penstock.closing.blocks import Block, Operand, block_of, flat_block
from penstock.closing.bounds import UNBOUNDED, BoundKind, badness
from penstock.closing.contents import appends_only, content, unique_keys
from penstock.closing.join_graphs import BlockAnalysis, analyse_block, known_constraints, tells_more
from penstock.closing.proof import Proof
from penstock.register.constant_synopses import ConstantSynopses, Needs
from penstock.register.memo import Memo
from penstock.register.states import State, StatefulOperator, Theory, TheoryBound

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JoinContext:
    """What reads the rows of a join: which of its columns, and whether duplicates count.

    `summed` are expressions that only a SUM, COUNT, AVG, MIN or MAX reads: sums of parts can stand for their values.
    """

    columns: frozenset[Column] = frozenset()
    summed: tuple[Expr, ...] = ()
    distinct: bool = False

    @staticmethod
    def of(root: Relation | ToStream) -> JoinContext:
        return JoinContext(frozenset(root.schema))

    def through(self, node: Relation) -> JoinContext:
        """What reads the rows of a node's inputs."""
        match node:
            case Project(_, outputs):
                read = frozenset(c for o in outputs if o.column in self.columns for c in columns(o.expr))
                inside = {output.column: output.expr for output in outputs}
                return replace(self, columns=read, summed=tuple(substitute(e, inside) for e in self.summed))
            case Aggregate(_, keys, aggregations):
                grouped = frozenset(column for key in keys for column in columns(key.expr))
                summed = [a.argument for a in aggregations if a.argument and _is_summed(a, node.input)]
                whole = [a.argument for a in aggregations if a.argument and not _is_summed(a, node.input)]
                read = frozenset(column for argument in whole for column in columns(argument))
                return JoinContext(grouped | read, tuple(summed))
            case Distinct(below):
                return JoinContext(frozenset(below.schema), (), distinct=True)
            case SetOp(left=left, right=right):
                return JoinContext(frozenset(left.schema) | frozenset(right.schema))
            case Select(predicates=on) | Join(on=on) | SemiJoin(on=on) | AntiJoin(on=on):
                return JoinContext(self.columns | frozenset(c for e in (*on, *self.summed) for c in columns(e)))
        return self


def _is_summed(aggregation: Aggregation, below: Relation) -> bool:
    """Whether partial results of an aggregate can be kept in place of values; a minimum of rows that leave cannot."""
    if aggregation.function in (AggregateFunction.MIN, AggregateFunction.MAX):
        return appends_only(below)
    return not aggregation.distinct


def constant_synopses(relation: Join | SemiJoin | AntiJoin, above: JoinContext) -> ConstantSynopses:
    """What the theory of bounded memory says of a join.

    Rows that leave take their results with them, so that DISTINCT has to count.
    """
    distinct = above.distinct and isinstance(relation, Join) and appends_only(relation)
    return ConstantSynopses(relation, block_of(relation), Needs(above.columns, above.summed, distinct))


def join_states(
    relation: Join | SemiJoin | AntiJoin,
    above: JoinContext,
    catalog: Catalog,
    theories: frozenset[Theory],
    memo: Memo | None = None,
) -> Iterator[State]:
    """What the join keeps beside its operands' windows. With a memo any bound will do, and not just the least."""
    block = block_of(relation) if memo is None else memo.once(relation, "block", lambda: block_of(relation))
    changing = [operand for operand in block.operands if not operand.is_static]
    if len(changing) < 2:
        return
    judge = _Judge(relation, above, catalog, theories, memo)
    if memo is not None:
        order = {name: number for number, name in enumerate(memo.suspects, start=1)}
        changing.sort(key=lambda operand: -order.get(operand.name, 0))
    for operand in changing:
        state = judge.state(block, operand)
        if state is not None:
            if memo is not None and not state.is_safe:
                memo.suspect(operand.name, judge.purging(block, operand))
            yield state


_HOLDERS = {Join: StatefulOperator.JOIN, SemiJoin: StatefulOperator.SEMI_JOIN, AntiJoin: StatefulOperator.ANTI_JOIN}


class _Judge:
    """Asks the theories about one join; what they say of all its operands at once is asked once."""

    def __init__(
        self,
        relation: Join | SemiJoin | AntiJoin,
        above: JoinContext,
        catalog: Catalog,
        theories: frozenset[Theory],
        memo: Memo | None = None,
    ) -> None:
        self.memo = memo
        self.relation = relation
        self.above = above
        self.catalog = catalog
        self.theories = theories
        self.holder = _HOLDERS[type(relation)]
        self._shared: Purging | None = None

    def state(self, block: Block, operand: Operand) -> State | None:
        held = content(operand.relation, self.catalog)
        stream = operand.window.stream.occurrence if operand.window else None
        scope = stream or operand.relation.schema[0].scope
        if held.is_safe:
            if _rows_of_window(operand.relation):
                return None
            return State(self.holder, stream, held, Theory.WINDOWS, Proof(f"the join keeps {held.words}"), scope)
        if self.memo is not None and self.purging(block, operand).is_purged(operand):
            return None
        found = (option for option in self._options(block, operand) if option is not None)
        options = list(found if self.memo is None else islice(found, 1))
        if options:
            bound, proof, theory = min(options, key=lambda option: badness(option[0]))
            return State(self.holder, stream, bound, theory, proof, scope)
        claim = self._complaint(block, operand)
        return State(self.holder, stream, UNBOUNDED, Theory.WINDOWS, Proof(claim), scope, _matched(block, operand))

    def _complaint(self, block: Block, operand: Operand) -> str:
        """What keeps a row. A key ends its wait once the one row came that it joins, but that may never come.

        Example 1 of 004 takes for granted that it does: a bid's item is there. Here it has to be declared.
        """
        others = [other for other in block.others(operand) if not other.is_static]
        names = " or ".join(other.label for other in others)
        if isinstance(self.relation, Join) and len(others) == 1 and _joins_key(block, operand, others[0], self.catalog):
            wait = f"is kept until its row of {names} comes, and nothing says that one comes, or by when"
            return f"every row of {operand.label} {wait}"
        complaint = f"every row of {operand.label} is kept, because a row of {names} may always match it"
        if isinstance(self.relation, AntiJoin) and (tests := tuple(_null_tests(self.relation.on))):
            says = " and ".join(f"{expression_text(each)} IS NOT NULL" for each in tests)
            return f"{complaint}: to NOT IN a NULL may be any value. Add {says}, or write NOT EXISTS"
        return complaint

    def _options(self, block: Block, operand: Operand) -> Iterator[TheoryBound | None]:
        if Theory.ARITHMETIC in self.theories:
            yield self._counted(operand)
        if Theory.K_CONSTRAINTS in self.theories:
            yield self._timed(operand)
        if Theory.PUNCTUATION in self.theories and self.memo is None:
            yield self._purged(block, operand)

    def _counted(self, operand: Operand) -> TheoryBound | None:
        found = self._synopses.bound(operand)
        return None if found is None else (*found, Theory.ARITHMETIC)

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

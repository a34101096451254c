"""What every operator holds: windows, groups, distinct values, set operations, and the rows that joins wait with.

The operators are those of thesis table 2.1. Each is asked for the least bound that a rule of its own finds: the rows of
a window, finitely many values, or that changes end. Joins of unbounded streams are handed to the theories, `joins.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from penstock.algebra.expressions import Column, Expr, columns
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.printing import expression_text
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    PartitionRows,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Shared,
    StreamKind,
    ToStream,
    Unbounded,
    Window,
    outermost_groups,
)
from penstock.catalog import Catalog
from penstock.closing import Ending, by_punctuations, ending
from penstock.closing.bounds import UNBOUNDED, Bound, BoundKind, badness, entries, least, plus, times
from penstock.closing.contents import (
    appends_only,
    content,
    groups,
    is_static,
    partitions,
    rates_of,
    supplying,
    values,
    window_rows,
)
from penstock.closing.finite import contradicts, count, finite, truths
from penstock.closing.group_retention import NOTHING_ENDS, GroupRetention
from penstock.closing.proof import Proof
from penstock.closing.retention import listed
from penstock.register.join_context import JoinContext
from penstock.register.joins import join_states
from penstock.register.memo import Memo
from penstock.register.physical_form import PhysicalForm
from penstock.register.states import ALL_THEORIES, State, StatefulOperator, Theory, TheoryBound


def states(query: Query, catalog: Catalog, theories: frozenset[Theory] = ALL_THEORIES) -> tuple[State, ...]:
    """All that a query in normal form holds, from its output down to its streams; joins by these theories only.

    With all theories it is what a run holds: no bound counts that its physical form does not keep to.
    """
    form = PhysicalForm(query.relation, catalog) if theories == ALL_THEORIES else None
    return tuple(_Walk(catalog, theories, form=form).root(query.root))


def is_safe(query: Query, catalog: Catalog, memo: Memo) -> bool:
    """Whether a query in normal form holds nothing without end; no more is worked out than that takes.

    A memo serves one query under any declarations.
    """
    memo.failed = None
    if not all(state.is_safe for state in _Walk(catalog, ALL_THEORIES, memo).root(query.root)):
        return False
    form = PhysicalForm(query.relation, catalog)
    return all(state.is_safe for state in _Walk(catalog, ALL_THEORIES, memo, form).root(query.root))


class _Walk:
    def __init__(
        self,
        catalog: Catalog,
        theories: frozenset[Theory],
        memo: Memo | None = None,
        form: PhysicalForm | None = None,
    ) -> None:
        self.memo = memo
        self.form = form
        self.catalog = catalog
        self.theories = theories
        #: Relations that are shared, by their identity.
        self._shared: set[int] = set()

    def root(self, root: Relation | ToStream) -> Iterator[State]:
        relation = root.input if isinstance(root, ToStream) else root
        if isinstance(root, ToStream) and root.kind is StreamKind.ON_CLOSE:
            yield from self._on_close(relation)
        if isinstance(root, ToStream) and root.kind is StreamKind.RSTREAM:
            yield self._rstream(relation)
        yield from self.below(relation, JoinContext.of(root))

    def below(self, relation: Relation, above: JoinContext) -> Iterator[State]:
        """The states of a relation and of all below it; `above` is what reads its rows."""
        if self._is_quiet(relation) or self._has_seen(relation):
            return
        match relation:
            case Window():
                yield from self._window(relation, relation)
            case Select(Window() as window):
                yield from self._window(window, relation)
            case Aggregate():
                yield from self._aggregate(relation)
            case Distinct():
                yield self._distinct(relation)
            case SetOp():
                yield from self._set_operation(relation)
            case Join() | SemiJoin() | AntiJoin():
                yield from join_states(relation, above, self.catalog, self.theories, self.memo, self.form)
        if not isinstance(relation, Window) and not (
            isinstance(relation, Select) and isinstance(relation.input, Window)
        ):
            context = above.through(relation)
            for below in relation.inputs:
                yield from self.below(below, context)

    def _has_seen(self, relation: Relation) -> bool:
        """Whether it is shared by a reader that came before."""
        if not isinstance(relation, Shared):
            return False
        seen = id(relation.input) in self._shared
        self._shared.add(id(relation.input))
        return seen

    def _is_quiet(self, relation: Relation) -> bool:
        """Whether it never changes, or never has a row."""
        if self.memo is not None:
            return self.memo.once(relation, "quiet", lambda: is_static(relation) or contradicts(truths(relation)))
        return is_static(relation) or contradicts(truths(relation))

    def _window(self, window: Window, filtered: Relation) -> Iterator[State]:
        match window.spec:
            case PartitionRows():
                yield self._partitioned(window, filtered)
            case Unbounded():
                return
            case _:
                bound = window_rows(window, self.catalog)
                held = Proof(f"the window holds {bound.words}", "", rates_of(window, self.catalog))
                yield _state(StatefulOperator.WINDOW, window.stream.occurrence, bound, held, window.stream.occurrence)

    def _partitioned(self, window: Window, filtered: Relation) -> State:
        assert isinstance(window.spec, PartitionRows)
        by, occurrence = window.spec.by, window.stream.occurrence
        counted = partitions(window, finite(filtered))
        rows = entries(window.spec.count, "row")
        names = _names(by)
        options = (
            [
                _option(
                    Bound(BoundKind.CONSTANT, f"{counted.words} of {occurrence}", counted.size),
                    Proof(f"{names} takes finitely many values", "values counted from the predicates"),
                    Theory.ARITHMETIC,
                )
            ]
            if counted.is_safe
            else []
        )
        end = self._ending(window, by)
        awaiting: list[list[Expr]] = []
        if end is not None:
            options.append(_ended(end, f"a partition by {names}", scaled=rows))
            kept = self._kept(StatefulOperator.WINDOW, occurrence)
            awaiting = list(_piling_up(kept.awaiting_null, by, filtered))
        because = Proof(
            f"the window keeps {rows.words} for every {names}, and nothing says that there are finitely many"
        )
        best = self._best(StatefulOperator.WINDOW, occurrence, options, because, occurrence, by)
        return _awaiting(best, awaiting, filtered)

    def _aggregate(self, node: Aggregate) -> Iterator[State]:
        keys = tuple(key.expr for key in node.keys)
        scope = node.schema[0].scope
        grouped = self._keyed(StatefulOperator.GROUP_BY, "group", keys, node, scope)
        yield grouped
        for number, aggregation in enumerate(node.aggregations):
            if _holds_values(aggregation, node.input):
                yield self._values(number, node, grouped, scope)

    def _values(self, number: int, node: Aggregate, grouped: State, scope: str) -> State:
        """DISTINCT, and MIN and MAX of rows that may leave, need the values of the group and not just a number."""
        aggregation = node.aggregations[number]
        assert aggregation.argument is not None
        argument, name = aggregation.argument, aggregation.function.value
        what = f"the values of {expression_text(argument)}"
        options = []
        rows = content(node.input, self.catalog)
        if rows.is_safe:
            bound = Bound(
                BoundKind.KEYS if rows.kind is not BoundKind.CONSTANT else rows.kind,
                f"{what} in {rows.words}",
                rows.size,
            )
            options.append(_option(bound, Proof(f"{what} are those of rows that are held anyway")))
        numbered = count(argument, finite(node.input))
        if numbered is not None and grouped.is_safe and grouped.bound.kind is not BoundKind.NONE:
            each = (
                entries(numbered.number, "value")
                if numbered.number is not None
                else Bound(BoundKind.CONSTANT, "values of a table")
            )
            options.append(
                _option(
                    times((grouped.bound, each)),
                    Proof(f"{expression_text(argument)} takes finitely many values"),
                    Theory.ARITHMETIC,
                )
            )
        keys = [key.expr for key in node.keys]
        end = self._ending(node.input, keys, at_last=True)
        # A group of NULL that is never closed is one group, but it keeps all its values.
        lasting = self._kept(StatefulOperator.GROUP_BY, scope).lasting_nulls
        if end is not None and not lasting:
            options.append(_ended(end, f"{what} in a group"))
        # A value that neither comes again nor leaves has been counted for good, in each group. Spark drops groups, but
        # no value of a group.
        forgets = aggregation.distinct and appends_only(node.input) and self.theories == ALL_THEORIES
        once = self._ending(node.input, [argument]) if forgets else None
        finer = self._kept(StatefulOperator.GROUP_BY, scope).values_of(number)
        # Of NULLs among the values, the last key, nothing is kept.
        if once is not None and grouped.is_safe and all(len(keys) in nulls for nulls in finer.lasting_nulls):
            options.append(_ended(once, f"one value of {expression_text(argument)}", scaled=grouped.bound))
        why = "DISTINCT" if aggregation.distinct else f"{name} of rows that may leave"
        because = Proof(f"{why} keeps {what}, and nothing bounds them")
        piling = tuple(columns(argument))
        if end is not None and lasting:
            nulls = [keys[place] for place in sorted(lasting[0])]
            because, piling = _with_null(f"{why} keeps {what}", nulls, node.input), _piling(nulls, node.input)
        best = self._best(StatefulOperator.AGGREGATE_VALUES, None, options, because, scope, piling)
        return _awaiting(best, self._values_awaiting(number, keys, scope), node.input)

    def _values_awaiting(self, number: int, keys: list[Expr], scope: str) -> list[list[Expr]]:
        """Keys such that the values in groups in which they are NULL end only by punctuations with NULL."""
        group = self._kept(StatefulOperator.GROUP_BY, scope)
        finer = group.values_of(number)
        ended = finer.awaiting_null if finer.ending is not None else group.awaiting_null
        return [[keys[place] for place in sorted(nulls)] for nulls in ended if len(keys) not in nulls]

    def _distinct(self, node: Distinct) -> State:
        return self._keyed(StatefulOperator.DISTINCT, "row", node.schema, node, node.schema[0].scope)

    def _keyed(
        self, operator: StatefulOperator, noun: str, keys: tuple[Expr, ...], node: Aggregate | Distinct, scope: str
    ) -> State:
        """One entry per combination of values that is there, or that still may change."""
        below = node.input
        if not keys:
            return _state(operator, None, entries(1, noun), Proof("without GROUP BY there is one group"), scope)
        names = _texts(keys, below)
        options = []
        counted = values(keys, finite(below))
        if counted is not None:
            bound = entries(counted.size, noun) if counted.size is not None else counted
            options.append(
                _option(
                    bound,
                    Proof(f"{names} takes finitely many values", "values counted from the predicates"),
                    Theory.ARITHMETIC,
                )
            )
        rows = least((content(below, self.catalog), supplying(keys, below, self.catalog)))
        if rows.is_safe:
            bound = groups(keys, below, self.catalog)
            options.append(_option(bound, Proof(f"a {noun} is there as long as one of {rows.words} has it")))
        what = f"one {noun} is kept for every value of {names}"
        because = Proof(f"{what}, and nothing says that there are finitely many or that they end")
        piling = _piling(keys, below)
        end = self._ending(below, keys)
        if end is not None:
            nulls = self._lasting_nulls(operator, scope, keys, below)
            if nulls:
                rest = _texts([key for key in keys if key not in nulls], below)
                what = f"one {noun} is kept for every value of {rest}"
                because, piling = _with_null(what, nulls, below), _piling(nulls, below)
            else:
                options.append(_ended(end, f"a {noun} with one value of {names}"))
        best = self._best(operator, None, options, because, scope, piling)
        return _awaiting(best, _piling_up(self._kept(operator, scope).awaiting_null, keys, below), below)

    def _kept(self, operator: StatefulOperator, scope: str) -> GroupRetention:
        """What a run keeps of groups, distinct values or rows of a set operation."""
        return NOTHING_ENDS if self.form is None else self.form.groups(operator, scope)

    def _lasting_nulls(
        self, operator: StatefulOperator, scope: str, keys: tuple[Expr, ...], below: Relation
    ) -> list[Expr]:
        """Keys such that the entries in which they are NULL are never closed, and are not finitely many."""
        return next(_piling_up(self._kept(operator, scope).lasting_nulls, keys, below), [])

    def _set_operation(self, node: SetOp) -> Iterator[State]:
        if node.op is SetOperator.UNION and node.all:
            return
        scope = node.columns[0].scope
        names = ", ".join(column.name for column in node.columns)
        options = []
        for side in _deciding(node):
            counted = values(side.schema, finite(side))
            if counted is not None:
                options.append(_option(counted, Proof(f"{names} takes finitely many values"), Theory.ARITHMETIC))
        rows = plus((content(node.left, self.catalog), content(node.right, self.catalog)))
        if rows.is_safe:
            options.append(
                _option(
                    Bound(BoundKind.KEYS if rows.kind is not BoundKind.CONSTANT else rows.kind, rows.words, rows.size),
                    Proof("both sides are bounded"),
                )
            )
        because = Proof(f"{node.op.value} remembers every row ({names}) of both sides, and nothing says that they end")
        piling = node.columns
        end = self._ending(node, node.columns)
        if end is not None:
            nulls = self._lasting_nulls(StatefulOperator.SET_OPERATION, scope, node.columns, node)
            if nulls:
                what = f"{node.op.value} remembers every row ({names}) of both sides"
                because, piling = _with_null(what, nulls, node), tuple(_computed(nulls, node))
            else:
                options.append(_ended(end, f"a row ({names})"))
        best = self._best(StatefulOperator.SET_OPERATION, None, options, because, scope, piling)
        kept = self._kept(StatefulOperator.SET_OPERATION, scope)
        yield _awaiting(best, _piling_up(kept.awaiting_null, node.columns, node), node)

    def _rstream(self, relation: Relation) -> State:
        rows = content(relation, self.catalog)
        if rows.is_safe:
            return _state(
                StatefulOperator.RSTREAM, None, rows, Proof("RSTREAM gives the whole result at every instant"), ""
            )
        because = Proof("RSTREAM gives the whole result at every instant, and the result grows without end")
        return State(StatefulOperator.RSTREAM, None, UNBOUNDED, Theory.WINDOWS, because, "", relation.schema)

    def _on_close(self, relation: Relation) -> Iterator[State]:
        """Groups that show when they close have to, be they ever so few."""
        if self.form is None:
            return
        for grouped in outermost_groups(relation):
            keys, scope = tuple(key.expr for key in grouped.keys), grouped.schema[0].scope
            groups, piling = self.form.on_close(scope), _piling(keys, grouped.input)
            for because in self._never_shown(groups, keys, grouped.input):
                unbounded = State(StatefulOperator.GROUP_BY, None, UNBOUNDED, Theory.WINDOWS, because, scope, piling)
                yield replace(unbounded, has_no_plan=not groups.shows)
            for end in groups.lasting_punctuations:
                names = _texts((keys[key] for key in end.keys if key < len(keys)), grouped.input)
                kept = f"one punctuation is kept for every value of {names} that {end.scheme} closes"
                because = Proof(f"{kept}, because a group with it may always arrive")
                yield State(StatefulOperator.GROUP_BY, None, UNBOUNDED, Theory.WINDOWS, because, scope, piling)

    def _never_shown(self, groups: GroupRetention, keys: tuple[Expr, ...], below: Relation) -> Iterator[Proof]:
        """Why EMIT ON CLOSE shows no group at all, or none in which some keys are NULL."""
        if not groups.shows:
            names = _texts(keys, below)
            yield Proof(f"EMIT ON CLOSE waits for each group by {names} to close, and nothing says that it will")
        for nulls in groups.lasting_nulls[:1]:
            yield _with_null(
                "EMIT ON CLOSE waits for each group to close", [keys[number] for number in sorted(nulls)], below
            )

    def _ending(self, relation: Relation, keys: Iterable[Expr], at_last: bool = False) -> Ending | None:
        """How changes end; as in a run by punctuations and times if these will do, and not after numbers of rows."""
        keys = tuple(keys)
        if self.form is not None and (found := ending(relation, keys, self._without_rows, at_last)) is not None:
            return found
        return ending(relation, keys, self.catalog, at_last)

    @cached_property
    def _without_rows(self) -> Catalog:
        return by_punctuations(self.catalog)

    def _best(
        self,
        operator: StatefulOperator,
        stream: str | None,
        options: list[TheoryBound],
        because: Proof,
        scope: str,
        piling: Iterable[Column],
    ) -> State:
        """The least bound that a run keeps to, or that is its by declaration."""
        done = [option for option in options if self._is_done(operator, scope, option)]
        if done:
            bound, proof, theory = min(done, key=lambda option: badness(option[0]))
            waits = self.form is not None and theory in (Theory.PUNCTUATION, Theory.K_CONSTRAINTS)
            unseen = self._unseen(operator, scope, proof) if waits else ()
            return State(operator, stream, bound, theory, proof, scope, unseen=unseen)
        if options:
            because = Proof(_shortfall(because, *min(options, key=lambda option: badness(option[0]))))
        shortfall = bool(options)
        return State(operator, stream, UNBOUNDED, Theory.WINDOWS, because, scope, tuple(piling), is_shortfall=shortfall)

    def _is_done(self, operator: StatefulOperator, scope: str, option: TheoryBound) -> bool:
        """Whether a run keeps to a bound, or would if it saw what is declared."""
        _, _, theory = option
        if self.form is None:
            return True
        match theory:
            case Theory.PUNCTUATION | Theory.K_CONSTRAINTS:
                return self.form.ends(operator, scope, by_declaration=True)
            case Theory.ARITHMETIC:
                return operator is not StatefulOperator.SET_OPERATION or self.form.is_narrow(scope)
        return True

    def _unseen(self, operator: StatefulOperator, scope: str, proof: Proof) -> tuple[str, ...]:
        """The declarations of a bound of which no run sees anything, where that matters."""
        assert self.form is not None
        if self.form.ends(operator, scope):
            return ()
        found = tuple(lean for lean in proof.declarations if lean in self.form.unseen)
        return found or tuple(sorted(self.form.unseen))


def _shortfall(because: Proof, _: Bound, proof: Proof, theory: Theory) -> str:
    """What a theory proves of a piece of state, and a run does not do."""
    kept = because.claim.partition(", and nothing")[0]
    if theory is Theory.ARITHMETIC:
        return f"in this version {kept}, also of those that the other side cannot have"
    return f"in this version {kept}, though by {listed(proof.declarations)} they end"


def _piling_up(nulls: Iterable[frozenset[int]], keys: tuple[Expr, ...], below: Relation) -> Iterator[list[Expr]]:
    """Of sets of keys those such that the entries in which they are NULL are not finitely many."""
    for places in nulls:
        rest = [key for number, key in enumerate(keys) if number not in places]
        if rest and values(rest, finite(below)) is None:
            yield [keys[number] for number in sorted(places)]


def _awaiting(state: State, nulls: Iterable[list[Expr]], below: Relation) -> State:
    """A piece of state that goes by punctuations, and where keys are NULL only by those with NULL."""
    if not state.is_safe or state.by not in (Theory.PUNCTUATION, Theory.K_CONSTRAINTS):
        return state
    texts = (tuple(map(expression_text, _computing(keys, below))) for keys in nulls)
    return replace(state, awaiting_null=tuple(texts))


def _with_null(what: str, nulls: list[Expr], below: Relation) -> Proof:
    """Why entries pile up that are closed only where they have values."""
    null = _texts(nulls, below)
    them = "they are" if len(nulls) > 1 else "it is"
    return Proof(
        f"{what} where {null} {'are' if len(nulls) > 1 else 'is'} NULL, and nothing says that {them} NULL no more"
    )


def _computed(some: Iterable[Expr], node: SetOp) -> Iterator[Column]:
    """The columns from which both sides of a set operation compute some of its columns."""
    for side in node.inputs:
        own = {column: of for column, of in zip(node.columns, side.schema, strict=True) if column in some}
        yield from _piling(own.values(), side)


def _deciding(node: SetOp) -> tuple[Relation, ...]:
    """What has to take finitely many values: a row that is not on the left side of EXCEPT does not matter."""
    match node.op:
        case SetOperator.UNION:
            return (node,)
        case SetOperator.EXCEPT:
            return (node.left,)
        case SetOperator.INTERSECT:
            return (node.left, node.right)


def _holds_values(aggregation: Aggregation, below: Relation) -> bool:
    if aggregation.argument is None:
        return False
    extreme = aggregation.function in (AggregateFunction.MIN, AggregateFunction.MAX)
    if extreme:
        return not appends_only(below)  # DISTINCT changes nothing of a minimum
    return aggregation.distinct


def _option(bound: Bound, proof: Proof, theory: Theory = Theory.WINDOWS) -> TheoryBound:
    return bound, proof, theory


def _ended(end: Ending, what: str, scaled: Bound | None = None) -> TheoryBound:
    """What is kept until changes end."""
    bound = end.open if scaled is None or scaled.size == 1 else times((end.open, scaled))
    if end.by_time and bound.kind is BoundKind.WINDOW:
        bound = Bound(BoundKind.WINDOW, f"what is open in {bound.words}", bound.size)
    steps = tuple(Proof(step) for step in end.steps)
    return bound, Proof(f"{what} ends", "theorem 3 of punctuation safety", end.leans_on, steps), Theory.PUNCTUATION


def _state(operator: StatefulOperator, stream: str | None, bound: Bound, proof: Proof, scope: str) -> State:
    return State(operator, stream, bound, Theory.WINDOWS, proof, scope)


def _names(by: Iterable[Column]) -> str:
    return ", ".join(column.name for column in by)


def _texts(keys: Iterable[Expr], below: Relation) -> str:
    """Keys in the user's words."""
    return ", ".join(expression_text(key) for key in _computing(keys, below))


def _piling(keys: Iterable[Expr], below: Relation) -> tuple[Column, ...]:
    return tuple(dict.fromkeys(c for key in _computing(keys, below) for c in sorted(columns(key), key=str)))


def _computing(keys: Iterable[Expr], below: Relation) -> list[Expr]:
    """What computes the keys, where a projection below does."""
    computed = {o.column: o.expr for o in below.outputs} if isinstance(below, Project) else {}
    return [computed.get(key, key) if isinstance(key, Column) else key for key in keys]

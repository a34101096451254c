"""Groups that end: from some time on, or after punctuations, no more row has their keys. Then nothing of them is kept.

What they showed stays in the result, since nothing will change it. The register asks the same of any relation
(`register/closing/`); here it is answered for GROUP BY, DISTINCT and set operations over all rows of one stream or of a
join of streams, and over what is filtered, renamed, grouped, made distinct, combined or matched of them. An input of a
join is closed by its own punctuations or times; a while after another input, which its rows follow; or because by
UNIQUE it has just one row of the group, which is there. A join that forgets knows more: for which values it gives no
more results.

A group that stays open may have values that do not: of COUNT(DISTINCT x) an x that comes no more is counted for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from penstock.algebra.expressions import Column, Expr, columns, substitute
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.predicates import Equality, classify, unwidened
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    Distinct,
    Output,
    Project,
    Relation,
    Select,
    SetOp,
    SetOperator,
    Table,
    Unbounded,
    rewrite_relation,
)
from penstock.catalog import Catalog, Punctuated, StreamDef, Unique, WithinTime
from penstock.closing import never_falls, referring_punctuations, rules
from penstock.closing.evidence import of_fixed, values_of
from penstock.closing.group_closers import (
    AfterInput,
    AfterJoin,
    AfterPunctuation,
    Closer,
    Ending,
    EndingValues,
    InTime,
    NeverNull,
    Seen,
)
from penstock.closing.join_variables import is_monotone, join_variables
from penstock.closing.nulls import has_value, null_never_punctuated, with_values
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.purging import rules_of, with_purging
from penstock.closing.rules import ByPunctuation, Rule
from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Declared:
    """What groups may end by: what is declared; with `certain` nothing that leans on a k.

    With `emits` they show when they close, and must not close later than they could.
    """

    catalog: Catalog
    certain: bool = False
    emits: bool = False


def with_endings(relation: Relation, declared: Declared) -> Relation:
    """The physical relation with groups that end, where something says so."""
    return rewrite_relation(relation, lambda node: _ending(node, declared))


def ending_of_groups(node: Aggregate | Distinct | SetOp, declared: Declared) -> Ending | None:
    """How the entries of a physical operator end, if they do."""
    found = _ending(node, declared)
    if not (isinstance(found, Ending) and found.closes_groups) and isinstance(node.inputs[0], PhysicalJoin):
        # A join that purges tells for which values it gives no more results.
        found = _ending(node.with_inputs((with_purging(node.inputs[0], declared.catalog), *node.inputs[1:])), declared)
    return found if isinstance(found, Ending) else None


def emitting(relation: Relation) -> Relation:
    """The relation whose outermost groups show when they close (EMIT ON CLOSE)."""
    if isinstance(relation, Select | Project | Keep):
        return relation.with_inputs((emitting(relation.input),))
    if isinstance(relation, Ending) and relation.closers:
        return replace(relation, after_join=(), emits=True)
    raise PenstockError(
        "EMIT ON CLOSE gives a group when it closes, and nothing shows when these do",
        "group by a time such as DATE_TRUNC('HOUR', ts), or by columns that each stream has punctuations of: "
        "PUNCTUATED BY (...) WHEN ...; a stream with UNIQUE on them needs none",
    )


def named_rows_that_others_follow(join: PhysicalJoin, keys: tuple[Expr, ...], declared: Declared) -> Iterator[Column]:
    """The times of rows that keys of a physical join name by UNIQUE, and that rows of other inputs follow in time."""
    yield from _Closers(join, keys, declared).times_of_named_rows()


def _ending(node: Relation, declared: Declared) -> Relation:
    if isinstance(node, SetOp):
        return _ending_sides(node, declared)
    if not isinstance(node, Aggregate | Distinct):
        return node
    if not is_monotone(node.input):
        return _ending_for_good(node, declared)
    groups = _ending_groups(node, declared)
    values = tuple(_ending_values(groups, declared)) if isinstance(groups.input, Aggregate) else ()
    return replace(groups, values=values) if values or groups.closes_groups else node


def _ending_for_good(node: Aggregate | Distinct, declared: Declared) -> Relation:
    """Groups of rows that may be taken back, which end when nothing below them changes any more."""
    keys = tuple(key.expr for key in node.keys) if isinstance(node, Aggregate) else node.input.schema
    closers, evidence = _closed(node.input, keys, declared, is_there=False)
    return Ending(node, closers, (), evidence) if closers else node


def _ending_groups(node: Aggregate | Distinct, declared: Declared) -> Ending:
    keys = tuple(key.expr for key in node.keys) if isinstance(node, Aggregate) else node.input.schema
    closers, evidence = _closed(node.input, keys, declared, is_there=True)
    if not declared.emits:
        closers, evidence = _without_lasting(closers, evidence, node.input)
    joined = () if closers else tuple(_after_join(node.input, keys))
    return Ending(node, closers, joined, evidence)


def _without_lasting(closers: _EachInput, evidence: tuple[Scan, ...], grouped: Relation) -> _Closed:
    """Without punctuations that would have to be remembered indefinitely, where an input has other closers.

    One is forgotten when all inputs are closed for its values, or the join below is done with them.
    """
    read = grouped.evidence if isinstance(grouped, PhysicalJoin) else ()
    found = [list(own) for own in closers]
    for own in found:
        for closer in [each for each in own if isinstance(each, AfterPunctuation)]:
            others = [each for each in own if each is not closer and not isinstance(each, NeverNull)]
            is_shared = any(closer.evidence == each.evidence and each.reach for each in _punctuations(closers))
            is_forgotten = evidence[closer.evidence] in read or _all_close(closers, frozenset(closer.keys))
            if others and not is_shared and not is_forgotten:
                own.remove(closer)
    used = sorted({each.evidence for each in _punctuations(found)})
    kept = [
        [replace(c, evidence=used.index(c.evidence)) if isinstance(c, AfterPunctuation) else c for c in own]
        for own in found
    ]
    return tuple(map(tuple, kept)), tuple(evidence[number] for number in used)


def _punctuations(closers: Iterable[Iterable[Closer]]) -> Iterator[AfterPunctuation]:
    return (closer for own in closers for closer in own if isinstance(closer, AfterPunctuation))


def _all_close(closers: _EachInput, known: frozenset[int]) -> bool:
    """Whether these keys alone say when each input is closed, for whoever has them."""
    closed = {number for number, own in enumerate(closers) if any(_speaks(closer, known) for closer in own)}
    return all(
        number in closed or any(isinstance(c, AfterInput) and c.source in closed for c in own)
        for number, own in enumerate(closers)
    )


def _speaks(closer: Closer, known: frozenset[int]) -> bool:
    match closer:
        case InTime(key):
            return key in known
        case AfterPunctuation(keys):
            return known.issuperset(keys)
    return False


def keeps_values(aggregation: Aggregation) -> bool:
    """Of a set, MIN and MAX are as of a bag, and over rows that only come they are one value."""
    return aggregation.distinct and aggregation.function not in (AggregateFunction.MIN, AggregateFunction.MAX)


def _ending_values(grouping: Ending, declared: Declared) -> Iterator[EndingValues]:
    """The aggregates that keep values which end sooner than their groups: by the value, too."""
    node = grouping.input
    assert isinstance(node, Aggregate)
    for number, aggregation in enumerate(node.aggregations):
        if aggregation.argument is not None and keeps_values(aggregation):
            column = replace(aggregation.column, type=aggregation.argument.type)
            finer = Aggregate(node.input, (*node.keys, Output(column, aggregation.argument)), ())
            groups = _ending_groups(finer, declared)
            if (groups.closers, groups.after_join) != (grouping.closers, grouping.after_join):
                yield EndingValues(number, groups)


def _ending_sides(node: SetOp, declared: Declared) -> Relation:
    """A set operation whose rows end: both sides are closed for all their values."""
    closers, evidence = _closed(node, node.schema, declared, is_there=False)
    is_kept = not (node.op is SetOperator.UNION and node.all)
    return Ending(node, closers, (), evidence) if closers and is_kept else node


#: Of each stream what closes it, and the evidence that they read; nothing, if one of them is not closed for sure.
_EachInput = tuple[tuple[Closer, ...], ...]
_Closed = tuple[_EachInput, tuple[Scan, ...]]


def _closed(relation: Relation, keys: tuple[Expr, ...], declared: Declared, *, is_there: bool) -> _Closed:
    """What closes a relation for values of expressions; `is_there`: it has a row with them.

    What is filtered, renamed or made distinct changes only with what it is made of.
    """
    match relation:
        case Select(below) | Keep(below) | Distinct(below) | Ending(below):
            return _closed(below, keys, declared, is_there=is_there)
        case Project(below, outputs):
            inside = {output.column: output.expr for output in outputs}
            keys = tuple(substitute(key, inside) for key in keys)
            return _closed(below, keys, declared, is_there=is_there)
        case SetOp():
            return _closed_sides(relation, keys, declared)
        case Aggregate(below, own):
            computed = {output.column: output.expr for output in own}
            return _closed(below, tuple(substitute(key, computed) for key in keys), declared, is_there=is_there)
        case PhysicalJoin(JoinKind.SEMI | JoinKind.ANTI, (left, right), on):
            return _closed_both(left, right, on, keys, declared)
    found = _Closers(relation, keys, declared)
    closers = found.complete(is_there)
    return closers, tuple(found.evidence) if closers else ()


def _closed_both(
    left: Relation, right: Relation, on: tuple[Expr, ...], keys: tuple[Expr, ...], declared: Declared
) -> _Closed:
    """The left side's rows change with what matches them: of both sides no more may come. No row need be there."""
    views = [view for view in map(classify, on) if isinstance(view, Equality)]
    matching = {a: b for v in views for a, b in ((v.left, v.right), (v.right, v.left)) if b in right.schema}
    own, told = _closed(left, keys, declared, is_there=False)
    matched = tuple(matching.get(key, key) if isinstance(key, Column) else key for key in keys)
    theirs, also = _closed(right, matched, declared, is_there=False)
    if not own or not (theirs or isinstance(right, Table)):
        return (), ()
    # What is compared with NULL matches nothing.
    compared = NeverNull(frozenset(number for number, key in enumerate(keys) if key in matching))
    theirs = tuple((*(_renumbered(c, len(own), len(told)) for c in each), compared) for each in theirs)
    return own + theirs, told + also


def _closed_sides(node: SetOp, keys: tuple[Expr, ...], declared: Declared) -> _Closed:
    """A row may be of one side alone."""
    closers: list[tuple[Closer, ...]] = []
    evidence: list[Scan] = []
    alone: dict[int, _Alone] = {}
    for side in node.inputs:
        inside: dict[Column, Expr] = dict(zip(node.schema, side.schema, strict=True))
        own_keys = tuple(substitute(key, inside) for key in keys)
        own, told = _closed(side, own_keys, declared, is_there=False)
        if (one := _alone(side, own_keys)) is not None:
            alone[len(closers)] = one
            own = own or ((),)
        if not own and not isinstance(side, Table):
            return (), ()
        closers += [tuple(_renumbered(c, len(closers), len(evidence)) for c in each) for each in own]
        evidence += told
    if not declared.certain:
        for (number, one), (_, other) in product(alone.items(), alone.items()):
            closers[number] += tuple(_referred_to(one, other, evidence, declared)) if one is not other else ()
    return (tuple(closers), tuple(evidence)) if all(closers) else ((), ())


#: All rows of a stream, which are a side by themselves, and the keys over its columns.
_Alone = tuple[Scan, tuple[Expr, ...]]


def _alone(side: Relation, keys: tuple[Expr, ...]) -> _Alone | None:
    match side:
        case Select(below) | Keep(below) | Distinct(below) | Ending(below):
            return _alone(below, keys)
        case Project(below, outputs):
            return _alone(below, _inside(keys, outputs))
        case Scan(spec=Unbounded(), outputs=outputs):
            return side, _inside(keys, outputs)
    return None


def _inside(keys: tuple[Expr, ...], outputs: tuple[Output, ...]) -> tuple[Expr, ...]:
    computed = {output.column: unwidened(output.expr) for output in outputs}
    return tuple(substitute(key, computed) for key in keys)


def _referred_to(one: _Alone, other: _Alone, evidence: list[Scan], declared: Declared) -> Iterator[AfterPunctuation]:
    """What closes a stream after punctuations of another that are rows of it, and refer to rows of the first."""
    (scan, keys), (referring, own_keys) = one, other
    catalog = declared.catalog
    definition = catalog.get(referring.stream.name)
    assert isinstance(definition, StreamDef)
    for scheme, reference in referring_punctuations(definition, scan.stream.name):
        places = [_place_of(name, referring, own_keys) for name in scheme.columns]
        pairs = zip(reference.columns, reference.parent_columns, strict=True)
        agree = all(_place_of(a, referring, own_keys) == _place_of(b, scan, keys) is not None for a, b in pairs)
        punctuations = values_of(definition, scheme, catalog)
        if agree and None not in places and punctuations in evidence:
            assert isinstance(reference.within, WithinTime)
            told = tuple(place for place in places if place is not None)
            # A row with NULL refers to none.
            placed = zip(scheme.columns, told, strict=True)
            refers = {name.lower() for name in reference.columns}
            never = frozenset(place for name, place in placed if name.lower() in refers)
            yield AfterPunctuation(told, evidence.index(punctuations), reference.within.microseconds, never)


def _place_of(name: str, scan: Scan, keys: tuple[Expr, ...]) -> int | None:
    """Which of the keys is that column of a stream."""
    (column,) = (column for column in scan.stream.schema if column.name.lower() == name.lower())
    return next((number for number, key in enumerate(keys) if key == column), None)


def _renumbered(closer: Closer, inputs: int, evidence: int) -> Closer:
    """The closer behind so many other inputs, and so much evidence."""
    match closer:
        case AfterInput(source, reach):
            return AfterInput(source + inputs, reach)
        case AfterPunctuation(_, number):
            return replace(closer, evidence=number + evidence)
    return closer


def _after_join(join: Relation, keys: tuple[Expr, ...]) -> Iterator[AfterJoin]:
    if not isinstance(join, PhysicalJoin):
        return
    variables = join_variables(join)
    for number, rule in enumerate(join.rules):
        if isinstance(rule, ByPunctuation):
            places = [next((n for n, key in enumerate(keys) if key in variables[v]), None) for v in rule.variables]
            if None not in places:
                yield AfterJoin(tuple(place for place in places if place is not None), number)


class _Closers:
    """What closes the inputs of what is grouped by these keys."""

    def __init__(self, grouped: Relation, keys: tuple[Expr, ...], declared: Declared) -> None:
        self._catalog = declared.catalog
        self.evidence: list[Scan] = []
        self._operands = grouped.operands if isinstance(grouped, PhysicalJoin) else (grouped,)
        self._variables = join_variables(grouped) if isinstance(grouped, PhysicalJoin) else []
        self._rules: tuple[Rule, ...] = (
            rules_of(grouped, self._catalog, declared.certain) if isinstance(grouped, PhysicalJoin) else ()
        )
        self._inside = {o.column: unwidened(o.expr) for scan in self._scans().values() for o in scan.outputs}
        #: Of each key all that is equal to it, over columns of streams.
        self._keys = [{substitute(same, self._inside) for same in self._same(key)} for key in keys]
        self._never_null = frozenset(self._without_null(grouped))

    def complete(self, is_there: bool) -> tuple[tuple[Closer, ...], ...]:
        """Of each input what closes it; nothing if one is not closed for sure. `is_there`: a group has rows of each."""
        scans = self._scans()
        if len(scans) + sum(isinstance(operand, Table) for operand in self._operands) < len(self._operands):
            return ()
        seen, order = self._seen() if is_there else set(), list(scans)
        found: dict[int, list[Closer]] = {number: list(self._own(scan)) for number, scan in scans.items()}
        closed = {number for number, own in found.items() if own}
        for number in scans:
            for rule in self._rules:
                # The rules have the shortest of all ways, so one step from an input with closers of its own is enough.
                match rule:
                    case rules.InTime(target, source, int(reach)) if target == number and source in closed:
                        found[number].append(AfterInput(order.index(source), reach))
            found[number] += [Seen()] * (number in seen)
        if not all(found.values()):
            return ()
        no_null = (NeverNull(self._never_null),) if self._never_null else ()
        return tuple((*own, *no_null) for own in found.values())

    def times_of_named_rows(self) -> Iterator[Column]:
        """Those that are no keys, of rows that the keys name and that others follow."""
        sources = {r.source for r in self._rules if isinstance(r, rules.InTime) and isinstance(r.reach, int)}
        known = {expr for same in self._keys for expr in same}
        for number in sorted(self._seen() & sources):
            time = self._scans()[number].stream.timestamp
            if time not in known:
                yield time

    def _scans(self) -> Mapping[int, Scan]:
        return {
            number: operand
            for number, operand in enumerate(self._operands)
            if isinstance(operand, Scan) and isinstance(operand.spec, Unbounded)
        }

    def _same(self, key: Expr) -> Iterable[Expr]:
        """The key, and the columns that the join makes equal to it."""
        for variable in self._variables:
            if key in variable:
                return {column for column in variable if column is not None}
        return {key}

    def _without_null(self, grouped: Relation) -> Iterator[int]:
        """The keys that are never NULL."""
        known = {self._inside.get(column, column) for column in with_values(grouped, self._catalog)}
        times = frozenset(scan.stream.timestamp for scan in self._scans().values())
        for number, same in enumerate(self._keys):
            if any(has_value(expr, known, times) for expr in same):
                yield number

    def _own(self, scan: Scan) -> Iterator[Closer]:
        stream = scan.stream
        for number, same in enumerate(self._keys):
            for expr in same:
                if columns(expr) == {stream.timestamp} and never_falls(expr):
                    yield InTime(number, expr, stream.timestamp, stream.unit)
        definition = self._catalog.get(stream.name)
        assert isinstance(definition, StreamDef)
        for scheme in definition.constraints:
            # After a lifespan the values may come again.
            if isinstance(scheme, Punctuated) and scheme.lifespan is None:
                yield from self._punctuated(scan, definition, scheme)

    def _punctuated(self, scan: Scan, definition: StreamDef, scheme: Punctuated) -> Iterator[AfterPunctuation]:
        punctuations = values_of(definition, scheme, self._catalog)
        if punctuations is None:
            return
        named = {column.name.lower(): column for column in scan.stream.schema}
        without = null_never_punctuated(scheme, definition, self._catalog)
        whole = scheme.columns, punctuations
        for names, told in (whole, of_fixed(punctuations, scheme.columns, scan) or whole):
            places = [self._place(named[name.lower()]) for name in names]
            if None not in places:
                keys = tuple(place for place in places if place is not None)
                never = frozenset(key for key, name in zip(keys, names, strict=True) if name.lower() in without)
                self.evidence.append(told)
                yield AfterPunctuation(keys, len(self.evidence) - 1, never_null=never)
                return

    def _place(self, column: Column) -> int | None:
        return next((number for number, same in enumerate(self._keys) if column in same), None)

    def _seen(self) -> set[int]:
        """The inputs that have one row of a group: by UNIQUE its keys name it, or a row that they name does."""
        known = {expr for same in self._keys for expr in same}
        seen, before = set[int](), None
        while seen != before:
            before = set(seen)
            for number, scan in self._scans().items():
                if number not in seen and _names_row(scan, known, self._catalog):
                    seen.add(number)
                    equal = (same for column in scan.schema for same in self._same(column))
                    known |= {substitute(expr, self._inside) for expr in equal}
        return seen


def _names_row(scan: Scan, known: set[Expr], catalog: Catalog) -> bool:
    """Whether known columns name one row of a stream."""
    definition = catalog.get(scan.stream.name)
    assert isinstance(definition, StreamDef)
    named = {column.name.lower(): column for column in scan.stream.schema}
    keys = (constraint.columns for constraint in definition.constraints if isinstance(constraint, Unique))
    return any(all(named[name.lower()] in known for name in key) for key in keys)

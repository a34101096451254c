"""When a relation's changes end: no more of them have certain values, or times up to some instant.

Punctuation safety (004) asks it of a stored row: may something still come that joins it? A group, a distinct value or
a row of a computed relation is asked the same, as a stream of its own that is equal to them on some columns. So one
theory answers for joins, GROUP BY and DISTINCT, with declared punctuations, watermarks, and what k-constraints close.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.algebra.expressions import (
    Arithmetic,
    Call,
    Cast,
    Column,
    Comparator,
    Expr,
    In,
    Literal,
    Operator,
)
from penstock.algebra.predicates import Bound as BoundView
from penstock.algebra.predicates import Difference as DifferenceView
from penstock.algebra.predicates import Equality as EqualityView
from penstock.algebra.predicates import classify
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    PartitionRows,
    Project,
    Range,
    Relation,
    Rows,
    Select,
    SetOp,
    Unbounded,
    Window,
)
from penstock.catalog import (
    Catalog,
    Clustered,
    Constraint,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    WithinRows,
    WithinTime,
)
from penstock.register.blocks import Block, Operand, flat_block, window_differences
from penstock.register.bounds import NONE, Bound, Kind, badness, plural, plus
from penstock.register.contents import declared_rate, is_static, rate_texts
from penstock.register.declarations import constraint_text, within_text
from penstock.register.declared_k import rows_from_rate
from penstock.register.kconstraints.rates import most_rows
from penstock.register.punctuation import (
    AtMost,
    Attribute,
    Difference,
    Equality,
    Finite,
    JoinQuery,
    Purgeable,
    Scheme,
    Step,
    Stream,
)
from penstock.register.punctuation import Witness as Defeat
from penstock.register.punctuation import witness as defeat
from penstock.register.punctuation.forward_chaining import Reach, Rule, Rules, combined, reach, rules_of
from penstock.register.punctuation.join_classes import JoinClasses, join_classes
from penstock.register.punctuation.purgeability import purgeability_by
from penstock.types import BOOLEAN, duration_text
from penstock.types import Kind as TypeKind

#: The stream of the values that are asked about.
_ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Closer:
    """One way in which changes of an operand end: a scheme, what it leaves open, and the declaration behind it.

    Some close only values that have been seen: after UNIQUE the value's one row, after CLUSTERED BY its last one.
    """

    scheme: Scheme
    open: Bound
    leans_on: tuple[str, ...] = ()
    only_seen: bool = False
    #: How long after a time a watermark passes it.
    late: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """Changes end: what is open at a time, by which steps, and on which declarations that leans."""

    terms: tuple[Bound, ...]
    steps: tuple[str, ...]
    leans_on: tuple[str, ...]
    #: Whether watermarks alone do it.
    by_time: bool

    @property
    def open(self) -> Bound:
        return plus(self.terms)


def ending(relation: Relation, keys: Iterable[Expr], catalog: Catalog, at_last: bool = False) -> Ending | None:
    """How the changes that have one combination of values of `keys` end once a row with them was there, if they do.

    With `at_last` each of them ends. A value of a clustered or ordered column need not, while it is the latest.
    """
    plain, buckets = _closable(keys)
    return _ending(relation, _Asked(plain, buckets, seen=not at_last), catalog)


def by_punctuations(catalog: Catalog) -> Catalog:
    """What is declared, but for what closes a value after a number of rows: only punctuations and times do here."""
    for stream in catalog.streams:
        rest = tuple(c for c in stream.constraints if not _counts_rows(c))
        catalog = catalog.having(replace(stream, constraints=rest)) if rest != stream.constraints else catalog
    return catalog


def _counts_rows(constraint: Constraint) -> bool:
    if isinstance(constraint, Reference):
        return not isinstance(constraint.within, WithinTime)
    return isinstance(constraint, Clustered | Ordered)


class Purging:
    """How stored rows of a block's operands become useless: theorem 3 of 004 over all that may change beside them."""

    def __init__(self, block: Block, catalog: Catalog) -> None:
        self._translated = _Translation(block, catalog)

    def under(self, catalog: Catalog) -> Purging:
        """The same under other declarations: what follows from the predicates alone is not worked out again."""
        other = copy(self)
        other._translated = self._translated.under(catalog)
        return other

    def is_purged(self, operand: Operand) -> bool:
        """Whether there is a purge; this is quicker than to work it out."""
        return self._translated.reaches_all(operand.name)

    def purge(self, operand: Operand) -> Ending | None:
        return self._translated.ending(operand.name)

    def farthest(self, some: Container[str | None]) -> str:
        """The one of some operands, or of all, that is farthest from being purged: it reaches the fewest others."""
        return self._translated.farthest(some)

    def lacking(self, operand: str, richer: Catalog) -> Iterator[frozenset[str]]:
        """Sets of further declarations of each of which an operand's purge needs one, as their proofs name them."""
        return self._translated.lacking(operand, self._translated.under(richer))

    def defeating(self, operand: Operand, size: int) -> Defeat:
        """Rows of an operand that has no purge: with their partners, and with the rows that may follow each."""
        translated = self._translated
        schemes = [closer.scheme for closer in translated.closers]
        return defeat(translated._join_query(), schemes, operand.name, size)


def solutions(relation: Relation, catalog: Catalog, size: int) -> list[dict[str, dict[str, Hashable]]]:
    """So many combinations of a row of each stream below that satisfy what the theory sees of the predicates.

    They differ in all columns that no constant ties down.
    """
    block = flat_block(relation)
    lonely = Stream(_ASKED, ())
    query = _Translation(block, catalog)._join_query()
    query = replace(query, streams=(*(s for s in query.streams if s.name != _ASKED), lonely))
    found = defeat(query, [Scheme(o.name, ()) for o in block.operands[1:]], block.operands[0].name, size)
    partners = len(found.partners) // size if size else 0
    combined = []
    for number, kept in enumerate(found.kept):
        rows = [kept, *found.partners[number * partners : (number + 1) * partners]]
        combined.append({row.stream: dict(row.values) for row in rows})
    return combined


@dataclass(frozen=True, slots=True)
class _Asked:
    """The values that are asked about: of columns, and the ends of stretches of columns' values, with their lengths."""

    equal: frozenset[Column]
    upto: Mapping[Column, int]
    #: Whether they are values of a row that was there, or any.
    seen: bool

    def through(self, values: Mapping[Column, Expr]) -> _Asked:
        """The same question of a relation below, in its own columns."""
        plain, stretches = _closable(values[column] for column in self.equal if column in values)
        for column, width in self.upto.items():
            _, deeper = _closable([values[column]] if column in values else [])
            stretches |= {c: w + width for c, w in deeper.items()}
        return _Asked(plain, stretches, self.seen)


def _ending(relation: Relation, asked: _Asked, catalog: Catalog) -> Ending | None:
    if is_static(relation):
        return Ending((), (), (), by_time=True)
    match relation:
        case Project(below, outputs) | Aggregate(below, outputs):
            return _ending(below, asked.through({output.column: output.expr for output in outputs}), catalog)
        case Distinct(below):
            return _ending(below, asked, catalog)
        case SetOp(_, _, left, right, own):
            sides = ((side, asked.through(dict(zip(own, side.schema, strict=True)))) for side in (left, right))
            return _both(_ending(side, replace(inner, seen=False), catalog) for side, inner in sides)
        case AntiJoin(left, right, on):
            block = _united(flat_block(left), flat_block(right), on)
            return _both((_ending(left, asked, catalog), _answer(block, asked, catalog)))
        case Select(AntiJoin() | Aggregate() | Distinct() | SetOp() | Project() as below):
            return _ending(below, asked, catalog)
    return _answer(flat_block(relation), asked, catalog)


def _answer(block: Block, asked: _Asked, catalog: Catalog) -> Ending | None:
    """The theory's answer for a stream that has the asked values."""
    return _Translation(block, catalog, asked).ending(_ASKED)


def _united(left: Block, right: Block, on: tuple[Expr, ...]) -> Block:
    operands = left.operands + right.operands
    named = tuple(o if o.window else Operand(str(number), o.relation) for number, o in enumerate(operands))
    return Block(named, left.predicates + right.predicates + on)


def _both(endings: Iterable[Ending | None]) -> Ending | None:
    found = list(endings)
    if None in found:
        return None
    all_found = [each for each in found if each is not None]
    return Ending(
        tuple(dict.fromkeys(term for each in all_found for term in each.terms)),
        tuple(dict.fromkeys(step for each in all_found for step in each.steps)),
        tuple(dict.fromkeys(lean for each in all_found for lean in each.leans_on)),
        by_time=all(each.by_time for each in all_found),
    )


def _closable(exprs: Iterable[Expr]) -> tuple[frozenset[Column], dict[Column, int]]:
    """The columns among expressions, and the columns of which they tell a stretch of values, with its length."""
    plain: set[Column] = set()
    buckets: dict[Column, int] = {}
    for expr in exprs:
        if isinstance(expr, Column):
            plain.add(expr)
        if (bucket := _bucket(expr)) is not None:
            column, width = bucket
            buckets[column] = min(width, buckets.get(column, width))
    return frozenset(plain), buckets


_UNITS = {"UNIX_MICROS": 1, "UNIX_MILLIS": 1_000, "UNIX_SECONDS": 1_000_000}
_DAY = 86_400_000_000
_TRUNCATED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
    "MONTH": 31 * _DAY,
    "QUARTER": 92 * _DAY,
    "YEAR": 366 * _DAY,
}


@dataclass(frozen=True, slots=True)
class _Rounded:
    """A whole-numbered column, rounded: results that differ by one are `step` apart, one stands for `cover` values."""

    column: Column
    step: int = 1
    cover: int = 1

    def coarser(self, step: int, unit: int) -> _Rounded:
        """Rounded further, to whole steps of results that count in `unit`."""
        cover = step if step % self.cover == 0 else self.cover + step
        return _Rounded(self.column, unit, cover)


def _bucket(expr: Expr) -> tuple[Column, int] | None:
    """The column that an expression rounds, and how far apart values with one result may be."""
    found = _rounded(expr)
    return None if found is None else (found.column, found.cover if found.cover > 1 else 0)


def _rounded(expr: Expr) -> _Rounded | None:
    """Such an expression never falls as the column grows, so that each of its values is passed for good."""
    match expr:
        case Column():
            return _Rounded(expr) if expr.type.kind in (TypeKind.TIMESTAMP, TypeKind.BIGINT, TypeKind.INT) else None
        case Call("DATE_TRUNC", (Literal(str(unit)), arg)) if unit in _TRUNCATED and (inner := _rounded(arg)):
            return inner.coarser(_TRUNCATED[unit], inner.step)
        case Call(function, (arg,)) if function in _UNITS and (inner := _rounded(arg)):
            return inner.coarser(_UNITS[function], _UNITS[function])
        case Call("YEAR", (arg,)) if (inner := _rounded(arg)) is not None:
            return inner.coarser(366 * _DAY, 366 * _DAY)
        case Cast(arg, type_) if type_.kind is TypeKind.DATE and arg.type.kind is TypeKind.TIMESTAMP:
            inner = _rounded(arg)
            return inner and inner.coarser(_DAY, _DAY)
        case Cast(arg, type_) if type_.kind is TypeKind.BIGINT and arg.type.kind is TypeKind.INT:
            return _rounded(arg)
        case Arithmetic(Operator.ADD | Operator.SUBTRACT, arg, Literal(int())):
            return _rounded(arg)
        case Arithmetic(Operator.ADD, Literal(int()), arg):
            return _rounded(arg)
        case Arithmetic(Operator.DIVIDE, arg, Literal(int(divisor))) if divisor > 0 and expr.type.is_integer:
            inner = _rounded(arg)  # times are not below 0, where division would round the other way
            return inner and inner.coarser(inner.step * divisor, inner.step * divisor)
    return None


def never_falls(expr: Expr) -> bool:
    """Whether an expression of one column never falls as the column grows, so that each of its values is passed."""
    return _rounded(expr) is not None


_NOTHING = _Asked(frozenset(), {}, seen=False)


class _Translation:
    """A block as a query of the theory: an operand is a stream, and so is what is asked about, if anything is."""

    def __init__(self, block: Block, catalog: Catalog, asked: _Asked = _NOTHING) -> None:
        self.block = block
        self.catalog = catalog
        self.asked = asked
        self.owner = {column: operand.name for operand in block.operands for column in operand.relation.schema}
        self._views = [view for view in map(classify, block.predicates) if view is not None]
        self._inputs = {name: (name,) for name in (*(operand.name for operand in block.operands), _ASKED)}
        self._known_rules: dict[tuple[int, ...], tuple[tuple[Closer, ...], Rules]] = {}
        self._known_rule: dict[int, tuple[Closer, Rule | None]] = {}
        #: Streams that are known to reach all others.
        self._reaching: set[str] = set()
        #: The closers of each operand under the declarations seen so far.
        self._known_closers: dict[Hashable, tuple[Closer, ...]] = {}
        self._known_guards: dict[Hashable, tuple[Closer, ...]] = {}

    def under(self, catalog: Catalog) -> _Translation:
        """The same predicates under other declarations."""
        assert self._join_classes is not None  # shared from here on
        other = copy(self)
        other.catalog = catalog
        other._known_rules, other._reaching = {}, set()
        for derived in ("closers", "guards", "_ruled", "_all_rules"):
            other.__dict__.pop(derived, None)
        return other

    def reaches_all(self, stream: str) -> bool:
        """Whether `ending` finds one. Who reaches a stream reaches all that it does: forward chaining only adds."""
        rules = self._all_rules
        if rules.classes.solution is None:
            return True
        reached = set(reach(rules, (stream,), self._inputs, stop=self._reaching).streams)
        if len(reached) == len(self._inputs) or reached & self._reaching:
            self._reaching.add(stream)
            return True
        return False

    def farthest(self, some: Container[str | None]) -> str:
        growing = [operand.name for operand in self.block.operands if not operand.is_static]
        waiting = [name for name in growing if name in some]
        return min(waiting or growing, key=lambda name: len(reach(self._all_rules, (name,), self._inputs).streams))

    def lacking(self, stream: str, richer: _Translation) -> Iterator[frozenset[str]]:
        """Sets of declarations that only a richer catalog has, of each of which a stream needs one to reach all others.

        Let it reach all of them but one by anything: then it needs what leads to that one. There is no such set where
        that one is reached nevertheless, by a part of what leads to it, as in a ring.
        """
        given, further = self._split(richer)
        here = self._reached(stream, given).streams
        for end in (name for name in self._inputs if name not in here):
            others = [rule for name, rules in further.items() if name != end for rule, _ in rules]
            wide = self._reached(stream, given + others)
            if end not in wide.streams:
                yield frozenset(lean for rule, lean in further.get(end, ()) if wide.lets(rule))

    def _reached(self, stream: str, rules: list[Rule]) -> Reach:
        return reach(combined(self._join_classes, rules), (stream,), self._inputs)

    def _split(self, richer: _Translation) -> tuple[list[Rule], dict[str, list[tuple[Rule, str]]]]:
        """The rules that are there, and those that a richer catalog has, by the stream that they reach."""
        given = {lean for _, closer in self._ruled for lean in closer.leans_on}
        here: list[Rule] = []
        further: dict[str, list[tuple[Rule, str]]] = {}
        for rule, closer in richer._ruled:
            new = [lean for lean in closer.leans_on if lean not in given]
            if not new:
                here.append(rule)
            else:
                further.setdefault(rule.scheme.stream, []).append((rule, new[0]))
        return here, further

    @cached_property
    def _ruled(self) -> list[tuple[Rule, Closer]]:
        """All rules, those of RIDS among them: who reaches the stream that refers reaches the other."""
        plain = [(rule, closer) for closer in self.closers if (rule := self._rule(closer)) is not None]
        guards = [(self._rule(closer), child, closer) for child, closer in self.guards]
        return plain + [(replace(rule, after=child), closer) for rule, child, closer in guards if rule is not None]

    @cached_property
    def _all_rules(self) -> Rules:
        return combined(self._join_classes, [rule for rule, _ in self._ruled])

    @cached_property
    def _join_classes(self) -> JoinClasses:
        return join_classes(self._join_query())

    def attribute(self, column: Column) -> Attribute:
        return Attribute(self.owner[column], str(column))

    def _seen(self) -> frozenset[Column]:
        """The columns whose values are known to have been there: equal to those that are asked about, or constant."""
        known = set(self.asked.equal)
        known |= {view.column for view in self._views if isinstance(view, BoundView) and view.op is Comparator.EQ}
        pairs = [view for view in self._views if isinstance(view, EqualityView)]
        for _ in pairs:
            for pair in pairs:
                if {pair.left, pair.right} & known:
                    known |= {pair.left, pair.right}
        return frozenset(known)

    def ending(self, stream: str) -> Ending | None:
        """The ending that leaves the least open: by time if that will do, then by k-constraints or punctuations."""
        kinds = {closer.open.kind for closer in self.closers} | ({Kind.K} if self.guards else set())
        for worst in sorted(kinds, key=lambda kind: kind.rank):
            some = tuple(closer for closer in self.closers if closer.open.kind.rank <= worst.rank)
            if (found := self._ending_by(stream, some, worst)) is not None:
                return found
        return None

    def _ending_by(self, stream: str, closers: tuple[Closer, ...], worst: Kind) -> Ending | None:
        """Theorem 3 of 004, helped by RIDS: once a stream is reached, so is the one that its rows refer to.

        The rows that a reached stream has for the values in question are all there, and the rows that they refer to
        come within k: after that, the stream referred to has no more that join them.
        """
        guards = self.guards if worst.rank >= Kind.K.rank else ()
        while True:
            answer = purgeability_by(self._rules(closers), (stream,), self._inputs)
            if isinstance(answer, Purgeable):
                return self._told(stream, answer, closers)
            helping = [g for g in guards if g[0] in answer.reached and g[1].scheme.stream in answer.unreached]
            if not helping:
                return None
            closers += tuple(closer for _, closer in helping)

    def _rules(self, closers: tuple[Closer, ...]) -> Rules:
        """The theory's rules, which all operands share."""
        key = tuple(map(id, closers))
        if key not in self._known_rules:
            found = map(self._rule, closers)
            rules = combined(self._join_classes, [rule for rule in found if rule is not None])
            self._known_rules[key] = closers, rules
        return self._known_rules[key][1]

    def _rule(self, closer: Closer) -> Rule | None:
        if id(closer) not in self._known_rule:
            rule = next(iter(rules_of(self._join_classes, [closer.scheme]).rules), None)
            self._known_rule[id(closer)] = closer, rule  # the closer is kept, so that no other takes its id
        return self._known_rule[id(closer)][1]

    def _told(self, stream: str, answer: Purgeable, closers: tuple[Closer, ...]) -> Ending:
        if answer.impossible:
            return Ending((), ("no row can ever be part of a result",), (), by_time=True)
        by_scheme = {closer.scheme: closer for closer in reversed(closers)}
        used = [(step, by_scheme[step.scheme]) for step in answer.steps]
        told = [(step, closer) for step, closer in used if closer.leans_on]
        return Ending(
            tuple(dict.fromkeys(self._open(stream, step, closer) for step, closer in told)),
            tuple(_step_text(step, closer) for step, closer in told),
            tuple(dict.fromkeys(lean for _, closer in told for lean in closer.leans_on)),
            by_time=all(closer.scheme.order is not None for _, closer in told),
        )

    @cached_property
    def guards(self) -> tuple[tuple[str, Closer], ...]:
        return tuple(self._guards())

    def _guards(self) -> Iterator[tuple[str, Closer]]:
        """Streams whose rows refer to rows of another that they join, by RIDS."""
        for operand in self.block.operands:
            definition = self.catalog.get(operand.window.stream.name) if operand.window else None
            for reference in definition.constraints if isinstance(definition, StreamDef) else ():
                if isinstance(reference, Reference):
                    key = operand.name, reference
                    if key not in self._known_guards:
                        self._known_guards[key] = tuple(self._referring(operand, reference))
                    yield from ((operand.name, closer) for closer in self._known_guards[key])

    def _referring(self, operand: Operand, reference: Reference) -> Iterator[Closer]:
        window = operand.window
        definition = self.catalog.get(window.stream.name) if window else None
        assert window is not None
        assert isinstance(definition, StreamDef)
        for target in self._timed.get(reference.parent.lower(), ()):
            if _refers(window, target, reference, self._leader):
                yield _guard(operand.name, target, reference, definition)

    @cached_property
    def _timed(self) -> Mapping[str, list[Window]]:
        """The windows that rows leave only in time, by stream."""
        found: dict[str, list[Window]] = {}
        for operand in self.block.operands:
            if operand.window and isinstance(operand.window.spec, Unbounded | Range):
                found.setdefault(operand.window.stream.name.lower(), []).append(operand.window)
        return found

    @cached_property
    def _leader(self) -> Callable[[Column], object]:
        """What is the same for columns that are equal."""
        leaders: dict[Column, Column] = {}

        def leader(column: Column) -> Column:
            while column in leaders:
                column = leaders[column]
            return column

        for view in self._views:
            if isinstance(view, EqualityView) and leader(view.left) != leader(view.right):
                leaders[leader(view.left)] = leader(view.right)
        return leader

    @cached_property
    def closers(self) -> tuple[Closer, ...]:
        """How the operands' changes end; those that close only seen values, where the values asked about are seen."""
        found = [closer for operand in self.block.operands for closer in self._of_operand(operand)]
        known = {self.attribute(column) for column in self._seen() if column in self.owner} if self.asked.seen else ()
        fitting = [
            closer
            for closer in found
            if not closer.only_seen
            or all(Attribute(closer.scheme.stream, name) in known for name in closer.scheme.attributes)
        ]
        return (Closer(Scheme(_ASKED, ()), NONE), *sorted(fitting, key=lambda closer: badness(closer.open)))

    def _join_query(self) -> JoinQuery:
        equalities: list[Equality] = []
        differences: list[Difference] = []
        finite: list[Finite] = []
        for view in self._views:
            match view:
                case EqualityView(left, right) if left in self.owner and right in self.owner:
                    equalities.append(Equality(self.attribute(left), self.attribute(right)))
                case DifferenceView(left, right, op, constant) if left in self.owner and right in self.owner:
                    differences += _differences(self.attribute(left), self.attribute(right), op, constant)
                case BoundView(column, op, int(value)) if column in self.owner and column.type != BOOLEAN:
                    differences += _differences(self.attribute(column), None, op, value)
                case BoundView(column, Comparator.EQ, value) if column in self.owner:
                    finite.append(Finite(self.attribute(column), frozenset({value})))
        for predicate in self.block.predicates:
            match predicate:
                case In(Column() as column, options) if column in self.owner and not column.type.is_integer:
                    literals = [o.value for o in options if isinstance(o, Literal)]
                    if len(literals) == len(options):
                        finite.append(Finite(self.attribute(column), frozenset(literals)))
        for later, earlier, width in window_differences(self.block):
            differences.append(Difference(self.attribute(later), self.attribute(earlier), width))
        streams = [Stream(o.name, tuple(map(str, o.relation.schema))) for o in self.block.operands]
        equal = [column for column in self.asked.equal if column in self.owner]
        upto = {column: width for column, width in self.asked.upto.items() if column in self.owner}
        streams.append(Stream(_ASKED, tuple({str(column) for column in (*equal, *upto)})))
        equalities += [Equality(Attribute(_ASKED, str(column)), self.attribute(column)) for column in equal]
        differences += [
            Difference(self.attribute(column), Attribute(_ASKED, str(column)), width)
            for column, width in upto.items()
            if column not in equal
        ]
        return JoinQuery(tuple(streams), tuple(equalities), tuple(differences), tuple(finite))

    def _of_operand(self, operand: Operand) -> Iterator[Closer]:
        if operand.is_static:
            yield Closer(Scheme(operand.name, ()), NONE)
        elif operand.window is not None:
            definition = self.catalog.get(operand.window.stream.name)
            assert isinstance(definition, StreamDef)
            key = operand.name, definition.delay, definition.constraints
            if key not in self._known_closers:
                self._known_closers[key] = tuple(window_closers(operand.window, operand.name, self.catalog))
            yield from self._known_closers[key]
        else:
            yield from self._computed(operand)

    def _computed(self, operand: Operand) -> Iterator[Closer]:
        """A computed relation closes on its columns, each alone, or on all that join; on times up to an instant."""
        joining = self._joining()
        joined = [column for column in operand.relation.schema if column in joining]
        for column in joined:
            asked = _Asked(frozenset(), dict(_closable([column])[1]), seen=False)
            found = _ending(operand.relation, asked, self.catalog) if asked.upto else None
            if found is not None and found.by_time:
                yield Closer(Scheme(operand.name, (), order=str(column)), found.open, found.leans_on)
        for columns in [[column] for column in joined] + [joined] * (len(joined) > 1):
            plain, stretches = _closable(columns)
            found = _ending(operand.relation, _Asked(plain, stretches, seen=False), self.catalog)
            if found is not None:
                yield Closer(Scheme(operand.name, tuple(map(str, columns))), found.open, found.leans_on)

    def _joining(self) -> frozenset[Column]:
        pairs = [view for view in self._views if isinstance(view, EqualityView | DifferenceView)]
        return frozenset(column for pair in pairs for column in (pair.left, pair.right)) | self.asked.equal

    def _open(self, stream: str, step: Step, closer: Closer) -> Bound:
        """What is open until this step is done. A watermark leaves as much as partners may be ahead."""
        if closer.scheme.order is None or closer.open.kind is not Kind.WINDOW:
            return closer.open
        limits = [limit for known in step.known if isinstance(known, AtMost) for limit in known.upper]
        ahead = [limit.offset for limit in limits if limit.source is not None and limit.source.stream == stream]
        if not ahead:
            return closer.open
        return stretch(
            max(0, min(ahead)) + closer.late, self._label(closer.scheme.stream if stream == _ASKED else stream)
        )

    def _label(self, name: str) -> str:
        return next(operand.label for operand in self.block.operands if operand.name == name)


def _step_text(step: Step, closer: Closer) -> str:
    names = ", ".join(step.scheme.attributes) or (step.scheme.order and f"{step.scheme.order} up to a time")
    return f"{names or step.scheme.stream} is closed by {', '.join(closer.leans_on)}"


def _refers(child: Window, parent: Window, reference: Reference, same: Callable[[Column], object]) -> bool:
    """Whether rows of two occurrences that join agree on the columns of a reference between them."""
    if child is parent:
        return False
    mine = {column.name.lower(): column for column in child.stream.schema}
    theirs = {column.name.lower(): column for column in parent.stream.schema}
    pairs = zip(reference.columns, reference.parent_columns, strict=True)
    return all(same(mine[a.lower()]) == same(theirs[b.lower()]) for a, b in pairs)


def _guard(child: str, parent: Window, reference: Reference, definition: StreamDef) -> Closer:
    name = parent.stream.occurrence
    within = reference.within
    words = f"rows of {child} during {within_text(within)}{'' if isinstance(within, WithinTime) else f' of {name}'}"
    leans_on: tuple[str, ...] = (f"{definition.name}: {constraint_text(reference)}",)
    most = most_rows(declared_rate(definition), within.microseconds) if isinstance(within, WithinTime) else None
    if most is not None:
        words, leans_on = f"{most} {words}", leans_on + rate_texts(definition)
    return Closer(Scheme(name, ()), Bound(Kind.K, words, most), leans_on)


def stretch(time: int, occurrence: str) -> Bound:
    """What comes in a time."""
    return Bound(Kind.WINDOW, f"{duration_text(time)} of {occurrence}" if time else f"one instant of {occurrence}")


def _differences(left: Attribute, right: Attribute | None, op: Comparator, value: int) -> Iterator[Difference]:
    if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
        yield Difference(left, right, value - (op is Comparator.LT))
    if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
        yield Difference(right, left, -value - (op is Comparator.GT))


def window_closers(window: Window, name: str, catalog: Catalog) -> Iterator[Closer]:
    """How the changes of a stream under its window end: rows that come, and rows that leave.

    Rows leave a window of time in time. They leave a window of rows whenever others come, so it closes nothing; and a
    partition changes only with rows of its own.
    """
    if isinstance(window.spec, Rows):
        return
    stream = window.stream
    definition = catalog.get(stream.name)
    assert isinstance(definition, StreamDef)
    if isinstance(window.spec, Unbounded | Range):
        width = window.spec.width + (window.spec.slide or 0) if isinstance(window.spec, Range) else 0
        late = width + definition.delay
        scheme = Scheme(name, (), order=str(stream.timestamp))
        yield Closer(scheme, stretch(late, name), (watermark_text(definition),), late=late)
    for constraint in definition.constraints:
        closer = _closer(constraint, window, name, definition, catalog)
        if closer is not None:
            yield closer


def _closer(
    constraint: Constraint, window: Window, name: str, definition: StreamDef, catalog: Catalog
) -> Closer | None:
    named = {column.name.lower(): column for column in window.stream.schema}
    match constraint:
        case Punctuated(lifespan=int()):
            # After it the values may come again: they would join stored rows, and their groups would have to go on.
            return None
        case Punctuated(columns) | Clustered(columns) | Unique(columns):
            own = [named[column.lower()] for column in columns]
        case Ordered(column) if not isinstance(window.spec, PartitionRows):
            own = [named[column.lower()]]
        case _:
            return None
    if isinstance(window.spec, PartitionRows) and not set(own) <= set(window.spec.by):
        return None
    scheme = Scheme(name, tuple(map(str, own)))
    leans_on: tuple[str, ...] = (f"{definition.name}: {constraint_text(constraint)}",)
    noun = " and ".join(_plural(column) for column in own)
    match constraint:
        case Punctuated():
            return Closer(scheme, Bound(Kind.OPEN, f"{noun} not yet closed"), leans_on)
        case Unique():
            return Closer(scheme, NONE, leans_on, only_seen=True)
        case Clustered(_, within) | Ordered(_, within):
            if (counted := rows_from_rate(constraint, definition, catalog)) is not None:
                within, leans_on = counted.within, leans_on + counted.leans_on
            size = within.k + 1 if isinstance(within, WithinRows) else None
            words = f"{noun} of the last {within_text(within)}"
            return Closer(scheme, Bound(Kind.K, words, size), leans_on, only_seen=True)
    raise AssertionError(f"{constraint} closes nothing")


def _plural(column: Column) -> str:
    return plural(column.name) if len(column.name) > 1 else f"values of {column.name}"


def watermark_text(definition: StreamDef) -> str:
    late = f" DELAY {duration_text(definition.delay)}" if definition.delay else ""
    return f"{definition.name}: TIMESTAMP BY {definition.timestamp}{late}"

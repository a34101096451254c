"""What lets a join forget rows: rules that say when no more row of an input joins what is there.

They come from declarations (punctuations, UNIQUE, RIDS, CA, OA), from windows and from ranges of times: the closers of
the register, as a run time reads them. `kernels/purge.py` chains them (004, theorem 3). Some need *evidence*: rows of
streams that nothing else reads, such as the punctuations, or the times of all rows of a stream where rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

from penstock.algebra.expressions import Column, Comparator, Compare
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import ColumnDifference, ColumnEquality, classify, unwidened
from penstock.algebra.relations import (
    Distinct,
    Range,
    Relation,
    Rows,
    Table,
    Unbounded,
    rewrite_relation,
)
from penstock.catalog import (
    Catalog,
    Clustered,
    Constraint,
    OnViolation,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    Within,
    WithinRows,
    WithinTime,
)
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import of_fixed, refused_by, rows_of, values_of
from penstock.closing.join_variables import join_classes, join_variables
from penstock.closing.monitors import Monitor, OfCluster, OfOrder, OfReference
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.closing.rules import (
    AfterRows,
    ByCluster,
    ByKey,
    ByLifespan,
    ByNo,
    ByOrder,
    ByPunctuation,
    Estimate,
    InTime,
    JoinRetention,
    K,
    ReferredRow,
    Rule,
    Static,
    k_of,
)
from penstock.effort import spend
from penstock.types import Kind


def with_purging(relation: Relation, catalog: Catalog, spill: bool = False) -> Relation:
    """The physical relation with joins that forget what they can, in place of those that would not.

    With `spill` the joins know which of their rules are probable only.
    """
    return rewrite_relation(relation, lambda node: _forgetting(node, catalog, spill))


def _forgetting(node: Relation, catalog: Catalog, spill: bool) -> Relation:
    match node:
        case PhysicalJoin(buckets=(_, *_)):
            return node  # buckets are few as they are
        case PhysicalJoin(JoinKind.JOIN):
            plain = _with_own_equalities(node)
            return replace(plain, retention=_retention(plain, catalog, spill))
        case PhysicalJoin(_, (left, Distinct(right))):
            plain = replace(node, operands=(left, right))
            retention = _retention_of_sides(plain, catalog, spill)
            return node if retention is None else replace(plain, retention=retention)
    return node


def _retention_of_sides(join: PhysicalJoin, catalog: Catalog, spill: bool) -> JoinRetention | None:
    """The retention of a semi-join, if rows are only inserted and all are dropped in the end.

    It is that of the join of both sides: a right value that arrives again has to be awaited anew.
    """
    scans = [operand for operand in join.operands if isinstance(operand, Scan)]
    is_endless = len(scans) == 2 and all(isinstance(scan.spec, Unbounded) for scan in scans)
    found = _retention(join, catalog, spill) if is_endless else None
    if found is None:
        return None
    # A left row that is in no result of the join may show all the same, and no monitor observes a semi-join.
    rules, probable = (
        tuple(rule for rule in some if not isinstance(rule, ByNo) and not isinstance(k_of(rule), Estimate))
        for some in (found.rules, found.probable)
    )
    plain = replace(found, rules=rules, monitors=(), probable=probable)
    return plain if all(always_forgets(join, rules, number) for number in (0, 1)) else None


def rules_of(join: PhysicalJoin, catalog: Catalog, certain: bool = False) -> tuple[Rule, ...]:
    """All rules of a join, whether it forgets by them or not; or only those that lean on no k."""
    found = _Rules(join, catalog, spill=certain)
    rules = tuple(dict.fromkeys(found.all()))
    return tuple(rule for rule in rules if not found.is_probable(rule)) if certain else rules


def _retention(join: PhysicalJoin, catalog: Catalog, spill: bool) -> JoinRetention | None:
    """How a join drops rows, if by any rule it can."""
    found = _Rules(join, catalog, spill)
    rules = tuple(dict.fromkeys(found.all()))
    rules += tuple(found.no_components(rules))
    # First those of inputs with keys, which at most one row of joins; and of each those that look for nothing.
    keyed = {rule.target for rule in rules if isinstance(rule, ByKey)}
    looks = ByPunctuation | ByLifespan | ByKey | ByNo | ByCluster
    rules = tuple(sorted(rules, key=lambda rule: (rule.target not in keyed, isinstance(rule, looks))))
    forgets = tuple(
        number for number, operand in enumerate(join.operands) if _may_forget(number, operand, rules, found)
    )
    if not forgets:
        return None
    # No components alone are not worth a purge; where there is one, they help it.
    helped = {n for n, operand in enumerate(join.operands) if _is_helped(n, operand, rules, found)}
    forgets = tuple(sorted({*forgets, *helped}))
    probable = tuple(rule for rule in rules if found.is_probable(rule)) if spill else ()
    return JoinRetention(rules, tuple(found.evidence), forgets, tuple(found.monitors), probable)


def _with_own_equalities(join: PhysicalJoin) -> PhysicalJoin:
    """The join, whose inputs with several columns of one class hold only rows in which these are equal.

    Others join nothing. So what is declared of any of these columns is true of the class.
    """
    operands = list(join.operands)
    for number, operand in enumerate(operands):
        # A filter commutes with a window of time, not with one of rows.
        if isinstance(operand, Scan) and isinstance(operand.spec, Unbounded | Range):
            equal = tuple(each for same in join_classes(join) for each in _own_equalities(operand, same))
            operands[number] = replace(operand, where=operand.where + equal)
    return replace(join, operands=tuple(operands))


def _own_equalities(scan: Scan, same: set[Column]) -> list[Compare]:
    """That columns of a class are equal, in a scan's own words."""
    spend(1 + len(scan.outputs) // 4)
    exprs = [output.expr for output in scan.outputs if output.column in same]
    return [Compare(Comparator.EQ, exprs[0], other) for other in exprs[1:]]


def _may_forget(number: int, operand: Relation, rules: tuple[Rule, ...], found: _Rules) -> bool:
    """Whether some rule helps a row of the operand that its own window does not make go as soon."""
    if not found.is_forgettable(operand):
        return False
    assert isinstance(operand, Scan)
    own = {v for v, columns in enumerate(found.variables) if columns[number] is not None}
    for rule in rules:
        match rule:
            case InTime(_, source, reach):
                if source == number and not _is_in_window(reach, operand):
                    return True
            case AfterRows(_, source):
                if source == number:
                    return True
            case ByPunctuation() | ByKey() | ByCluster() | ByOrder():
                # A key lets those rows go that are in a result, which where windows end have to stay.
                is_of_use = isinstance(operand.spec, Unbounded) or not isinstance(rule, ByKey)
                if is_of_use and rule.target != number and own.issuperset(rule.variables):
                    return True
            case ByLifespan(target, variables):
                is_of_use = isinstance(operand.spec, Range) and operand.spec.slide is None
                if is_of_use and target != number and own.issuperset(variables):
                    return True
    return False


def _is_helped(number: int, operand: Relation, rules: tuple[Rule, ...], found: _Rules) -> bool:
    """Whether rows of an operand are told by a No component that they wait in vain."""
    is_told = any(isinstance(rule, ByNo) and found.holds(number, rule.variables) for rule in rules)
    return is_told and found.is_forgettable(operand)


def always_forgets(join: PhysicalJoin, rules: Sequence[Rule], number: int) -> bool:
    """Whether each row of an input is dropped in the end: from it these rules reach all inputs (004, theorem 3).

    A key closes an input once its row has come. So it counts behind the first step only, where a row refers to it.
    """
    held = [{n for n, column in enumerate(columns) if column is not None} for columns in join_variables(join)]
    reached, before = {number}, set[int]()
    while reached != before:
        before = set(reached)
        spend(len(held) + len(rules))
        known = {v for v, holders in enumerate(held) if holders & before}
        reached |= {rule.target for rule in rules if _applies(rule, before, known, first=before == {number})}
    return len(reached) == len(join.operands)


def _applies(rule: Rule, reached: set[int], known: set[int], first: bool) -> bool:
    match rule:
        case Static():
            return True
        case InTime(_, source) | AfterRows(_, source):
            return source in reached
        case ByPunctuation(_, variables) | ByOrder(_, variables):
            return known.issuperset(variables)
        case ByNo() | ByLifespan():
            return False
        case ByKey(_, variables) | ByCluster(_, variables):
            return not first and known.issuperset(variables)


def _is_in_window(reach: K, scan: Scan) -> bool:
    """Whether a row leaves its window no later than so long after it has entered."""
    return isinstance(reach, int) and isinstance(scan.spec, Range) and reach >= scan.spec.stay


def _text(definition: StreamDef, constraint: Constraint) -> str:
    return f"{definition.name}: {constraint_text(constraint)}"


def _watches_the_same(one: Monitor, other: Monitor) -> bool:
    return not isinstance(one, OfReference) and one.constraint == other.constraint


def _stops(rule: Rule, asking: int, key: ByKey) -> bool:
    """Whether a rule says when an input brings no more rows that ask for a key, whatever has come of it."""
    match rule:
        case InTime(target, source):
            return (target, source) == (asking, key.target)
        case ByOrder(target, variables):
            return target == asking and set(variables) <= set(key.variables)
    return False


class _Rules:
    """The rules of one join. Evidence that several of them read is there once."""

    def __init__(self, join: PhysicalJoin, catalog: Catalog, spill: bool = False) -> None:
        self._join, self._catalog, self._spill = join, catalog, spill
        self.variables = join_variables(join)
        self._classes = join_classes(join)
        self.evidence: list[Scan] = []
        self._columns: dict[ByKey, tuple[str, ...]] = {}
        self.monitors: list[Monitor] = []
        self._scans = {n: operand for n, operand in enumerate(join.operands) if isinstance(operand, Scan)}

    def is_forgettable(self, operand: Relation) -> bool:
        """Whether rows of an input may go before they leave its window.

        What is spilled and comes back has to find its place in the window, which only times say.
        """
        match operand:
            case Scan(spec=Unbounded() | Range(slide=None)):
                return True
            case Scan(spec=Range() | Rows()):
                return not self._spill
        return False

    def is_probable(self, rule: Rule) -> bool:
        """Whether a rule leans on a k: that of a constraint, not of a window or of the query itself."""
        return k_of(rule) is not None and rule not in self._certain_times

    @cached_property
    def _certain_times(self) -> list[InTime]:
        """What windows and the query say about times, whatever is declared."""
        return list(self._by_time(self._differences()))

    def all(self) -> Iterator[Rule]:
        """Those that hold soonest first."""
        yield from (Static(n) for n, operand in enumerate(self._join.operands) if isinstance(operand, Table))
        yield from self._by_time([*self._differences(), *self._times_of_references()])
        if self._spill:
            yield from self._certain_times
        yield from self._by_references()
        for number, scan in self._scans.items():
            if not self._entering(number):
                definition = self._definition(scan)
                for constraint in definition.constraints:
                    yield from self._rules(number, scan, definition, constraint)

    def _rules(self, number: int, scan: Scan, definition: StreamDef, constraint: Constraint) -> Iterator[Rule]:
        match constraint:
            case Unique(columns):
                if (variables := self._named(number, columns)) is not None:
                    self._columns.setdefault(ByKey(number, variables), columns)
                    yield ByKey(number, variables)
            case Punctuated():
                yield from self._punctuated(number, scan, constraint)
            case Clustered(columns, within, then):
                if (variables := self._named(number, columns)) is not None:
                    evidence, ticks = self._values(definition, columns), self._ticks(definition, within)
                    observed = (_text(definition, constraint), number, variables, within, then, ticks)
                    yield ByCluster(number, variables, evidence, self._k(OfCluster(*observed, evidence)), ticks)
            case Ordered(column, within, then):
                variables = self._named(number, (column,))
                if variables is not None and self._is_whole(number, variables[0]):
                    evidence, ticks = self._values(definition, (column,)), self._ticks(definition, within)
                    observed = (_text(definition, constraint), number, variables, within, then, ticks)
                    yield ByOrder(number, variables, evidence, self._k(OfOrder(*observed, evidence)), ticks)

    def no_components(self, rules: tuple[Rule, ...]) -> Iterator[ByNo]:
        """Those of inputs whose rows may turn out to be in no result: by a filter, or a row that they refer to."""
        keys = [rule for rule in rules if isinstance(rule, ByKey)]
        for key in keys:
            own = {v for v, columns in enumerate(self.variables) if columns[key.target] is not None}
            refers = any(other.target != key.target and own.issuperset(other.variables) for other in keys)
            scan = self._scans[key.target]
            refused = refused_by(scan, self._definition(scan), self._columns[key])
            if refused is not None or refers:
                evidence = None if refused is None else self._evidence(refused)
                awaited = self._awaited(key, rules)
                yield ByNo(key.target, key.variables, evidence, awaited, () if awaited else self._late(key, rules))

    def _awaited(self, key: ByKey, rules: tuple[Rule, ...]) -> tuple[int, ...]:
        """The inputs that may ask for a key, where nothing else tells them.

        Each has to stop asking in the end, or keys would grow where rows do not.
        """
        held = {n for n in range(len(self._join.operands)) if self.holds(n, key.variables)} - {key.target}
        spend(len(held) * len(rules))
        untold = tuple(n for n in sorted(held) if not any(self._tells(rule, key.target, n) for rule in rules))
        is_endless = isinstance(self._scans[key.target].spec, Unbounded)
        grows = is_endless and not always_forgets(self._join, rules, key.target)
        return untold if grows or all(any(_stops(rule, n, key) for rule in rules) for n in untold) else ()

    def _late(self, key: ByKey, rules: tuple[Rule, ...]) -> tuple[AfterRows, ...]:
        """RIDS of those that may ask for a key, if all have it, and CA that says when they stop."""
        held = {n for n in range(len(self._join.operands)) if self.holds(n, key.variables)} - {key.target}
        told = {r.source: r for r in rules if isinstance(r, AfterRows) and r.target == key.target}
        stop = {r.target for r in rules if isinstance(r, ByCluster) and r.variables == key.variables}
        return tuple(told[n] for n in sorted(held)) if held and held <= told.keys() & stop else ()

    def _tells(self, rule: Rule, target: int, asking: int) -> bool:
        """Whether a rule ends the wait of an input's rows for those of a target before they leave their window."""
        match rule:
            case InTime(other, source, reach):
                is_longer = asking in self._scans and _is_in_window(reach, self._scans[asking])
                return (other, source) == (target, asking) and not is_longer
            case AfterRows(other, source):
                return (other, source) == (target, asking)
            case ByOrder(other, variables):
                return other == target and self.holds(asking, variables)
        return False

    def holds(self, number: int, variables: Iterable[int]) -> bool:
        """Whether an input has all these variables."""
        return all(self.variables[v][number] is not None for v in variables)

    def _references(self) -> Iterator[tuple[int, int, Reference]]:
        """Inputs whose rows refer to rows of another that they join: number, the other's number, the reference."""
        for (number, scan), (target, other) in product(self._scans.items(), self._scans.items()):
            for constraint in self._definition(scan).constraints if number != target else ():
                if isinstance(constraint, Reference) and other.stream.name.lower() == constraint.parent.lower():
                    own = self._named(number, constraint.columns)
                    if own is not None and own == self._named(target, constraint.parent_columns):
                        yield number, target, constraint

    def _by_references(self) -> Iterator[AfterRows | InTime]:
        """RIDS in rows, and in a time that may grow. A time that is fixed is one of `_by_time`."""
        for number, target, reference in self._references():
            if self._entering(target):
                continue
            definition = self._definition(self._scans[target])
            ticks, variables = self._ticks(definition, reference.within), self._named(number, reference.columns)
            assert variables is not None
            monitor = OfReference(
                _text(self._definition(self._scans[number]), reference),
                target,
                variables,
                reference.within,
                reference.on_violation,
                ticks,
                number,
                self._is_key(target, variables),
            )
            k = self._k(monitor)
            if ticks is not None:
                yield AfterRows(target, number, k, ticks)
            elif isinstance(k, Estimate):
                yield InTime(target, number, k)

    def _k(self, monitor: Monitor) -> K:
        """The k of a constraint, or who finds it. One monitor reads all rows of a stream, for all its occurrences."""
        if monitor.declared is not None and monitor.on_violation is OnViolation.IGNORE:
            return monitor.declared
        same = (n for n, known in enumerate(self.monitors) if _watches_the_same(known, monitor))
        if (number := next(same, None)) is None:
            self.monitors.append(monitor)
            number = len(self.monitors) - 1
        return Estimate(number) if monitor.varies or monitor.declared is None else monitor.declared

    def _is_key(self, number: int, variables: tuple[int, ...]) -> bool:
        """Whether one row of an input at most has these values."""
        keys = (each for each in self._definition(self._scans[number]).constraints if isinstance(each, Unique))
        named = (self._named(number, key.columns) for key in keys)
        return any(own is not None and set(own) <= set(variables) for own in named)

    def _punctuated(self, number: int, scan: Scan, scheme: Punctuated) -> Iterator[ByPunctuation | ByLifespan]:
        punctuations = values_of(self._definition(scan), scheme, self._catalog)
        if punctuations is None:
            return
        variables = self._named(number, scheme.columns)
        if variables is None and (fixed := of_fixed(punctuations, scheme.columns, scan)) is not None:
            names, punctuations = fixed
            variables = self._named(number, names)
        if variables is None:
            return
        if scheme.lifespan is not None:
            # After it values come again, and join what is stored then.
            yield ByLifespan(number, variables, self._evidence(punctuations), scheme.lifespan)
            return
        stops = _text(self._definition(scan), scheme) if scheme.on_violation is OnViolation.ERROR else None
        # With spill nothing that a k says is taken for certain.
        is_sure = scheme.when is not None and not self._spill
        referred = tuple(self._referred(number, variables)) if is_sure else ()
        yield ByPunctuation(number, variables, self._evidence(punctuations), stops, referred)

    def _referred(self, number: int, variables: tuple[int, ...]) -> Iterator[ReferredRow]:
        """What rows of an input with these values refer to, if it is a key and how far is declared."""
        for source, target, reference in self._references():
            own = self._named(source, reference.columns)
            if source != number or own is None or not set(own) <= set(variables) or not self._is_key(target, own):
                continue
            if reference.on_violation is OnViolation.WIDEN:
                continue
            match reference.within:
                case WithinTime(microseconds=time):
                    yield ReferredRow(target, time + self._entering(target), None)
                case WithinRows(k) if not self._entering(target):
                    yield ReferredRow(target, k, self._ticks(self._definition(self._scans[target]), reference.within))

    def _by_time(self, differences: Iterable[tuple[int, int, int]]) -> Iterator[InTime]:
        """How much later than a row of one input those of another come that join it: along the shortest paths.

        Each of the differences is a number of an input, that of another, and how much later its rows are at most.
        """
        reach: dict[tuple[int, int], int] = {}
        for (one, scan), other in product(self._scans.items(), self._scans):
            if one != other and isinstance(scan.spec, Range):
                reach[one, other] = scan.spec.width + scan.spec.lag
        for later, earlier, by in differences:
            reach[earlier, later] = min(by, reach.get((earlier, later), by))
        for middle in self._scans:
            before = [one for one in self._scans if (one, middle) in reach]
            after = [other for other in self._scans if (middle, other) in reach]
            spend(len(before) * len(after))
            for one, other in product(before, after):
                if one != other:
                    by = reach[one, middle] + reach[middle, other]
                    reach[one, other] = min(by, reach.get((one, other), by))
        there = {(one, other): by + self._entering(other) for (one, other), by in reach.items()}
        soonest = sorted(there.items(), key=lambda found: found[1])
        yield from (InTime(other, one, by) for (one, other), by in soonest)

    def _entering(self, number: int) -> int:
        """How long after its time a row of an input enters its window, at most.

        Until then it is there for nobody. So rules that go by what has come of a target (keys, punctuations, clusters,
        orders, numbers of rows) would close it too soon, and are left out; those of times wait so much longer. As the
        source of a rule such a row is looked at only once it has entered. Its start, and the numbers of rows that are
        noted with it, are those of that instant, not of its time: so it may wait longer than it must, never less.
        """
        spec = self._scans[number].spec
        return spec.lag if isinstance(spec, Range) else 0

    def _times_of_references(self) -> Iterator[tuple[int, int, int]]:
        """RIDS in time: a row that is referred to comes at most so much later."""
        for number, target, reference in self._references():
            if isinstance(reference.within, WithinTime) and reference.on_violation is not OnViolation.WIDEN:
                yield target, number, reference.within.microseconds

    def _differences(self) -> Iterator[tuple[int, int, int]]:
        """`later - earlier <= by` between the times of inputs."""
        times = {
            output.column: number
            for number, scan in self._scans.items()
            for output in scan.outputs
            if output.expr == scan.stream.timestamp
        }
        units = {column: self._scans[number].stream.unit for column, number in times.items()}
        for view in map(classify, self._join.on):
            match view:
                case ColumnEquality(left, right) | ColumnDifference(left, right) if units.get(left) is not units.get(
                    right
                ):
                    continue  # numbers that count in different units say nothing of instants
                case ColumnEquality(left, right) if left in times and right in times:
                    yield times[left], times[right], 0
                    yield times[right], times[left], 0
                case ColumnDifference(left, right, op, by) if left in times and right in times:
                    unit = units[left]
                    if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                        yield times[left], times[right], unit.in_instants(by - (op is Comparator.LT))
                    if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                        yield times[right], times[left], unit.in_instants(-by - (op is Comparator.GT))

    def _definition(self, scan: Scan) -> StreamDef:
        definition = self._catalog.get(scan.stream.name)
        assert isinstance(definition, StreamDef)
        return definition

    def _named(self, number: int, names: Iterable[str]) -> tuple[int, ...] | None:
        """The variables that declared columns of an input are, if they all join."""
        scan = self._scans[number]
        own = {column.name.lower(): column for column in scan.stream.schema}
        found = []
        for name in names:
            columns = {output.column for output in scan.outputs if unwidened(output.expr) == own[name.lower()]}
            found.append(next((v for v in range(len(self.variables)) if self._held(number, v) & columns), None))
        return None if None in found else tuple(v for v in found if v is not None)

    def _held(self, number: int, variable: int) -> set[Column | None]:
        """The columns of an input that hold a variable: all of its class, if only rows in which they are equal do."""
        same = self._classes[variable]
        is_one = set(_own_equalities(self._scans[number], same)) <= set(self._scans[number].where)
        return {*same} if is_one else {self.variables[variable][number]}

    def _is_whole(self, number: int, variable: int) -> bool:
        """Whether a variable's codes are in the order of its values, and none lies between two."""
        column = self.variables[variable][number]
        return column is not None and (column.type.is_integer or column.type.kind in (Kind.TIMESTAMP, Kind.DATE))

    def _ticks(self, definition: StreamDef, within: Within) -> int | None:
        """The evidence that counts a stream's rows, where they are counted."""
        return None if isinstance(within, WithinTime) else self._values(definition, ())

    def _values(self, definition: StreamDef, names: Iterable[str]) -> int:
        return self._evidence(rows_of(definition, names))

    def _evidence(self, scan: Scan) -> int:
        """The number of that evidence."""
        if scan not in self.evidence:
            self.evidence.append(scan)
        return self.evidence.index(scan)

"""What lets a join forget rows: rules that say when no more row of an input joins what is there.

They come from declarations (punctuations, UNIQUE, RIDS, CA, OA), from windows and from ranges of times: the closers of
the register, as a run time reads them. `kernels/purge.py` chains them (004, theorem 3). Some need *evidence*: rows of
streams that nothing else reads, such as the punctuations, or the times of all rows of a stream where rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from penstock.algebra.expressions import Cast, Column, Comparator, Compare, Expr
from penstock.algebra.predicates import Difference, Equality, classify
from penstock.algebra.relations import (
    AntiJoin,
    Distinct,
    Join,
    Range,
    Relation,
    SemiJoin,
    Table,
    Unbounded,
    rewrite_relation,
)
from penstock.catalog import (
    Catalog,
    Clustered,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Unique,
    Within,
    WithinRows,
    WithinTime,
)
from penstock.plan.evidence import rows_of, values_of
from penstock.plan.joins import join_classes, join_variables
from penstock.plan.physical import Scan
from penstock.plan.rules import (
    AfterRows,
    ByCluster,
    ByKey,
    ByOrder,
    ByPunctuation,
    InTime,
    PurgingAntiJoin,
    PurgingJoin,
    PurgingSemiJoin,
    Rule,
    Static,
)
from penstock.types import BIGINT, Kind


def with_purging(relation: Relation, catalog: Catalog) -> Relation:
    """The physical relation with joins that forget what they can, in place of those that would not."""
    return rewrite_relation(relation, lambda node: _forgetting(node, catalog))


def _forgetting(node: Relation, catalog: Catalog) -> Relation:
    match node:
        case Join():
            return _purging(_with_own_equalities(node), catalog)
        case SemiJoin(left, Distinct(right)):
            join = _purging_sides(left, right, node.on, catalog)
            return node if join is None else PurgingSemiJoin(left, right, node.on, join)
        case AntiJoin(left, Distinct(right)):
            join = _purging_sides(left, right, node.on, catalog)
            return node if join is None else PurgingAntiJoin(left, right, node.on, join)
    return node


def _purging_sides(left: Relation, right: Relation, on: tuple[Expr, ...], catalog: Catalog) -> PurgingJoin | None:
    """The join of a semi-join's sides, if rows only come and all go in the end.

    It has all rows of the right side: a value that comes again has to be waited with anew.
    """
    if not isinstance(left, Scan) or not isinstance(right, Scan):
        return None
    is_endless = isinstance(left.spec, Unbounded) and isinstance(right.spec, Unbounded)
    join = _purging(Join((left, right), on), catalog) if is_endless else None
    return join if isinstance(join, PurgingJoin) and all(always_forgets(join, number) for number in (0, 1)) else None


def rules_of(join: Join, catalog: Catalog) -> tuple[tuple[Rule, ...], tuple[Scan, ...]]:
    """All rules of a join, whether it forgets by them or not, and the evidence that they read."""
    found = _Rules(join, catalog)
    return tuple(dict.fromkeys(found.all())), tuple(found.evidence)


def _purging(join: Join, catalog: Catalog) -> Relation:
    found = _Rules(join, catalog)
    rules = tuple(dict.fromkeys(found.all()))
    forgets = tuple(
        number for number, operand in enumerate(join.operands) if _may_forget(number, operand, rules, found)
    )
    if not forgets:
        return join
    return PurgingJoin(join.operands, join.on, rules, tuple(found.evidence), forgets)


def _with_own_equalities(join: Join) -> Join:
    """The join, whose inputs with several columns of one class hold only rows in which these are equal.

    Others join nothing. So what is declared of any of these columns is true of the class.
    """
    operands = list(join.operands)
    for number, operand in enumerate(operands):
        if isinstance(operand, Scan) and _is_plain(operand):
            equal = tuple(each for same in join_classes(join) for each in _own_equalities(operand, same))
            operands[number] = replace(operand, where=operand.where + equal)
    return Join(tuple(operands), join.on)


def _own_equalities(scan: Scan, same: set[Column]) -> list[Compare]:
    """That columns of a class are equal, in a scan's own words."""
    exprs = [output.expr for output in scan.outputs if output.column in same]
    return [Compare(Comparator.EQ, exprs[0], other) for other in exprs[1:]]


def _may_forget(number: int, operand: Relation, rules: tuple[Rule, ...], found: _Rules) -> bool:
    """Whether some rule helps a row of the operand that its own window does not make go as soon."""
    if not isinstance(operand, Scan) or not _is_plain(operand):
        return False
    own = {v for v, columns in enumerate(found.variables) if columns[number] is not None}
    for rule in rules:
        match rule:
            case InTime(_, source, reach):
                if source == number and not (isinstance(operand.spec, Range) and reach >= operand.spec.width):
                    return True
            case AfterRows(_, source):
                if source == number:
                    return True
            case ByPunctuation() | ByKey() | ByCluster() | ByOrder():
                # A key lets those rows go that are in a result, which where windows end have to stay.
                is_of_use = isinstance(operand.spec, Unbounded) or not isinstance(rule, ByKey)
                if is_of_use and rule.target != number and own.issuperset(rule.variables):
                    return True
    return False


def always_forgets(join: PurgingJoin, number: int) -> bool:
    """Whether each row of an input goes in the end: from it the rules reach all inputs (004, theorem 3).

    A key closes an input once its row has come. So it counts behind the first step only, where a row refers to it.
    """
    held = [{n for n, column in enumerate(columns) if column is not None} for columns in join_variables(join)]
    reached, before = {number}, set[int]()
    while reached != before:
        before = set(reached)
        known = {v for v, holders in enumerate(held) if holders & before}
        reached |= {rule.target for rule in join.rules if _applies(rule, before, known, first=before == {number})}
    return len(reached) == len(join.operands)


def _applies(rule: Rule, reached: set[int], known: set[int], first: bool) -> bool:
    match rule:
        case Static():
            return True
        case InTime(_, source) | AfterRows(_, source):
            return source in reached
        case ByPunctuation(_, variables) | ByOrder(_, variables):
            return known.issuperset(variables)
        case ByKey(_, variables) | ByCluster(_, variables):
            return not first and known.issuperset(variables)


def _is_plain(scan: Scan) -> bool:
    """Whether a row is in its window from its own time on, and leaves it in time or never."""
    return isinstance(scan.spec, Unbounded) or (isinstance(scan.spec, Range) and scan.spec.slide is None)


def _k(within: WithinRows | WithinTime) -> int:
    return within.k if isinstance(within, WithinRows) else within.microseconds


def widened(expr: Expr) -> Expr:
    """What an INT that is compared with a BIGINT was before."""
    is_wider = isinstance(expr, Cast) and expr.arg.type.is_integer and expr.type == BIGINT
    return expr.arg if isinstance(expr, Cast) and is_wider else expr


class _Rules:
    """The rules of one join. Evidence that several of them read is there once."""

    def __init__(self, join: Join, catalog: Catalog) -> None:
        self._join, self._catalog = join, catalog
        self.variables = join_variables(join)
        self._classes = join_classes(join)
        self.evidence: list[Scan] = []
        self._scans = {n: operand for n, operand in enumerate(join.operands) if isinstance(operand, Scan)}

    def all(self) -> Iterator[Rule]:
        """Those that hold soonest first."""
        yield from (Static(n) for n, operand in enumerate(self._join.operands) if isinstance(operand, Table))
        yield from self._by_time()
        yield from self._by_rows()
        for number, scan in self._scans.items():
            # Rows that have come, but are not yet in their window, are not there to be joined.
            if not self._entering(number):
                definition = self._definition(scan)
                for constraint in definition.constraints:
                    yield from self._rules(number, scan, definition, constraint)

    def _rules(self, number: int, scan: Scan, definition: StreamDef, constraint: object) -> Iterator[Rule]:
        match constraint:
            case Unique(columns):
                if (variables := self._named(number, columns)) is not None:
                    yield ByKey(number, variables)
            case Punctuated(columns):
                if (variables := self._named(number, columns)) is not None:
                    yield from self._punctuated(number, scan, constraint, variables)
            case Clustered(columns, WithinRows() | WithinTime() as within):
                if (variables := self._named(number, columns)) is not None:
                    evidence = self._values(definition, columns)
                    yield ByCluster(number, variables, evidence, _k(within), self._ticks(definition, within))
            case Ordered(column, WithinRows() | WithinTime() as within):
                variables = self._named(number, (column,))
                if variables is not None and self._is_whole(number, variables[0]):
                    evidence = self._values(definition, (column,))
                    yield ByOrder(number, variables, evidence, _k(within), self._ticks(definition, within))

    def _references(self) -> Iterator[tuple[int, int, Reference]]:
        """Inputs whose rows refer to rows of another that they join: number, the other's number, the reference."""
        for (number, scan), (target, other) in product(self._scans.items(), self._scans.items()):
            for constraint in self._definition(scan).constraints if number != target else ():
                if isinstance(constraint, Reference) and other.stream.name.lower() == constraint.parent.lower():
                    own = self._named(number, constraint.columns)
                    if own is not None and own == self._named(target, constraint.parent_columns):
                        yield number, target, constraint

    def _by_rows(self) -> Iterator[AfterRows]:
        for number, target, reference in self._references():
            if isinstance(reference.within, WithinRows) and not self._entering(target):
                ticks = self._values(self._definition(self._scans[target]), ())
                yield AfterRows(target, number, reference.within.k, ticks)

    def _punctuated(
        self, number: int, scan: Scan, scheme: Punctuated, variables: tuple[int, ...]
    ) -> Iterator[ByPunctuation]:
        punctuations = values_of(self._definition(scan), scheme, self._catalog)
        # After a lifespan values come again, and join what is stored.
        if punctuations is not None and scheme.lifespan is None:
            yield ByPunctuation(number, variables, self._evidence(punctuations))

    def _by_time(self) -> Iterator[InTime]:
        """How much later than a row of one input those of another come that join it: along the shortest paths."""
        timed = {n: scan for n, scan in self._scans.items() if _is_plain(scan)}
        reach: dict[tuple[int, int], int] = {}
        for (one, scan), other in product(timed.items(), self._scans):
            if one != other and isinstance(scan.spec, Range):
                reach[one, other] = scan.spec.width
        for later, earlier, by in (*self._differences(), *self._times_of_references()):
            if earlier in timed:
                reach[earlier, later] = min(by, reach.get((earlier, later), by))
        for middle, one, other in product(self._scans, self._scans, self._scans):
            if one != other and (one, middle) in reach and (middle, other) in reach:
                by = reach[one, middle] + reach[middle, other]
                reach[one, other] = min(by, reach.get((one, other), by))
        there = {(one, other): by + self._entering(other) for (one, other), by in reach.items()}
        soonest = sorted(there.items(), key=lambda found: found[1])
        yield from (InTime(other, one, by) for (one, other), by in soonest)

    def _entering(self, number: int) -> int:
        """How long after its time a row of an input enters its window, at most."""
        spec = self._scans[number].spec
        return spec.slide - 1 if isinstance(spec, Range) and spec.slide is not None else 0

    def _times_of_references(self) -> Iterator[tuple[int, int, int]]:
        """RIDS in time: a row that is referred to comes at most so much later."""
        for number, target, reference in self._references():
            if isinstance(reference.within, WithinTime):
                yield target, number, reference.within.microseconds

    def _differences(self) -> Iterator[tuple[int, int, int]]:
        """`later - earlier <= by` between the times of inputs."""
        times = {
            output.column: number
            for number, scan in self._scans.items()
            for output in scan.outputs
            if output.expr == scan.stream.timestamp
        }
        for view in map(classify, self._join.on):
            match view:
                case Equality(left, right) if left in times and right in times:
                    yield times[left], times[right], 0
                    yield times[right], times[left], 0
                case Difference(left, right, op, by) if left in times and right in times:
                    if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                        yield times[left], times[right], by - (op is Comparator.LT)
                    if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                        yield times[right], times[left], -by - (op is Comparator.GT)

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
            columns = {output.column for output in scan.outputs if widened(output.expr) == own[name.lower()]}
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
        return self._values(definition, ()) if isinstance(within, WithinRows) else None

    def _values(self, definition: StreamDef, names: Iterable[str]) -> int:
        return self._evidence(rows_of(definition, names))

    def _evidence(self, scan: Scan) -> int:
        """The number of that evidence."""
        if scan not in self.evidence:
            self.evidence.append(scan)
        return self.evidence.index(scan)

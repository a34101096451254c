"""The inputs of one join as closers read them: variables, declarations, and evidence that several closers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from penstock.algebra.expressions import Column, Comparator, Compare
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import Range, Unbounded
from penstock.catalog import Catalog, Constraint, OnViolation, Reference, StreamDef, Unique, Within, WithinTime
from penstock.closing.bounds import BoundKind
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import rows_of
from penstock.closing.join_variables import join_classes, join_variables
from penstock.closing.monitors import Monitor, OfReference
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.retention import RetentionStep
from penstock.closing.rules import Closer, Estimate, K
from penstock.effort import spend
from penstock.types import Kind

#: The closers that were found so far, and what they are in words.
Found = Mapping[Closer, RetentionStep]
#: What a kind of closers gives.
Closers = Iterator[tuple[Closer, RetentionStep]]


class JoinInputs:
    """The inputs of a join. Evidence that several closers read is there once, and so is who watches a constraint."""

    def __init__(self, join: PhysicalJoin, catalog: Catalog, spill: bool = False) -> None:
        self.join, self.catalog, self.spill = join, catalog, spill
        self.variables = join_variables(join)
        self._classes = join_classes(join)
        self.scans = {n: operand for n, operand in enumerate(join.operands) if isinstance(operand, Scan)}
        self.evidence: list[Scan] = []
        self._numbers: dict[tuple[Scan, tuple[int, ...]], int] = {}
        self.monitors: list[Monitor] = []

    def __len__(self) -> int:
        return len(self.join.operands)

    def definition(self, number: int) -> StreamDef:
        definition = self.catalog.get(self.scans[number].stream.name)
        assert isinstance(definition, StreamDef)
        return definition

    def label(self, number: int) -> str:
        """What an input is called: the occurrence of a stream, or the scope of what is computed."""
        operand = self.join.operands[number]
        if isinstance(operand, Scan):
            return operand.stream.occurrence
        return operand.schema[0].scope if operand.schema else f"input {number}"

    def text(self, number: int, constraint: Constraint) -> str:
        """A declaration of an input's stream, as proofs name it."""
        return f"{self.definition(number).name}: {constraint_text(constraint)}"

    def declared(self) -> Iterator[tuple[int, Constraint]]:
        """What is declared of inputs whose rows are there at their own time: see `entering`."""
        for number in self.scans:
            if not self.entering(number):
                yield from ((number, constraint) for constraint in self.definition(number).constraints)

    def entering(self, number: int) -> int:
        """How long after its time a row of an input enters its window, at most.

        Until then it joins nothing. So closers that go by what has come of a target (keys, punctuations, clusters,
        orders, numbers of rows) would close it too soon, and are left out; those of times wait so much longer. As the
        source of a closer such a row is examined only once it has entered. Its start, and the numbers of rows that are
        noted with it, are those of that instant, not of its time: so it may wait longer than it must, never less.
        """
        spec = self.scans[number].spec
        return spec.lag if isinstance(spec, Range) else 0

    def named(self, number: int, names: Iterable[str]) -> tuple[int, ...] | None:
        """The variables that declared columns of an input are, if they all join."""
        scan = self.scans[number]
        own = {column.name.lower(): column for column in scan.stream.schema}
        found = []
        for name in names:
            columns = {output.column for output in scan.outputs if unwidened(output.expr) == own[name.lower()]}
            found.append(next((v for v in range(len(self.variables)) if self._held(number, v) & columns), None))
        return None if None in found else tuple(v for v in found if v is not None)

    def _held(self, number: int, variable: int) -> set[Column | None]:
        """The columns of an input that hold a variable: all of its class, if only rows in which they are equal do."""
        same = self._classes[variable]
        is_one = set(own_equalities(self.scans[number], same)) <= set(self.scans[number].where)
        return {*same} if is_one else {self.variables[variable][number]}

    def holds(self, number: int, variables: Iterable[int]) -> bool:
        """Whether an input has all these variables."""
        return all(self.variables[v][number] is not None for v in variables)

    def own(self, number: int) -> set[int]:
        """The variables of an input."""
        return {v for v, columns in enumerate(self.variables) if columns[number] is not None}

    def is_unbounded(self, number: int) -> bool:
        """Whether rows of an input never leave it by themselves."""
        return isinstance(self.scans[number].spec, Unbounded)

    def is_whole(self, number: int, variable: int) -> bool:
        """Whether a variable's codes are in the order of its values, and none lies between two."""
        column = self.variables[variable][number]
        return column is not None and (column.type.is_integer or column.type.kind in (Kind.TIMESTAMP, Kind.DATE))

    def is_key(self, number: int, variables: tuple[int, ...]) -> bool:
        """Whether one row of an input at most has these values."""
        keys = (each for each in self.definition(number).constraints if isinstance(each, Unique))
        named = (self.named(number, key.columns) for key in keys)
        return any(own is not None and set(own) <= set(variables) for own in named)

    def references(self) -> Iterator[tuple[int, int, Reference]]:
        """Inputs whose rows refer to rows of another that they join: number, the other's number, the reference."""
        for (number, _), (target, other) in product(self.scans.items(), self.scans.items()):
            for constraint in self.definition(number).constraints if number != target else ():
                if isinstance(constraint, Reference) and other.stream.name.lower() == constraint.parent.lower():
                    own = self.named(number, constraint.columns)
                    if own is not None and own == self.named(target, constraint.parent_columns):
                        yield number, target, constraint

    def read(self, scan: Scan, variables: tuple[int, ...] = ()) -> int:
        """The number of that evidence, whose columns are these variables.

        Evidence that is read as others is another one: so each goes to just those cells whose rows it speaks of.
        """
        numbers = self._numbers
        if (scan, variables) not in numbers:
            numbers[scan, variables] = len(self.evidence)
            self.evidence.append(scan)
        return numbers[scan, variables]

    def values(self, number: int, names: Iterable[str], variables: tuple[int, ...] = ()) -> int:
        """The evidence that has these columns of all rows of an input's stream, as variables."""
        return self.read(rows_of(self.definition(number), names), variables)

    def ticks(self, number: int, within: Within) -> int | None:
        """The evidence that counts the rows of an input's stream, where they are counted."""
        return None if isinstance(within, WithinTime) else self.values(number, ())

    def k(self, monitor: Monitor) -> K:
        """The k of a constraint, or who finds it. One monitor reads all rows of a stream, for all its occurrences."""
        if monitor.declared is not None and monitor.on_violation is OnViolation.IGNORE:
            return monitor.declared
        same = (n for n, known in enumerate(self.monitors) if _watches_the_same(known, monitor))
        if (number := next(same, None)) is None:
            self.monitors.append(monitor)
            number = len(self.monitors) - 1
        return Estimate(number) if monitor.varies or monitor.declared is None else monitor.declared

    def step(self, number: int, until: str, kind: BoundKind, *leans_on: str, is_seen: bool = True) -> RetentionStep:
        return RetentionStep(self.label(number), until, kind, leans_on, is_seen)


def _watches_the_same(one: Monitor, other: Monitor) -> bool:
    return not isinstance(one, OfReference) and one.constraint == other.constraint


def own_equalities(scan: Scan, same: Iterable[Column]) -> list[Compare]:
    """That columns of a class are equal, in a scan's own words."""
    spend(1 + len(scan.outputs) // 4)
    exprs = [output.expr for output in scan.outputs if output.column in same]
    return [Compare(Comparator.EQ, exprs[0], other) for other in exprs[1:]]

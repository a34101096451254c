"""The question: which values are asked about, and a block with them as a query of the theory.

An operand of the block is a stream of the theory, and so are the values that are asked about, if there are any: it is
equal to the operands on some columns, and ahead of others by at most the width of a bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.algebra.expressions import Column, Comparator, Expr, In, Literal
from penstock.algebra.predicates import ColumnBound, ColumnDifference, ColumnEquality, classify
from penstock.closing.blocks import Block, compares_units, window_differences
from penstock.closing.monotone_buckets import closable
from penstock.closing.punctuation import (
    FiniteAttribute,
    JoinAttribute,
    JoinDifference,
    JoinEquality,
    PunctuatedJoin,
    PunctuatedStream,
)
from penstock.effort import spend
from penstock.types import BOOLEAN

#: The stream of the values that are asked about.
ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Asked:
    """The values that are asked about: of columns, and the upper ends of buckets of columns, with their widths."""

    equal: frozenset[Column]
    upto: Mapping[Column, int]
    #: Whether they are values of a row that was there, or any.
    seen: bool

    @property
    def identity(self) -> Hashable:
        return self.equal, frozenset(self.upto.items()), self.seen

    def through(self, values: Mapping[Column, Expr]) -> Asked:
        """The same question of a relation below, in its own columns."""
        plain, buckets = closable(values[column] for column in self.equal if column in values)
        for column, width in self.upto.items():
            _, deeper = closable([values[column]] if column in values else [])
            buckets |= {c: w + width for c, w in deeper.items()}
        return Asked(plain, buckets, self.seen)


NOTHING = Asked(frozenset(), {}, seen=False)


class AskedBlock:
    """A block and the values that are asked about."""

    def __init__(self, block: Block, asked: Asked = NOTHING) -> None:
        self.block = block
        self.asked = asked
        self.owner = {column: operand.name for operand in block.operands for column in operand.relation.schema}
        spend(4 * (len(self.owner) + len(block.predicates)))  # all that follows from them is worked out once more
        found = [view for view in map(classify, block.predicates) if view is not None]
        self.views = [view for view in found if not compares_units(view, block.operands)]

    def attribute(self, column: Column) -> JoinAttribute:
        return JoinAttribute(self.owner[column], str(column))

    def seen(self) -> frozenset[Column]:
        """The columns whose values are known to have been there: equal to those that are asked about, or constant."""
        known = set(self.asked.equal)
        known |= {view.column for view in self.views if isinstance(view, ColumnBound) and view.op is Comparator.EQ}
        pairs = [view for view in self.views if isinstance(view, ColumnEquality)]
        leaders = {self.leader_of(column) for column in known}
        equal = (c for pair in pairs if self.leader_of(pair.left) in leaders for c in (pair.left, pair.right))
        return frozenset(known.union(equal))

    def joining(self) -> frozenset[Column]:
        pairs = [view for view in self.views if isinstance(view, ColumnEquality | ColumnDifference)]
        return frozenset(column for pair in pairs for column in (pair.left, pair.right)) | self.asked.equal

    @cached_property
    def leader_of(self) -> Callable[[Column], object]:
        """What is the same for columns that are equal."""
        leaders: dict[Column, Column] = {}

        def leader(column: Column) -> Column:
            found = column
            while found in leaders:
                found = leaders[found]
            while column != found:  # the way is shorter the next time
                leaders[column], column = found, leaders[column]
            return found

        for view in self.views:
            if isinstance(view, ColumnEquality) and leader(view.left) != leader(view.right):
                leaders[leader(view.left)] = leader(view.right)
        return leader

    def join_query(self) -> PunctuatedJoin:
        spend(len(self.views) + len(self.owner))
        equalities: list[JoinEquality] = []
        differences: list[JoinDifference] = []
        finite: list[FiniteAttribute] = []
        for view in self.views:
            match view:
                case ColumnEquality(left, right) if left in self.owner and right in self.owner:
                    equalities.append(JoinEquality(self.attribute(left), self.attribute(right)))
                case ColumnDifference(left, right, op, constant) if left in self.owner and right in self.owner:
                    differences += _differences(self.attribute(left), self.attribute(right), op, constant)
                case ColumnBound(column, op, int(value)) if column in self.owner and column.type != BOOLEAN:
                    differences += _differences(self.attribute(column), None, op, value)
                case ColumnBound(column, Comparator.EQ, value) if column in self.owner:
                    finite.append(FiniteAttribute(self.attribute(column), frozenset({value})))
        for predicate in self.block.predicates:
            match predicate:
                case In(Column() as column, options) if column in self.owner and not column.type.is_integer:
                    literals = [o.value for o in options if isinstance(o, Literal)]
                    if len(literals) == len(options):
                        finite.append(FiniteAttribute(self.attribute(column), frozenset(literals)))
        for later, earlier, width in window_differences(self.block):
            differences.append(JoinDifference(self.attribute(later), self.attribute(earlier), width))
        streams = [PunctuatedStream(o.name, tuple(map(str, o.relation.schema))) for o in self.block.operands]
        equal = [column for column in self.asked.equal if column in self.owner]
        upto = {column: width for column, width in self.asked.upto.items() if column in self.owner}
        streams.append(PunctuatedStream(ASKED, tuple({str(column) for column in (*equal, *upto)})))
        equalities += [JoinEquality(JoinAttribute(ASKED, str(column)), self.attribute(column)) for column in equal]
        differences += [
            JoinDifference(self.attribute(column), JoinAttribute(ASKED, str(column)), width)
            for column, width in upto.items()
            if column not in equal
        ]
        return PunctuatedJoin(tuple(streams), tuple(equalities), tuple(differences), tuple(finite))


def _differences(
    left: JoinAttribute, right: JoinAttribute | None, op: Comparator, value: int
) -> Iterator[JoinDifference]:
    if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
        yield JoinDifference(left, right, value - (op is Comparator.LT))
    if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
        yield JoinDifference(right, left, -value - (op is Comparator.GT))

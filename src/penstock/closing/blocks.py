"""A block: operands that are joined on a conjunction of predicates, as the theories read them.

A Join, a SemiJoin and an AntiJoin are all one block of operands: a row of one is needed as long as a change of another
may match it. An operand is a stream under its window and filters, a static relation, or a relation computed below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.algebra.copies import written
from penstock.algebra.expressions import Column, Expr
from penstock.algebra.predicates import ColumnDifference, ColumnEquality, PredicateView
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    Range,
    Relation,
    Select,
    SemiJoin,
    Window,
    streams,
)
from penstock.closing.contents import is_static
from penstock.closing.finite import truths
from penstock.effort import spend


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of a block; its name is the occurrence's, or a number where it is no single stream."""

    name: str
    relation: Relation

    @property
    def window(self) -> Window | None:
        """The stream's window, where the operand is a stream with filters."""
        below = self.relation.input if isinstance(self.relation, Select) else self.relation
        return below if isinstance(below, Window) else None

    @property
    def label(self) -> str:
        return label(self.relation)

    @property
    def is_static(self) -> bool:
        return is_static(self.relation)


@dataclass(frozen=True, slots=True)
class Block:
    operands: tuple[Operand, ...]
    #: What is true of every combination of rows that counts, the operands' own filters included.
    predicates: tuple[Expr, ...]

    def others(self, operand: Operand) -> tuple[Operand, ...]:
        return tuple(other for other in self.operands if other is not operand)


def block_of(relation: Relation) -> Block:
    """The block that a node is; a node that joins nothing is a block of itself."""
    match relation:
        case Join(operands, on):
            return _block(operands, on)
        case SemiJoin(left, right, on) | AntiJoin(left, right, on):
            return _block((left, right), on)
    return _block((relation,), ())


def flat_block(relation: Relation) -> Block:
    """The block with joins below it taken apart, semi-joins too: whoever asks for changes that still may come."""
    operands, on = _flat(relation)
    return _block(tuple(operands), tuple(on))


def _flat(relation: Relation) -> tuple[list[Relation], list[Expr]]:
    match relation:
        case Join(below, on):
            inputs: Iterable[Relation] = below
        case SemiJoin(left, right, on):
            inputs = (left, right)
        case Select(Join() | SemiJoin() as joined, on):
            inputs = (joined,)
        case _:
            return [relation], []
    operands: list[Relation] = []
    predicates = list(on)
    for each in inputs:
        more, also = _flat(each)
        operands += more
        predicates += also
    return operands, predicates


def _block(relations: tuple[Relation, ...], on: tuple[Expr, ...]) -> Block:
    named = tuple(_named(relations))
    return Block(named, on + tuple(truth for operand in named for truth in truths(operand.relation)))


def _named(relations: tuple[Relation, ...]) -> Iterator[Operand]:
    for number, relation in enumerate(relations):
        operand = Operand(str(number), relation)
        yield Operand(operand.window.stream.occurrence, relation) if operand.window else operand


def window_differences(block: Block) -> Iterator[tuple[Column, Column, int]]:
    """`later - earlier <= width`: rows of a window of time meet only rows that come before they leave it."""
    timed = [(operand.window, operand) for operand in block.operands if operand.window is not None]
    for window, operand in timed:
        if isinstance(window.spec, Range):
            unit = window.stream.unit
            width = unit.in_numbers(window.spec.width + (window.spec.slide or 0))
            spend(len(timed))
            for other, beside in timed:
                if beside is not operand and other.stream.unit is unit:
                    yield other.stream.timestamp, window.stream.timestamp, width


def compares_units(view: PredicateView, operands: Iterable[Operand]) -> bool:
    """Whether a predicate compares times that count in different units.

    No run forgets by it, and hardly anybody means it, so nothing is concluded from it.
    """
    units = {o.window.stream.timestamp: o.window.stream.unit for o in operands if o.window is not None}
    match view:
        case ColumnEquality(left, right) | ColumnDifference(left, right):
            return left in units and right in units and units[left] is not units[right]
    return False


def label(relation: Relation) -> str:
    """What a user would call a relation: by the occurrences that it reads."""
    match relation:
        case Window(stream):
            return stream.occurrence
        case Select(below) | SemiJoin(left=below) | AntiJoin(left=below):
            return label(below)
        case Aggregate():
            return f"the groups of {_listed(relation)}"
        case Distinct():
            return f"the distinct rows of {_listed(relation)}"
    return _listed(relation)


def _listed(relation: Relation) -> str:
    return " and ".join(dict.fromkeys(written(stream.occurrence) for stream in streams(relation)))

"""Blocks of streams as join graphs: what k-constraints leave of each operand (thesis chapter 6).

The thesis keeps rows by what they wait for: Unknown rows for the streams that they refer to, Yes rows for the others.
What an operand keeps is the sum of its components. A k that is to be inferred has no number, and waits in `closing/`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from penstock.algebra.expressions import Column, columns
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import PartitionRows, Range, Rows, Select, Window
from penstock.catalog import (
    Catalog,
    Clustered,
    Inferred,
    Ordered,
    Punctuated,
    Reference,
    StreamDef,
    Within,
    WithinRows,
    WithinTime,
)
from penstock.closing import kconstraints
from penstock.closing.blocks import Block, Operand, compares_units
from penstock.closing.bounds import NONE, Bound, BoundKind, plus
from penstock.closing.contents import declared_rate, rates_of, unique_keys
from penstock.closing.declarations import constraint_text
from penstock.closing.declared_k import rows_from_rate
from penstock.closing.kconstraints import Component, ConstrainedJoin, ConstrainedStream, JoinAttribute
from penstock.closing.proof import Proof

_KINDS = {
    kconstraints.ComponentKind.WINDOW: BoundKind.WINDOW,
    kconstraints.ComponentKind.K: BoundKind.K,
    kconstraints.ComponentKind.OPEN: BoundKind.OPEN,
}


@dataclass(frozen=True, slots=True)
class BlockAnalysis:
    """What the theory says of a block, and how its constraints were written."""

    components: Callable[[str], dict[Component, kconstraints.ComponentBound] | None]
    written: Mapping[kconstraints.ArrivalConstraint, str]
    #: How the rate of each operand was written.
    rates: Mapping[str, tuple[str, ...]]

    def bound(self, operand: Operand) -> tuple[Bound, Proof] | None:
        """What is kept of an operand, if k-constraints bound it."""
        found = self.components(operand.name)
        if found is None:
            return None
        parts = [(c.value, part) for c in Component if isinstance(part := found[c], kconstraints.BoundedComponent)]
        claim = f"a row of {operand.name} goes once its partners have had their time"
        proofs = tuple(
            Proof(f"{name}: {part}", f"thesis: {part.proof.rule}", self._leans_on(part)) for name, part in parts
        )
        bounds = [_bound(part) for _, part in parts]
        return plus(dict.fromkeys(bounds)) if bounds else NONE, Proof(claim, "", (), proofs)

    def _leans_on(self, part: kconstraints.BoundedComponent) -> tuple[str, ...]:
        found = [self.written[fact] for fact in part.proof.leans_on if fact in self.written]  # type: ignore[index]
        if part.number is not None:
            steps = (step for wait in part.waits for step in wait.steps)
            waited = [step.stream for step in steps if isinstance(step, kconstraints.After)]
            found += [rate for name in (part.counted, *waited) for rate in self.rates.get(name, ())]
        return tuple(dict.fromkeys(found))


def analyse_block(block: Block, catalog: Catalog) -> BlockAnalysis | None:
    """The theory's analysis of a block, if all that changes in it are streams under windows that it knows."""
    changing = [operand for operand in block.operands if not operand.is_static]
    if not all(operand.window and not isinstance(operand.window.spec, PartitionRows) for operand in changing):
        return None
    names = {column: operand.name for operand in changing for column in operand.relation.schema}
    found = [view for view in map(classify, block.predicates) if isinstance(view, ColumnEquality)]
    views = [view for view in found if not compares_units(view, block.operands)]
    equalities = tuple(
        kconstraints.JoinEquality(
            JoinAttribute(names[v.left], v.left.name), JoinAttribute(names[v.right], v.right.name)
        )
        for v in views
        if v.left in names and v.right in names and names[v.left] != names[v.right]
    )
    written = dict(_constraints(changing, catalog))
    unequal = frozenset(c for p in block.predicates if not isinstance(classify(p), ColumnEquality) for c in columns(p))
    streams = tuple(_stream(operand, unequal, catalog) for operand in changing)
    rates = {operand.name: rates_of(operand.window, catalog) for operand in changing if operand.window}
    return BlockAnalysis(
        kconstraints.bounded_components(ConstrainedJoin(streams, equalities, tuple(written))), written, rates
    )


def known_constraints(block: Block, catalog: Catalog) -> tuple[Hashable, ...]:
    """All that the theory knows of a block's streams, so that it need not be asked twice."""
    names = dict.fromkeys(operand.window.stream.name for operand in block.operands if operand.window)
    found = [definition for definition in map(catalog.get, names) if isinstance(definition, StreamDef)]
    return tuple((d.name, d.delay, *(c for c in d.constraints if not isinstance(c, Punctuated))) for d in found)


def tells_more(block: Block, catalog: Catalog) -> bool:
    """Whether the theory may bound what a purge does not: purges know of RIDS and of times, too, but not of order."""
    windows = [operand.window for operand in block.operands if operand.window]
    found = (definition for w in windows if isinstance(definition := catalog.get(w.stream.name), StreamDef))
    ordered = any(isinstance(constraint, Ordered) for definition in found for constraint in definition.constraints)
    return ordered or any(isinstance(window.spec, Rows) for window in windows)


def _bound(part: kconstraints.BoundedComponent) -> Bound:
    waits = " or ".join(dict.fromkeys(map(str, part.waits)))
    number = "" if part.number is None else f"{part.number} "
    words = {
        kconstraints.ComponentKind.WINDOW: f"{waits} of {part.counted}",
        kconstraints.ComponentKind.K: f"{number}rows of {part.counted} during {waits}",
        kconstraints.ComponentKind.OPEN: f"rows of {part.counted} before {waits}",
    }[part.kind]
    return Bound(_KINDS[part.kind], words, part.number)


def _stream(operand: Operand, unequal: frozenset[Column], catalog: Catalog) -> ConstrainedStream:
    """The theory's stream; `unequal` are the columns that predicates other than equalities read."""
    window = operand.window
    assert window is not None
    definition = catalog.get(window.stream.name)
    assert isinstance(definition, StreamDef)
    return ConstrainedStream(
        operand.name,
        tuple(column.name for column in window.schema),
        keys=tuple(frozenset(c.name for c in key) for key in unique_keys(window, catalog)),
        window=_extent(window),
        filtered=isinstance(operand.relation, Select) or not unequal.isdisjoint(window.schema),
        clock=kconstraints.StreamClock(window.stream.timestamp.name, definition.delay),
        rate=declared_rate(definition),
        source=window.stream.name,
    )


def _extent(window: Window) -> kconstraints.Extent | None:
    match window.spec:
        case Range(width, slide):
            return kconstraints.TimeSpan(width + (slide or 0))
        case Rows(count):
            return kconstraints.RowCount(count)
    return None


def _constraints(operands: list[Operand], catalog: Catalog) -> Iterator[tuple[kconstraints.ArrivalConstraint, str]]:
    """The declared constraints of each occurrence, RIDS towards each occurrence of the stream referred to."""
    for operand in operands:
        assert operand.window is not None
        definition = catalog.get(operand.window.stream.name)
        assert isinstance(definition, StreamDef)
        names = {column.name.lower(): column.name for column in operand.window.schema}
        for constraint in definition.constraints:
            text = f"{definition.name}: {constraint_text(constraint)}"
            match constraint:
                case Reference(own, parent, theirs, within) if not isinstance(within, Inferred):
                    for target in operands:
                        if target.window is not None and target.window.stream.name.lower() == parent.lower():
                            there = {column.name.lower(): column.name for column in target.window.schema}
                            mine = tuple(names[c.lower()] for c in own)
                            other = tuple(there[c.lower()] for c in theirs)
                            yield kconstraints.Rids(operand.name, mine, target.name, other, _within(within)), text
                            if (rows := rows_from_rate(constraint, definition, catalog)) is not None:
                                k = kconstraints.RowCount(rows.within.k)
                                yield kconstraints.Rids(operand.name, mine, target.name, other, k), text
                case Clustered(own, within) if not isinstance(within, Inferred):
                    mine = tuple(names[c.lower()] for c in own)
                    yield kconstraints.ClusteredArrival(operand.name, mine, _within(within)), text
                case Ordered(column, within) if not isinstance(within, Inferred):
                    yield kconstraints.OrderedArrival(operand.name, names[column.lower()], _within(within)), text


def _within(within: Within) -> kconstraints.Extent:
    match within:
        case WithinRows(k):
            return kconstraints.RowCount(k)
        case WithinTime(microseconds):
            return kconstraints.TimeSpan(microseconds)
    raise AssertionError("an inferred k has no number")

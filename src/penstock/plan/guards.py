"""Guards: rows that arrive after a punctuation of their values are rejected at the leaves, and counted.

They stand before joins that purge by a scheme, and before groups, sets and set operations that end by it: there such a
row would miss what is gone, or begin anew what had ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from penstock.algebra.expressions import Column
from penstock.algebra.physical import Scan
from penstock.algebra.predicates import unwidened
from penstock.algebra.relations import Relation, walk_relations
from penstock.catalog import Catalog, Clustered, OnViolation, Ordered, Punctuated, Reference, StreamDef
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import of_fixed, values_of
from penstock.closing.group_closers import (
    AfterOrder,
    AfterPunctuation,
    AfterReference,
    ByReference,
    ByRows,
    Closers,
    GroupEnding,
)
from penstock.closing.physical_join import PhysicalJoin

#: What closes values by numbers of rows, and not by punctuations. The evidence are all rows of a stream.
Counted = AfterPunctuation | AfterOrder | AfterReference


@dataclass(frozen=True, slots=True)
class Guard:
    """Of the rows of a leaf those are rejected whose values, in these places, punctuations have closed.

    `leaf` and `evidence` are numbers of routes.
    """

    leaf: int
    places: tuple[int, ...]
    evidence: int
    lifespan: int | None
    #: The declaration, if a row that it rejects stops the run.
    stops: str | None
    by: Counted | None = None
    #: The rows that a reference counts.
    ticks: int | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a scheme says of a scan's rows: the stream's columns, where the scan has them, and the punctuations."""

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    evidence: Scan
    lifespan: int | None
    stops: str | None
    by: Counted | None = None
    ticks: Scan | None = None


#: Leaves of a plan, each with a ruling. They are told apart by identity.
Rulings = tuple[tuple[Scan, Ruling], ...]


def rulings(relation: Relation, catalog: Catalog) -> Rulings:
    """The schemes by which operators of a physical relation forget, each with the scans of its stream below them."""
    found: dict[tuple[int, Ruling], Scan] = {}
    for node in walk_relations(relation):
        evidence = _evidence(node)
        for scan in _scans_below(node) if evidence else ():
            found |= {(id(scan), ruling): scan for ruling in _rulings(scan, catalog) if ruling.evidence in evidence}
        for scan, closers in product(_scans_below(node), _endings(node)):
            found |= {(id(scan), ruling): scan for ruling in _counted_rulings(scan, closers, catalog)}
    return tuple((scan, ruling) for (_, ruling), scan in found.items())


def _evidence(node: Relation) -> tuple[Relation, ...]:
    match node:
        case PhysicalJoin():
            return node.evidence
        case GroupEnding():
            return node.inputs[1:]
    return ()


def _endings(node: Relation) -> tuple[Closers, ...]:
    """What closes entries of an operator."""
    match node:
        case PhysicalJoin(endings=endings):
            return tuple(closers for closers in endings if closers is not None)
        case GroupEnding(closers=closers, values=values):
            return (closers, *(each.groups.closers for each in values))
    return ()


def _scans_below(node: Relation) -> Iterator[Scan]:
    """The leaves whose rows an operator gets, without those that are evidence."""
    if isinstance(node, Scan):
        yield node
    evidence = _evidence(node)
    for below in node.inputs[: len(node.inputs) - len(evidence)]:
        yield from _scans_below(below)


def _rulings(scan: Scan, catalog: Catalog) -> Iterator[Ruling]:
    definition = catalog.get(scan.stream.name)
    assert isinstance(definition, StreamDef)
    own = {column.name.lower(): column for column in scan.stream.schema}
    for scheme in definition.constraints:
        evidence = values_of(definition, scheme, catalog) if isinstance(scheme, Punctuated) else None
        if not isinstance(scheme, Punctuated) or evidence is None:
            continue
        text = f"{definition.name}: {constraint_text(scheme)}"
        stops = text if scheme.on_violation is OnViolation.ERROR else None
        fixed = of_fixed(evidence, scheme.columns, scan)
        for names, values in ((scheme.columns, evidence), *((fixed,) if fixed else ())):
            columns = tuple(own[name.lower()] for name in names)
            places = tuple(_places(scan, columns))
            if len(places) == len(columns):
                yield Ruling(columns, places, values, scheme.lifespan, stops)


def _counted_rulings(scan: Scan, closers: Closers, catalog: Catalog) -> Iterator[Ruling]:
    """What CA, OA and RIDS say of a scan's rows, where entries end by them."""
    ticks: Scan | None
    for closer in closers:
        match closer:
            case AfterReference(then=then) | AfterPunctuation(then=ByReference() as then):
                number, names, declaration = then.ticks, [column.name for column in then.referred], then.declaration
                ticks = closers.evidence[number]
            case AfterOrder(evidence=number) | AfterPunctuation(evidence=number, cluster=ByRows()):
                names, declaration = [column.name for column in closers.evidence[number].schema], closer.scheme
                ticks = None
            case _:
                continue
        if closers.evidence[number].stream.name != scan.stream.name:
            continue
        own = {column.name.lower(): column for column in scan.stream.schema}
        columns = tuple(own[name.lower()] for name in names)
        places = tuple(_places(scan, columns))
        on_violation = _on_violation(declaration, catalog)
        if len(places) == len(columns) and not (ticks is not None and on_violation is OnViolation.IGNORE):
            stops = declaration if on_violation is OnViolation.ERROR else None
            by = closer if isinstance(closer, AfterOrder) else closer.at_once
            yield Ruling(columns, places, closers.evidence[closer.evidence], None, stops, by, ticks)


def _on_violation(text: str, catalog: Catalog) -> OnViolation | None:
    """What happens to rows that break a constraint on numbers of rows, as proofs name it."""
    declared = ((stream.name, each) for stream in catalog.streams for each in stream.constraints)
    counted = ((name, each) for name, each in declared if isinstance(each, Clustered | Ordered | Reference))
    return next((each.on_violation for name, each in counted if f"{name}: {constraint_text(each)}" == text), None)


def _places(scan: Scan, columns: Iterable[Column]) -> Iterator[int]:
    """Where a scan has these columns of its stream, as far as it has them."""
    for column in columns:
        place = next((n for n, output in enumerate(scan.outputs) if unwidened(output.expr) == column), None)
        if place is not None:
            yield place

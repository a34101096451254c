"""Guards: rows that a punctuation had ruled out are left out where they come in, and counted.

They stand before joins that forget by a scheme, and before groups, sets and set operations that end by it: there such a
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
from penstock.catalog import Catalog, Clustered, OnViolation, Ordered, Punctuated, StreamDef
from penstock.closing.declarations import constraint_text
from penstock.closing.evidence import of_fixed, values_of
from penstock.closing.group_closers import AfterOrder, AfterPunctuation, Closers, GroupEnding
from penstock.closing.physical_join import PhysicalJoin


@dataclass(frozen=True, slots=True)
class Guard:
    """Of the rows of a leaf those are left out whose values, in these places, punctuations have closed.

    `leaf` and `evidence` are numbers of routes.
    """

    leaf: int
    places: tuple[int, ...]
    evidence: int
    lifespan: int | None
    #: The declaration, if a row that it had ruled out stops the run.
    stops: str | None
    #: What closes values by numbers of rows, where it is not punctuations: the evidence are all rows of the stream.
    by: AfterPunctuation | AfterOrder | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a scheme says of a scan's rows: the stream's columns, where the scan has them, and the punctuations."""

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    evidence: Scan
    lifespan: int | None
    stops: str | None
    by: AfterPunctuation | AfterOrder | None = None


#: Leaves of a plan, each with a ruling. They are told apart by identity.
Rulings = tuple[tuple[Scan, Ruling], ...]


def rulings(relation: Relation, catalog: Catalog) -> Rulings:
    """The schemes by which operators of a physical relation forget, each with the scans of its stream below them."""
    found: dict[tuple[int, Ruling], Scan] = {}
    for node in walk_relations(relation):
        evidence = _evidence(node)
        for scan in _scans_below(node) if evidence else ():
            found |= {(id(scan), ruling): scan for ruling in _rulings(scan, catalog) if ruling.evidence in evidence}
        if isinstance(node, GroupEnding):
            endings = (node, *(values.groups for values in node.values))
            for scan, ending in product(_scans_below(node), endings):
                found |= {(id(scan), ruling): scan for ruling in _counted_rulings(scan, ending.closers, catalog)}
    return tuple((scan, ruling) for (_, ruling), scan in found.items())


def _evidence(node: Relation) -> tuple[Relation, ...]:
    match node:
        case PhysicalJoin():
            return node.evidence
        case GroupEnding():
            return node.inputs[1:]
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
        for names, told in ((scheme.columns, evidence), *((fixed,) if fixed else ())):
            columns = tuple(own[name.lower()] for name in names)
            places = tuple(_places(scan, columns))
            if len(places) == len(columns):
                yield Ruling(columns, places, told, scheme.lifespan, stops)


def _counted_rulings(scan: Scan, closers: Closers, catalog: Catalog) -> Iterator[Ruling]:
    """What CA and OA say of a scan's rows, where groups end by them."""
    definition = catalog.get(scan.stream.name)
    assert isinstance(definition, StreamDef)
    own = {column.name.lower(): column for column in scan.stream.schema}
    for closer in closers:
        if not isinstance(closer, AfterOrder) and not (isinstance(closer, AfterPunctuation) and closer.cluster):
            continue
        evidence = closers.evidence[closer.evidence]
        columns = tuple(own[column.name.lower()] for column in evidence.schema)
        places = tuple(_places(scan, columns))
        counted = (c for c in definition.constraints if isinstance(c, Clustered | Ordered))
        stopping = (constraint_text(c) for c in counted if c.on_violation is OnViolation.ERROR)
        stops = closer.scheme if closer.scheme in {f"{definition.name}: {text}" for text in stopping} else None
        if len(places) == len(columns):
            yield Ruling(columns, places, evidence, None, stops, closer)


def _places(scan: Scan, columns: Iterable[Column]) -> Iterator[int]:
    """Where a scan has these columns of its stream, as far as it has them."""
    for column in columns:
        place = next((n for n, output in enumerate(scan.outputs) if unwidened(output.expr) == column), None)
        if place is not None:
            yield place

"""Punctuations: after one of a scheme, no row with its values comes again (004, definition 3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from penstock.algebra.physical import Scan
from penstock.catalog import OnViolation, Punctuated, Reference, StreamDef, WithinRows, WithinTime
from penstock.closing.bounds import BoundKind
from penstock.closing.evidence import of_fixed, values_of
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.retention import RetentionStep
from penstock.closing.rules import ByDeclaration, ByPunctuation, ReferredRow


def punctuations(inputs: JoinInputs, _: Found) -> Closers:
    seen = set[tuple[int, frozenset[int]]]()
    for number, scheme in schemes(inputs):
        if scheme.lifespan is None and (read := punctuated(inputs, number, scheme)) is not None:
            variables, evidence = read
            stops = inputs.text(number, scheme) if scheme.on_violation is OnViolation.ERROR else None
            if (number, frozenset(variables)) in seen and stops is None:
                continue  # one scheme is enough; punctuations of a second one would find those gone that they go with
            seen.add((number, frozenset(variables)))
            # With spill nothing that a k says is taken for certain.
            referred = () if inputs.spill else tuple(_referred(inputs, number, scheme, variables))
            closer = ByPunctuation(number, variables, inputs.read(evidence, variables), stops, referred)
            yield closer, _step(inputs, number, scheme)


def unseen_punctuations(inputs: JoinInputs, _: Found) -> Closers:
    """Schemes that do not say where their punctuations come from: safe by declaration, and no run sees one."""
    for number, scheme in schemes(inputs):
        is_seen = scheme.when is not None or scheme.source is not None
        if not is_seen and scheme.lifespan is None and (variables := inputs.named(number, scheme.columns)) is not None:
            yield ByDeclaration(number, variables), _step(inputs, number, scheme, is_seen=False)


def schemes(inputs: JoinInputs) -> Iterator[tuple[int, Punctuated]]:
    return ((number, scheme) for number, scheme in inputs.declared() if isinstance(scheme, Punctuated))


def punctuated(inputs: JoinInputs, number: int, scheme: Punctuated) -> tuple[tuple[int, ...], Scan] | None:
    """The variables that punctuations of a scheme close, and where they are seen; None if they close none."""
    found = values_of(inputs.definition(number), scheme, inputs.catalog)
    if found is None:
        return None
    variables = inputs.named(number, scheme.columns)
    if variables is None and (fixed := of_fixed(found, scheme.columns, inputs.scans[number])) is not None:
        names, found = fixed
        variables = inputs.named(number, names)
    return None if variables is None else (variables, found)


def _step(inputs: JoinInputs, number: int, scheme: Punctuated, is_seen: bool = True) -> RetentionStep:
    until = f"punctuation ({', '.join(scheme.columns)}) of {inputs.label(number)}"
    return inputs.step(number, until, BoundKind.OPEN, inputs.text(number, scheme), is_seen=is_seen)


def _referred(inputs: JoinInputs, number: int, scheme: Punctuated, variables: tuple[int, ...]) -> Iterator[ReferredRow]:
    """What punctuations with these values refer to, if it is declared how far."""
    for reference, target in _references(inputs, number, scheme, variables):
        match reference.within:
            case WithinTime(microseconds=time):
                yield ReferredRow(target, time + inputs.entering(target), None)
            case WithinRows(k) if not inputs.entering(target):
                yield ReferredRow(target, k, inputs.ticks(target, reference.within))


def _references(
    inputs: JoinInputs, number: int, scheme: Punctuated, variables: tuple[int, ...]
) -> Iterator[tuple[Reference, int]]:
    """How punctuations, which are rows of an input's own stream or of another, refer to other inputs."""
    punctuating = inputs.definition(number) if scheme.source is None else inputs.catalog.get(scheme.source)
    assert isinstance(punctuating, StreamDef)
    names = scheme.columns if scheme.source is None else scheme.source_columns
    closed = {name.lower(): column for name, column in zip(names, scheme.columns, strict=True)}
    for reference, (target, scan) in product(punctuating.constraints, inputs.scans.items()):
        if not isinstance(reference, Reference) or reference.on_violation is OnViolation.WIDEN or target == number:
            continue
        is_parent = scan.stream.name.lower() == reference.parent.lower()
        if is_parent and {name.lower() for name in reference.columns} <= closed.keys():
            own = inputs.named(number, [closed[name.lower()] for name in reference.columns])
            if own is not None and set(own) <= set(variables) and own == inputs.named(target, reference.parent_columns):
                yield reference, target

"""Punctuations: after one of a scheme, no row with its values comes again (004, definition 3)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.algebra.physical import Scan
from penstock.catalog import OnViolation, Punctuated, WithinRows, WithinTime
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
                continue  # one scheme tells it; a second one's punctuations would find those they go with gone
            seen.add((number, frozenset(variables)))
            # With spill nothing that a k says is taken for certain.
            is_sure = scheme.when is not None and not inputs.spill
            referred = tuple(_referred(inputs, number, variables)) if is_sure else ()
            closer = ByPunctuation(number, variables, inputs.read(evidence), stops, referred)
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


def _referred(inputs: JoinInputs, number: int, variables: tuple[int, ...]) -> Iterator[ReferredRow]:
    """What rows of an input with these values refer to, if it is declared how far."""
    for source, target, reference in inputs.references():
        own = inputs.named(source, reference.columns)
        if source != number or own is None or not set(own) <= set(variables):
            continue
        if reference.on_violation is OnViolation.WIDEN:
            continue
        match reference.within:
            case WithinTime(microseconds=time):
                yield ReferredRow(target, time + inputs.entering(target), None)
            case WithinRows(k) if not inputs.entering(target):
                yield ReferredRow(target, k, inputs.ticks(target, reference.within))

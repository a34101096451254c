"""What joins, and what punctuations rule out: the ground on which a purge, or a witness against one, can be checked."""

from __future__ import annotations

from collections.abc import Hashable

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.defeat import StreamRow
from penstock.closing.punctuation.join_classes import ZERO, JoinClasses
from penstock.closing.punctuation.schemes import Punctuation

#: The values of the classes that some joined rows have.
Binding = dict[int, Hashable]


def rules_out(punctuation: Punctuation, row: StreamRow) -> bool:
    """The row may not come after the punctuation."""
    scheme = punctuation.scheme
    if scheme.stream != row.stream or any(
        row[name] != value for name, value in zip(scheme.attributes, punctuation.values, strict=True)
    ):
        return False
    if scheme.order is None or punctuation.upto is None:
        return True
    value = row[scheme.order]
    return isinstance(value, int) and value <= punctuation.upto


def joined(classes: JoinClasses, binding: Binding, row: StreamRow) -> Binding | None:
    """The binding with the row added, or None where the predicates do not let them join; NULL joins with nothing."""
    result = {ZERO: 0, **binding}
    for name, value in row.values:
        number = classes.of.get(JoinAttribute(row.stream, name))
        if number is None:
            continue
        if value is None and not _free(classes, number):
            return None
        if result.setdefault(number, value) != value or value not in classes.finite.get(number, (value,)):
            return None
    return result if all(_near(classes, result, number) for number in classes.by_stream[row.stream]) else None


def _free(classes: JoinClasses, number: int) -> bool:
    """No predicate asks for the value."""
    edges = classes.upward[number] or classes.downward[number]
    return len(classes.members[number]) == 1 and number not in classes.finite and not edges


def _near(classes: JoinClasses, binding: Binding, number: int) -> bool:
    """The differences between the class and others that are bound hold."""
    here = binding[number]
    return all(
        _difference(binding[edge.target], here) <= edge.bound
        for edge in classes.upward[number]
        if edge.target in binding
    ) and all(
        _difference(here, binding[edge.target]) <= edge.bound
        for edge in classes.downward[number]
        if edge.target in binding
    )


def _difference(left: Hashable, right: Hashable) -> int:
    assert isinstance(left, int)
    assert isinstance(right, int)
    return left - right

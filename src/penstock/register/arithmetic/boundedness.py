"""With duplicates: every row counts, so a stream needs a counter for each box that its rows can have (theorem 4.2).

Bounded if and only if, for each stream of a join, the rows differ in finitely many ways: in their projected values,
and in the rows that they join. *If*: a counter and a sample for each way. *Only if*: of infinitely many different
sets of partners any number are linearly independent, so the counts after each set of rows differ for some partner. No
condition on the query is needed, nor are local orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from penstock.register.arithmetic.closure import Apart, Closure
from penstock.register.arithmetic.judgement import BoundSide, Failure, Missing, Reason
from penstock.register.arithmetic.query import ConjunctiveQuery, Opaque
from penstock.register.arithmetic.references import JoinReference, avoided, read_values, references, steps_within


class Pattern(Enum):
    """The rows that no plan may forget, and their partners, are arranged in one of these patterns."""

    #: Rows differ in a projected value.
    VALUES = "values"
    #: The partner of a row joins it, and none before it.
    STAIRS = "stairs"
    #: The partner of a row joins no other.
    MATCHES = "matches"
    #: The partner of a row joins all others.
    HOLES = "holes"


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition of theorem 4.2 or 5.2 fails; its cause is what a witness is built from."""

    failure: Failure
    pattern: Pattern
    #: VALUES: the attribute. HOLES: the `<>`. STAIRS and MATCHES: one reference or two.
    cause: int | Apart | tuple[JoinReference, ...]


def with_duplicates(query: ConjunctiveQuery, closure: Closure) -> Iterator[FailedCondition]:
    """Find each condition of theorem 4.2 that fails. C2 is not told from C3: an equality is two inequalities."""
    if len(query.streams) == 1:
        return
    yield from infinite_projections(query, closure)
    for stream in query.streams:
        for reference in references(closure, stream.name):
            if read_values(closure, reference) is None:
                yield _joined(closure, stream.name, reference)
        for own, apart in avoided(closure, stream.name):
            if meeting_values(closure, apart) is None:
                yield _held_apart(closure, stream.name, own, apart)
    yield from infinite_opaques(query, closure)


def infinite_projections(query: ConjunctiveQuery, closure: Closure) -> Iterator[FailedCondition]:
    """Find projected attributes with infinitely many values: C1, by lemma A.2."""
    for attribute in dict.fromkeys(query.projected):
        node = closure.node(attribute)
        if closure.values(node) is None:
            failure = Failure(Reason.PROJECTED, attribute.stream, (), missing_bounds(closure, node))
            yield FailedCondition(failure, Pattern.VALUES, node)


def infinite_opaques(query: ConjunctiveQuery, closure: Closure) -> Iterator[FailedCondition]:
    """A join of which nothing is known must be answered from the values themselves."""
    for condition in query.conditions:
        if isinstance(condition, Opaque) and len(condition.streams) > 1:
            for attribute in sorted(condition.attributes):
                node = closure.node(attribute)
                if closure.values(node) is None:
                    missing = missing_bounds(closure, node)
                    yield FailedCondition(
                        Failure(Reason.OPAQUE, attribute.stream, (condition,), missing), Pattern.VALUES, node
                    )


def meeting_values(closure: Closure, apart: Apart) -> int | None:
    """Count the values in which the two sides of a `<>` can meet; None if they are infinitely many."""
    uppers = (closure.above(apart.left), _shifted(closure.above(apart.right), apart.value))
    lowers = (closure.below(apart.left), _shifted(closure.below(apart.right), -apart.value))
    above = min((limit for limit in uppers if limit is not None), default=None)
    below = min((limit for limit in lowers if limit is not None), default=None)
    if above is None or below is None:
        return None
    if above + below < 0:
        return 0
    steps = steps_within(above + below, min(closure.steps[apart.left], closure.steps[apart.right]))
    return None if steps is None else steps + 1


def _shifted(limit: int | None, by: int) -> int | None:
    return None if limit is None else limit + by


def missing_bounds(closure: Closure, *nodes: int) -> tuple[Missing, ...]:
    """List the sides on which attributes have no bound; a dense one that is not equal to a constant lacks both."""
    found = []
    for node in nodes:
        attribute = closure.attributes[node - 1]
        pinned = closure.is_dense(node) and closure.values(node) is None
        if pinned or closure.above(node) is None:
            found.append(Missing(attribute, BoundSide.ABOVE))
        if pinned or closure.below(node) is None:
            found.append(Missing(attribute, BoundSide.BELOW))
    return tuple(found)


def _joined(closure: Closure, stream: str, reference: JoinReference) -> FailedCondition:
    missing = tuple(
        bound
        for node, side in ((reference.high, BoundSide.ABOVE), (reference.low, BoundSide.BELOW))
        for bound in missing_bounds(closure, node)
        if bound.side is side or closure.is_dense(node)
    )
    return FailedCondition(
        Failure(Reason.JOINED, stream, (reference.comparison,), missing), Pattern.STAIRS, (reference,)
    )


def _held_apart(closure: Closure, stream: str, own: int, apart: Apart) -> FailedCondition:
    other = apart.right if own == apart.left else apart.left
    missing = missing_bounds(closure, own, other)
    return FailedCondition(Failure(Reason.JOINED, stream, (apart.comparison,), missing), Pattern.HOLES, apart)

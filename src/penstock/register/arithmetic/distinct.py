"""Without duplicates: a row counts only while it joins something that no other row joins (theorem 5.2).

Bounded if and only if the projected values are finitely many and, for each stream, there is a largest family of rows
each of which has a partner that joins no other row of the family. *If*: drop rows whose box the others cover; a
family is left. *Only if*: lemma A.3. By Ramsey's theorem a large family holds a large one that uses just two
references, and those are counted in `references`.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.register.arithmetic.boundedness import (
    FailedCondition,
    Pattern,
    infinite_opaques,
    infinite_projections,
    missing_bounds,
)
from penstock.register.arithmetic.closure import Closure
from penstock.register.arithmetic.judgement import Failure, Reason
from penstock.register.arithmetic.query import ConjunctiveQuery
from penstock.register.arithmetic.references import JoinReference, pairs_without_end, references


def without_duplicates(query: ConjunctiveQuery, closure: Closure) -> Iterator[FailedCondition]:
    """Find what fails of theorem 5.2. `<>` between streams is harmless: two rows leave one hole at most."""
    yield from infinite_projections(query, closure)
    for stream in query.streams:
        pair = pairs_without_end(closure, references(closure, stream.name))
        if pair is not None:
            yield _entangled(closure, stream.name, pair)
    if len(query.streams) > 1:
        yield from infinite_opaques(query, closure)


def _entangled(closure: Closure, stream: str, pair: tuple[JoinReference, JoinReference]) -> FailedCondition:
    conditions = tuple(dict.fromkeys(reference.comparison for reference in pair))
    nodes = dict.fromkeys(node for reference in pair for node in (reference.own, reference.other))
    reason = Reason.JOINED if len(conditions) == 1 else Reason.ENTANGLED  # one that is two references is an equality
    return FailedCondition(Failure(reason, stream, conditions, missing_bounds(closure, *nodes)), Pattern.MATCHES, pair)

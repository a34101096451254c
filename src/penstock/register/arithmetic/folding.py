"""Self-joins without duplicates: leave out the occurrences of a stream that say nothing new (appendix C).

Appendix C drops one occurrence that another covers, in each locally ordered query by itself. That misses occurrences
that can only fold together, and its theorem 5.3 fails: `S1.a = S2.a AND S1.b > 10 AND S2.b > 10` is a filter, though
its ordered parts are not. So the query itself is folded, by Chandra and Merlin's homomorphisms: map occurrences to
occurrences of the same stream so that every condition becomes one that the query implies. What is mapped to is a
query with the same answers at every time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.effort import once, spend
from penstock.register.arithmetic.closure import Closure, close
from penstock.register.arithmetic.induced import induced
from penstock.register.arithmetic.query import ComparedAttribute, Comparison, ConjunctiveQuery, Opaque, QueryCondition

#: A search for a homomorphism tries so many assignments, and all searches for one query so many.
PATIENCE, PATIENCE_IN_ALL = 10_000, 20_000

Homomorphism = dict[str, str]


def fold(query: ConjunctiveQuery) -> tuple[ConjunctiveQuery, tuple[tuple[str, str], ...]]:
    """Leave out occurrences as long as the answers stay the same; say which occurrence stands for each of them.

    >>> one, two = ComparedAttribute("S1", "a"), ComparedAttribute("S2", "a")
    >>> from penstock.register.arithmetic.query import Op, StreamOccurrence
    >>> streams = (StreamOccurrence("S1", "S"), StreamOccurrence("S2", "S"))
    >>> conditions = Comparison(one, Op.EQ, two), Comparison(one, Op.EQ, 7)
    >>> small, stands = fold(ConjunctiveQuery(streams, conditions, (one,), True))
    >>> [stream.name for stream in small.streams], stands, [str(condition) for condition in small.conditions]
    (['S1'], (('S2', 'S1'),), ['S1.a = 7'])
    """
    found = homomorphism(query)
    if found is None:
        return query, ()
    closure = close(query)
    assert closure is not None, "a query that folds can be satisfied"
    stands = ((name, by) for name, by in found.items() if name != by)
    return _image(query, closure, found), tuple(sorted(stands))


@once
def homomorphism(query: ConjunctiveQuery) -> Homomorphism | None:
    """Map each occurrence to the one that stands for it, where some are redundant; an image stands for itself."""
    closure = close(query) if query.distinct and query.joins_itself else None
    compared = frozenset(attribute for comparison in query.comparisons for attribute in comparison.attributes)
    found: Homomorphism = {stream.name: stream.name for stream in query.streams}
    patience = _Patience()
    while closure is not None and (step := _without_some(query, closure, compared, patience)) is not None:
        found = {name: step[by] for name, by in found.items()}
        query = _image(query, closure, step)
        closure = close(query)
    return _settled(found) if any(name != by for name, by in found.items()) else None


def _settled(found: Homomorphism) -> Homomorphism:
    """Take the power of a homomorphism that leaves its image as it is. Some power of any map does."""
    power = found
    while any(power[by] != by for by in power.values()):
        power = {name: found[by] for name, by in power.items()}
    return power


@dataclass(slots=True)
class _Patience:
    """The search stops after so many assignments. A query that could be folded and is not is judged as it is."""

    tried: int = 0


def _without_some(
    query: ConjunctiveQuery, closure: Closure, compared: frozenset[ComparedAttribute], patience: _Patience
) -> Homomorphism | None:
    """Find a homomorphism that maps nothing to some occurrence."""
    for stream in reversed(query.streams):
        if sum(other.base == stream.base for other in query.streams) > 1:
            search = _Search(query, closure, compared, stream.name)
            found = search.run({}, 0)
            if found is not None:
                return found
            patience.tried += search.tried
            if patience.tried > PATIENCE_IN_ALL:
                return None
    return None


class _Search:
    def __init__(
        self, query: ConjunctiveQuery, closure: Closure, compared: frozenset[ComparedAttribute], avoided: str
    ) -> None:
        self.query, self.closure, self.compared, self.avoided = query, closure, compared, avoided
        self.tried = 0
        self._conditions: dict[str, list[QueryCondition]] = {}
        for condition in query.conditions:
            for name in condition.streams:
                self._conditions.setdefault(name, []).append(condition)
        self._compared: dict[str, list[ComparedAttribute]] = {}
        for attribute in compared:
            self._compared.setdefault(attribute.stream, []).append(attribute)
        self._said = frozenset(query.conditions)

    def run(self, found: Homomorphism, number: int) -> Homomorphism | None:
        if number == len(self.query.streams):
            return found
        stream = self.query.streams[number]
        choices = [s.name for s in self.query.streams if s.base == stream.base and s.name != self.avoided]
        for choice in sorted(choices, key=lambda name: name != stream.name):
            self.tried += 1
            spend(1 + len(found) // 8)
            further = {**found, stream.name: choice}
            if self.tried <= PATIENCE and self._is_implied(further, stream.name):
                complete = self.run(further, number + 1)
                if complete is not None:
                    return complete
        return None

    def _is_implied(self, found: Homomorphism, latest: str) -> bool:
        """Say whether the conditions on the latest occurrence, as mapped so far, follow from the query."""
        conditions = [c for c in self._conditions.get(latest, ()) if c.streams <= found.keys()]
        spend(5 + len(conditions))
        projected = [attribute for attribute in self.query.projected if attribute.stream == latest]
        # What is compared has a value; of what is not, nobody knows.
        valued = self._compared.get(latest, ())
        return (
            all(self._follows(_mapped(condition, found)) for condition in conditions)
            and all(_same(self.closure, attribute, _moved(attribute, found)) for attribute in projected)
            and all(_moved(attribute, found) in self.compared for attribute in valued)
        )

    def _follows(self, condition: QueryCondition) -> bool:
        return condition in self._said or (isinstance(condition, Comparison) and self.closure.implies(condition))


def _moved(attribute: ComparedAttribute, found: Homomorphism) -> ComparedAttribute:
    return replace(attribute, stream=found[attribute.stream])


def _mapped(condition: QueryCondition, found: Homomorphism) -> QueryCondition:
    if isinstance(condition, Opaque):
        return Opaque(frozenset(_moved(attribute, found) for attribute in condition.attributes))
    left, right = (
        _moved(side, found) if isinstance(side, ComparedAttribute) else side
        for side in (condition.left, condition.right)
    )
    return replace(condition, left=left, right=right)


def _same(closure: Closure, one: ComparedAttribute, other: ComparedAttribute) -> bool:
    return one == other or _difference(closure, one, other) == (0, 0)


def _difference(closure: Closure, one: ComparedAttribute, other: ComparedAttribute) -> tuple[int | None, int | None]:
    u, v = closure.node(one), closure.node(other)
    return closure.matrix[u][v], closure.matrix[v][u]


def _image(query: ConjunctiveQuery, closure: Closure, found: Homomorphism) -> ConjunctiveQuery:
    """Restrict the query to the image of a homomorphism, with all that it implies of these occurrences."""
    left = set(found.values())
    streams = tuple(stream for stream in query.streams if stream.name in left)
    said = tuple(condition for condition in query.conditions if condition.streams <= left)
    projected = tuple(_moved(attribute, found) for attribute in query.projected)
    return ConjunctiveQuery(streams, (*said, *induced(closure, left)), projected, query.distinct)

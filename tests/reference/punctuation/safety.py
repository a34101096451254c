"""Is the query safe? It is iff the state of every stream is purgeable (004, theorem 4), or that of a table."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from penstock.closing.punctuation.forward_chaining import Reach, SchemeRules, reach, rules_of
from penstock.closing.punctuation.join_classes import join_classes
from penstock.closing.punctuation.purgeability import Purgeability, purgeability_by
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class Safety:
    """What holds for each stream of a query that runs as one MJoin, in the query's order."""

    states: tuple[Purgeability, ...]

    @property
    def safe(self) -> bool:
        return all(state.bounded for state in self.states)

    def state(self, stream: str) -> Purgeability:
        return next(state for state in self.states if state.stream == stream)


def check(query: PunctuatedJoin, schemes: Iterable[Scheme]) -> Safety:
    """The purgeability of each stream, with proofs.

    If any plan of the query is safe, then the one MJoin over all its streams is (theorem 4), so no plan need be tried.
    """
    rules = rules_of(join_classes(query), schemes)
    inputs = {name: (name,) for name in query.names}
    return Safety(tuple(purgeability_by(rules, (name,), inputs) for name in query.names))


def purgeability(query: PunctuatedJoin, schemes: Iterable[Scheme], stream: str) -> Purgeability:
    """Whether the state of one stream of the query, run as one MJoin, can be purged."""
    return purgeability_by(rules_of(join_classes(query), schemes), (stream,), {name: (name,) for name in query.names})


def is_safe(query: PunctuatedJoin, schemes: Iterable[Scheme]) -> bool:
    """Safety without proofs, for queries over thousands of streams."""
    return not unpurgeable_by(rules_of(join_classes(query), schemes))


def purgeable_streams(query: PunctuatedJoin, schemes: Iterable[Scheme]) -> frozenset[str]:
    """The streams whose state is purgeable, without proofs."""
    return purgeable_by(rules_of(join_classes(query), schemes))


def unpurgeable_by(rules: SchemeRules) -> frozenset[str]:
    """The streams whose state grows and is not purgeable."""
    return frozenset(rules.classes.by_stream) - purgeable_by(rules) - rules.ended_streams


def purgeable_by(rules: SchemeRules) -> frozenset[str]:
    names = frozenset(rules.classes.by_stream)
    return names.difference(*(reached.streams for _, reached in failures(rules, tuple(rules.classes.by_stream))))


def failures(rules: SchemeRules, names: Sequence[str]) -> Iterator[tuple[str, Reach]]:
    """Streams that do not reach all, and what they reach: none of that is purgeable, and all other `names` are.

    A stream that reaches a purgeable one is purgeable itself; one that an unpurgeable one reaches is not purgeable. So
    most searches are short or not made at all, if they do not follow a long chain of streams from its end. Hence the
    order is not the query's.
    """
    if rules.classes.solution is None:
        return
    before = _before(rules)
    purgeable: set[str] = set()
    unpurgeable: set[str] = set()
    for name in random.Random(0).sample(names, len(names)):
        if name not in purgeable and name not in unpurgeable:
            reached = reach(rules, (name,), stop=purgeable)
            if reached.streams[-1] in purgeable or len(reached.streams) == len(rules.classes.by_stream):
                purgeable.add(name)
                _spread(before, name, purgeable)
            else:
                unpurgeable.update(reached.streams)
                yield name, reached


def _before(rules: SchemeRules) -> dict[str, set[str]]:
    """The plain edges of the punctuation graph, turned round: who reaches a stream through one class alone."""
    before: dict[str, set[str]] = {}
    for rule in rules.rules:
        if len(rule.needs) == 1 and rule.order is None:
            sources = before.setdefault(rule.scheme.stream, set())
            sources.update(at.stream for number in rule.needs for at in rules.classes.members[number])
    return before


def _spread(before: dict[str, set[str]], stream: str, purgeable: set[str]) -> None:
    """Add all that reach a purgeable stream along plain edges."""
    stack = [stream]
    while stack:
        new = before.get(stack.pop(), set()) - purgeable
        purgeable |= new
        stack += new

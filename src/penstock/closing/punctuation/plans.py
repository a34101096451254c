"""Plans: trees of MJoins and binary joins, and which of them are safe by punctuations alone (004, 4.1.2 and 5.2).

An input of a join may be a join itself. It has the attributes of all its streams, and their punctuations: where a safe
join has purged its rows that a punctuation names, it may hand the punctuation on. (Not the end of a table: its rows
stay for as long as others come.) A plan is safe iff each of its joins is, on its own streams with all predicates that
the query implies on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf, nodes
from penstock.closing.punctuation.forward_chaining import SchemeRules, reach, rules_of
from penstock.closing.punctuation.join_classes import join_classes
from penstock.closing.punctuation.purgeability import Purgeability, purgeability_by
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class JoinSafety:
    """A join of a plan is safe if the state of each of its inputs is purgeable, or does not grow."""

    join: TreeJoin
    states: tuple[Purgeability, ...]

    @property
    def safe(self) -> bool:
        return all(state.bounded for state in self.states)


@dataclass(frozen=True, slots=True)
class PlanSafety:
    """A plan is safe if all of its joins are; they are listed from the bottom up."""

    joins: tuple[JoinSafety, ...]

    @property
    def safe(self) -> bool:
        return all(join.safe for join in self.joins)


def check_plan(query: PunctuatedJoin, schemes: Iterable[Scheme], plan: JoinTree) -> PlanSafety:
    """Check each join of a plan. In figure 7 of 004 joins of two are unsafe where the join of three is safe.

    >>> from penstock.closing.join_predicates import JoinAttribute, JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> attributes = {"s1": ("a", "b"), "s2": ("b", "c"), "s3": ("a", "c")}
    >>> streams = tuple(PunctuatedStream(*each) for each in attributes.items())
    >>> pairs = [("s1", "s2", "b"), ("s2", "s3", "c"), ("s3", "s1", "a")]
    >>> equal = tuple(JoinEquality(JoinAttribute(s, x), JoinAttribute(t, x)) for s, t, x in pairs)
    >>> query = PunctuatedJoin(streams, equal)
    >>> schemes = [Scheme("s1", ("b",)), Scheme("s2", ("c",)), Scheme("s3", ("a",))]
    >>> s1, s2, s3 = map(TreeLeaf, query.names)
    >>> check_plan(query, schemes, TreeJoin((s1, s2, s3))).safe
    True
    >>> check_plan(query, schemes, TreeJoin((TreeJoin((s1, s2)), s3))).safe
    False
    """
    rules = rules_of(join_classes(query), schemes)
    return PlanSafety(tuple(JoinSafety(join, _states(rules, join)) for join in nodes(plan)))


def safe_plans(query: PunctuatedJoin, schemes: Iterable[Scheme]) -> Iterator[JoinTree]:
    """Enumerate all safe plans, the one MJoin over all streams first; inputs stand in the query's order.

    Only safe joins are built upon, so a query with few safe joins has few plans to go through. There may be very many:
    take as many as you like.
    """
    rules = rules_of(join_classes(query), schemes)
    is_safe = _memory(rules)

    def plans(streams: tuple[str, ...]) -> Iterator[JoinTree]:
        if len(streams) == 1:
            yield TreeLeaf(streams[0])
            return
        for parts in _partitions(streams):
            if is_safe(parts) and all(buildable(part) for part in parts):
                yield from (TreeJoin(inputs) for inputs in product(*(tuple(plans(part)) for part in parts)))

    @cache
    def buildable(streams: tuple[str, ...]) -> bool:
        return next(plans(streams), None) is not None

    yield from plans(query.names)


def _memory(rules: SchemeRules) -> Callable[[tuple[tuple[str, ...], ...]], bool]:
    @cache
    def is_safe(parts: tuple[tuple[str, ...], ...]) -> bool:
        return _is_safe(rules, parts)

    return is_safe


def _is_safe(rules: SchemeRules, parts: tuple[tuple[str, ...], ...]) -> bool:
    if rules.classes.solution is None:
        return True
    inputs = {stream: part for part in parts for stream in part}
    growing = [part for part in parts if not rules.ended(part)]
    return all(len(reach(rules, part, inputs).streams) == len(inputs) for part in growing)


def _states(rules: SchemeRules, join: TreeJoin) -> tuple[Purgeability, ...]:
    inputs = {stream: each.streams for each in join.inputs for stream in each.streams}
    return tuple(purgeability_by(rules, each.streams, inputs) for each in join.inputs)


def _partitions(streams: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Cut a set into two parts or more in all ways, from single streams to two big parts."""
    yield from (parts for parts in sorted(_cut(streams), key=len, reverse=True) if len(parts) > 1)


def _cut(streams: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    if not streams:
        yield ()
        return
    first, rest = streams[:1], streams[1:]
    for parts in _cut(rest):
        yield (first, *parts)
        yield from ((first + part, *parts[:i], *parts[i + 1 :]) for i, part in enumerate(parts))

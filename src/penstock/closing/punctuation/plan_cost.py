"""A safe plan costs the rows that it holds; each waits for its punctuations (004, section 5.2).

A row waits for the slowest path of its chain: each step waits for the rows that tell its values, and then for the
punctuation itself. Rows held are arrivals times waiting (Little's law); arrivals at an upper join are results of the
lower one, estimated from the rows held and the number of values that each class of join attributes has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from penstock.algebra.join_trees import TreeJoin
from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.join_classes import JoinClasses, join_classes
from penstock.closing.punctuation.plans import JoinCost
from penstock.closing.punctuation.purgeability import AtMost, Between, Known, Purgeability, Purgeable, SameAs
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class Statistics:
    """Streams have rates in rows per second, schemes delays in seconds, and attributes numbers of distinct values."""

    rates: Mapping[str, float] = field(default_factory=dict)
    delays: Mapping[Scheme, float] = field(default_factory=dict)
    values: Mapping[JoinAttribute, float] = field(default_factory=dict)
    #: These stand for what is not given.
    rate: float = 1.0
    delay: float = 1.0
    distinct: float = 10.0

    def rate_of(self, stream: str) -> float:
        return self.rates.get(stream, self.rate)

    def delay_of(self, scheme: Scheme) -> float:
        return self.delays.get(scheme, self.delay)


def waiting_time(state: Purgeability, statistics: Statistics) -> float:
    """A row of the state stays as long as the critical path through the steps of its chain."""
    if not isinstance(state, Purgeable):
        return 0.0 if state.ended else inf  # a table is held once, whatever the plan
    ready = dict.fromkeys(state.streams, 0.0)
    for step in state.steps:
        known_at = max((ready[at.stream] for known in step.known for at in _sources(known)), default=0.0)
        ready |= dict.fromkeys(step.streams, known_at + statistics.delay_of(step.scheme))
    return max(ready.values(), default=0.0)


def rows_held(query: PunctuatedJoin, statistics: Statistics) -> JoinCost:
    """A join costs the number of rows in its states; `cheapest_plan` takes this function."""
    classes = join_classes(query)

    def cost(join: TreeJoin, states: Sequence[Purgeability]) -> float:
        rates = [_rate(classes, statistics, each.streams) for each in join.inputs]
        held = (rate * waiting_time(state, statistics) for rate, state in zip(rates, states, strict=True))
        return sum(held)

    return cost


def _rate(classes: JoinClasses, statistics: Statistics, streams: tuple[str, ...]) -> float:
    """So many results arrive per second: each row meets the others' rows, which are held for a usual delay."""
    rates = [statistics.rate_of(stream) for stream in streams]
    pairs = len(rates) * prod(rates) * statistics.delay ** (len(rates) - 1)
    return pairs * _selectivity(classes, statistics, streams)


def _selectivity(classes: JoinClasses, statistics: Statistics, streams: tuple[str, ...]) -> float:
    """As in System R, of n equal attributes of a class all but that with the fewest values divide."""
    selectivity = 1.0
    for members in classes.members:
        shared = [at for at in members if at.stream in streams]
        counts = sorted(statistics.values.get(at, statistics.distinct) for at in shared)
        selectivity /= prod(counts[1:])
    return selectivity


def _sources(known: Known) -> list[JoinAttribute]:
    match known:
        case SameAs(_, source):
            return [source]
        case Between(_, lower, upper):
            return [limit.source for limit in (*lower, *upper) if limit.source is not None]
        case AtMost(_, upper):
            return [limit.source for limit in upper if limit.source is not None]
    return []

"""A set of streams reaches others by forward chaining, as with functional dependencies.

A scheme is a rule: where the classes of its punctuable attributes are known, its stream is reached, and all classes
of that stream are known. This is reachability in the generalized punctuation graph (004, definition 9), with two
departures. Any attribute of a class will do as the partner of a punctuable attribute (definition 8 reads as if each
had one partner). And an order attribute need not be known, only bounded from above. Linear in the size of the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.join_classes import ZERO, JoinClasses
from penstock.closing.punctuation.schemes import Scheme
from penstock.effort import spend

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class SchemeRule:
    """A scheme over classes: its stream is reached when `needs` are known and `order` has an upper bound."""

    scheme: Scheme
    #: Punctuable attributes have these classes.
    attributes: tuple[tuple[JoinAttribute, int], ...]
    needs: frozenset[int]
    order: int | None
    #: A stream that must be reached before, as the one whose rows refer to rows of this.
    after: str | None = None

    @property
    def conditions(self) -> int:
        return len(self.needs) + (self.order is not None) + (self.after is not None)

    @property
    def ends(self) -> bool:
        return not self.conditions


@dataclass(frozen=True, slots=True)
class SchemeRules:
    """The schemes of a query are rules; an index says which rules wait for which class."""

    classes: JoinClasses
    rules: tuple[SchemeRule, ...]
    waiting: Mapping[int, tuple[int, ...]]
    waiting_for_order: Mapping[int, tuple[int, ...]]
    waiting_for_stream: Mapping[str, tuple[int, ...]]
    #: How many conditions each rule has.
    conditions: tuple[int, ...]
    #: Rules without conditions.
    free: tuple[int, ...]

    @property
    def ended_streams(self) -> frozenset[str]:
        """A scheme ends these streams. They are tables, whose state does not grow even if it cannot be purged."""
        return frozenset(self.rules[index].scheme.stream for index in self.free)

    def ended(self, streams: Sequence[str]) -> bool:
        return len(streams) == 1 and streams[0] in self.ended_streams


@dataclass(frozen=True, slots=True)
class Reach:
    """A search reaches streams in some order, each but those of its start by one rule."""

    streams: tuple[str, ...]
    fired: tuple[int, ...]
    #: Classes whose values are in a reached row, or few and known.
    known: frozenset[int]
    #: Classes that these bound from above.
    above: frozenset[int]

    def lets(self, rule: SchemeRule) -> bool:
        """Say whether a rule may fire, be it one of the search's or not."""
        return (
            rule.needs <= self.known
            and (rule.order is None or rule.order in self.above)
            and (rule.after is None or rule.after in self.streams)
        )


def rules_of(classes: JoinClasses, schemes: Iterable[Scheme]) -> SchemeRules:
    """Turn schemes into rules. One of a stream or an attribute that the query does not mention is left out."""
    found = (_rule(classes, scheme) for scheme in dict.fromkeys(schemes) if scheme.stream in classes.by_stream)
    return combined(classes, [rule for rule in found if rule is not None])


def _rule(classes: JoinClasses, scheme: Scheme) -> SchemeRule | None:
    attributes = [JoinAttribute(scheme.stream, name) for name in scheme.attributes]
    order = classes.of.get(JoinAttribute(scheme.stream, scheme.order)) if scheme.order else None
    if not all(at in classes.of for at in attributes) or (order is None) != (scheme.order is None):
        return None
    numbered = tuple((at, classes.of[at]) for at in attributes)
    return SchemeRule(scheme, numbered, frozenset(number for _, number in numbered), order)


def combined(classes: JoinClasses, rules: Sequence[SchemeRule]) -> SchemeRules:
    spend(1 + len(rules))
    waiting: dict[int, list[int]] = {}
    waiting_for_order: dict[int, list[int]] = {}
    waiting_for_stream: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        for need in rule.needs:
            waiting.setdefault(need, []).append(index)
        if rule.order is not None:
            waiting_for_order.setdefault(rule.order, []).append(index)
        if rule.after is not None:
            waiting_for_stream.setdefault(rule.after, []).append(index)
    waits = _frozen(waiting), _frozen(waiting_for_order), _frozen(waiting_for_stream)
    conditions = tuple(rule.conditions for rule in rules)
    free = tuple(index for index, number in enumerate(conditions) if not number)
    return SchemeRules(classes, tuple(rules), *waits, conditions, free)


def reach(
    rules: SchemeRules,
    start: Iterable[str],
    inputs: Mapping[str, Sequence[str]] | None = None,
    classes: Iterable[int] = (),
    stop: frozenset[str] | set[str] = frozenset(),
) -> Reach:
    """Search for all streams that the streams of `start`, or some known `classes`, reach.

    `inputs` maps each stream of a join to the streams of the same input, which are reached together; only these take
    part. At a stream of `stop` the search ends.
    """
    search = _Search(rules, inputs)
    search.ready.extend(rules.free)
    for number in (ZERO, *rules.classes.finite, *classes):
        search.learn(number)
    for stream in start:
        search.enter(stream)
    while (search.ready or search.bounding) and search.last not in stop:
        search.step()
    return Reach(tuple(search.streams), tuple(search.fired), frozenset(search.known), frozenset(search.above))


class _Search:
    """One search has this state, which only grows. Its cost is linear in what it reaches."""

    def __init__(self, rules: SchemeRules, inputs: Mapping[str, Sequence[str]] | None) -> None:
        self.rules = rules
        self.inputs = inputs
        self.upward, self.downward = rules.classes.upward, rules.classes.downward
        self.met: dict[int, int] = {}
        self.streams: dict[str, None] = {}
        self.last: str | None = None
        self.known: set[int] = set()
        self.above: set[int] = set()
        self.below: set[int] = set()
        self.ready: deque[int] = deque()
        #: Classes to be marked, in `above` or in `below`, with all that they bound.
        self.bounding: deque[tuple[int, bool]] = deque()
        self.fired: list[int] = []

    def step(self) -> None:
        """Fire a rule; if there is none, follow a difference: near bounds make clear proofs."""
        spend()
        if self.ready:
            self.fire(self.ready.popleft())
        else:
            self.bound(*self.bounding.popleft())

    def fire(self, index: int) -> None:
        rule = self.rules.rules[index]
        stream = rule.scheme.stream
        if stream in self.streams:
            return
        together = (stream,) if self.inputs is None else self.inputs.get(stream, ())
        # Where a table is joined with a stream below, the results do not end with the table.
        if together and not (rule.ends and len(together) > 1):
            self.fired.append(index)
            for each in together:
                self.enter(each)

    def enter(self, stream: str) -> None:
        self.streams[stream] = None
        self.last = stream
        for number in self.rules.classes.by_stream[stream]:
            self.learn(number)
        self.count(self.rules.waiting_for_stream.get(stream, ()))

    def learn(self, number: int) -> None:
        """Mark a class as known, and all classes that differences bound by it."""
        if number in self.known and number in self.above and number in self.below:
            return
        self.know(number)
        if self.upward[number] or self.downward[number]:
            self.bounding += ((number, True), (number, False))
        elif number not in self.above:
            self.above.add(number)
            self.below.add(number)
            self.count(self.rules.waiting_for_order.get(number, ()))

    def know(self, number: int) -> None:
        if number not in self.known:
            self.known.add(number)
            self.count(self.rules.waiting.get(number, ()))

    def bound(self, number: int, from_above: bool) -> None:
        bounded, edges = (self.above, self.upward) if from_above else (self.below, self.downward)
        if number in bounded:
            return
        bounded.add(number)
        self.bounding.extend((edge.target, from_above) for edge in edges[number] if edge.target not in bounded)
        if from_above:
            self.count(self.rules.waiting_for_order.get(number, ()))
        # Integers between two bounds are finitely many, hence known.
        if number in self.above and number in self.below:
            self.know(number)

    def count(self, indices: Iterable[int]) -> None:
        for index in indices:
            met = self.met[index] = self.met.get(index, 0) + 1
            if met == self.rules.conditions[index]:
                self.ready.append(index)


def _frozen(lists: dict[K, list[int]]) -> dict[K, tuple[int, ...]]:
    return {key: tuple(values) for key, values in lists.items()}

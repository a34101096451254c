"""Which streams a set of streams reaches: forward chaining, as with functional dependencies.

A scheme is a rule: where the classes of its punctuable attributes are known, its stream is reached, and all classes
of that stream are known. This is reachability in the generalized punctuation graph (004, definition 9), with two
departures. Any attribute of a class will do as the partner of a punctuable attribute (definition 8 reads as if each
had one partner). And an order attribute need not be known, only bounded from above. Linear in the size of the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.register.punctuation.join_classes import ZERO, Edge, JoinClasses
from penstock.register.punctuation.query import Attribute
from penstock.register.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class Rule:
    """A scheme over classes: its stream is reached when `needs` are known and `order` has an upper bound."""

    scheme: Scheme
    needs: frozenset[int]
    order: int | None

    @property
    def ends(self) -> bool:
        return not self.needs and self.order is None


@dataclass(frozen=True, slots=True)
class Rules:
    """The schemes of a query as rules, with who waits for which class."""

    classes: JoinClasses
    rules: tuple[Rule, ...]
    waiting: Mapping[int, tuple[int, ...]]
    waiting_for_order: Mapping[int, tuple[int, ...]]

    def ended(self, streams: Sequence[str]) -> bool:
        """It is one stream, and a scheme ends it: a table, whose state does not grow even if it cannot be purged."""
        return len(streams) == 1 and any(r.scheme.stream == streams[0] and r.ends for r in self.rules)


@dataclass(frozen=True, slots=True)
class Reach:
    """What was reached: the streams in order, and the rule that reached each but those of the start."""

    streams: tuple[str, ...]
    fired: tuple[int, ...]
    #: Classes whose values are in a reached row, or few and known.
    known: frozenset[int]
    #: Classes that these bound from above.
    above: frozenset[int]

    def lets(self, rule: Rule) -> bool:
        """The rule may fire: whether it is one of the search's or not."""
        return rule.needs <= self.known and (rule.order is None or rule.order in self.above)


def rules_of(classes: JoinClasses, schemes: Iterable[Scheme]) -> Rules:
    """A scheme of a stream that the query does not read, or of an attribute that it does not mention, helps nobody."""
    rules = []
    for scheme in dict.fromkeys(schemes):
        if scheme.stream in classes.by_stream:
            numbers = [classes.of.get(Attribute(scheme.stream, name)) for name in scheme.attributes]
            order = classes.of.get(Attribute(scheme.stream, scheme.order)) if scheme.order else None
            if None not in numbers and (order is None) == (scheme.order is None):
                rules.append(Rule(scheme, frozenset(n for n in numbers if n is not None), order))
    waiting: dict[int, list[int]] = {}
    waiting_for_order: dict[int, list[int]] = {}
    for index, rule in enumerate(rules):
        for need in rule.needs:
            waiting.setdefault(need, []).append(index)
        if rule.order is not None:
            waiting_for_order.setdefault(rule.order, []).append(index)
    return Rules(classes, tuple(rules), _frozen(waiting), _frozen(waiting_for_order))


def reach(
    rules: Rules,
    start: Iterable[str],
    inputs: Mapping[str, Sequence[str]] | None = None,
    classes: Iterable[int] = (),
    stop: frozenset[str] | set[str] = frozenset(),
) -> Reach:
    """All that is reached from the streams of `start`, or from some known `classes`.

    `inputs` maps each stream of a join to the streams of the same input, which are reached together; only these take
    part. At a stream of `stop` the search ends.
    """
    search = _Search(rules, inputs)
    search.ready.extend(index for index, missing in enumerate(search.missing) if not missing)
    for number in (ZERO, *rules.classes.finite, *classes):
        search.learn(number)
    for stream in start:
        search.enter(stream)
    while search.ready and not (stop and stop & search.streams.keys()):
        search.fire(search.ready.popleft())
    return Reach(tuple(search.streams), tuple(search.fired), frozenset(search.known), frozenset(search.above))


class _Search:
    """The counters of one search; everything in it only grows."""

    def __init__(self, rules: Rules, inputs: Mapping[str, Sequence[str]] | None) -> None:
        self.rules = rules
        self.inputs = inputs
        self.missing = [len(rule.needs) + (rule.order is not None) for rule in rules.rules]
        self.streams: dict[str, None] = {}
        self.known: set[int] = set()
        self.above: set[int] = set()
        self.below: set[int] = set()
        self.ready: deque[int] = deque()
        self.fired: list[int] = []

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
        for number in self.rules.classes.by_stream[stream]:
            self.learn(number)

    def learn(self, number: int) -> None:
        """Its values are at hand, so that what differs from them by so much is bounded."""
        self.know(number)
        self.bound(number, self.rules.classes.upward, self.above)
        self.bound(number, self.rules.classes.downward, self.below)

    def know(self, number: int) -> None:
        if number not in self.known:
            self.known.add(number)
            self.count_down(self.rules.waiting.get(number, ()))

    def bound(self, number: int, edges: tuple[tuple[Edge, ...], ...], bounded: set[int]) -> None:
        """Mark all classes that a known one bounds; integers between two bounds are finitely many, hence known."""
        stack = [number]
        while stack:
            node = stack.pop()
            if node not in bounded:
                bounded.add(node)
                stack += [edge.target for edge in edges[node]]
                if bounded is self.above:
                    self.count_down(self.rules.waiting_for_order.get(node, ()))
                if node in self.above and node in self.below:
                    self.know(node)

    def count_down(self, indices: Iterable[int]) -> None:
        for index in indices:
            self.missing[index] -= 1
            if not self.missing[index]:
                self.ready.append(index)


def _frozen(lists: dict[int, list[int]]) -> dict[int, tuple[int, ...]]:
    return {key: tuple(values) for key, values in lists.items()}

"""May the join state of a stream be purged? With the proof, or with what stands in the way (004, theorem 3).

A state is purgeable iff its stream reaches all others: then for each of its rows finitely many punctuations tell that
it joins nothing new. The proof is the chain of schemes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.forward_chaining import Reach, SchemeRule, SchemeRules, reach
from penstock.closing.punctuation.join_classes import ZERO, DifferenceEdge, nearest
from penstock.closing.punctuation.schemes import Scheme
from penstock.effort import spend


@dataclass(frozen=True, slots=True)
class AttributeLimit:
    """A limit is the value of `source` in a row reached before, plus `offset`; without a source the offset alone."""

    source: JoinAttribute | None
    offset: int

    def __str__(self) -> str:
        if self.source is None:
            return str(self.offset)
        return (
            f"{self.source} {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else str(self.source)
        )


@dataclass(frozen=True, slots=True)
class SameAs:
    """The punctuable attribute equals one of a row reached before: one punctuation is needed per value of it."""

    attribute: JoinAttribute
    source: JoinAttribute

    def __str__(self) -> str:
        return f"{self.attribute.name} = {self.source}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """The punctuable attribute has few values, known beforehand: a punctuation is needed for each."""

    attribute: JoinAttribute
    values: frozenset[Hashable]

    def __str__(self) -> str:
        return f"{self.attribute.name} in {{{', '.join(sorted(map(repr, self.values)))}}}"


@dataclass(frozen=True, slots=True)
class Between:
    """The punctuable attribute is an integer between limits: a punctuation is needed for each integer between them."""

    attribute: JoinAttribute
    lower: tuple[AttributeLimit, ...]
    upper: tuple[AttributeLimit, ...]

    def __str__(self) -> str:
        return f"{self.attribute.name} from {_all('max', self.lower)} to {_all('min', self.upper)}"


@dataclass(frozen=True, slots=True)
class AtMost:
    """The order attribute is at most each of these: one order punctuation that high is needed."""

    attribute: JoinAttribute
    upper: tuple[AttributeLimit, ...]

    def __str__(self) -> str:
        return f"{self.attribute.name} <= {_all('min', self.upper)}"


Known = SameAs | OneOf | Between | AtMost


@dataclass(frozen=True, slots=True)
class ChainStep:
    """The scheme reaches its stream: its punctuations for the values known so far rule out all new partners.

    `streams` are all that are reached with it: more than one where an input of a join is a join itself.
    """

    scheme: Scheme
    known: tuple[Known, ...]
    streams: tuple[str, ...]

    @property
    def stream(self) -> str:
        return self.scheme.stream

    def __str__(self) -> str:
        return f"{self.scheme}" + (f" for {', '.join(map(str, self.known))}" if self.known else "")


@dataclass(frozen=True, slots=True)
class Blocked:
    """A scheme does not reach its stream, as no reached row tells the values of some of its attributes."""

    scheme: Scheme
    unknown: tuple[JoinAttribute, ...]

    def __str__(self) -> str:
        return f"{self.scheme}: {', '.join(map(str, self.unknown))} not known"


@dataclass(frozen=True, slots=True)
class Purgeable:
    """A chain purges each row of the state; with no steps the row is alone, or the query `impossible`.

    Where the predicates contradict each other there is no result, and no row need be kept at all.
    """

    #: The stream; more than one where an input of a join is a join itself.
    streams: tuple[str, ...]
    steps: tuple[ChainStep, ...]
    impossible: bool = False

    @property
    def stream(self) -> str:
        return ", ".join(self.streams)

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """The proof leans on these schemes."""
        return tuple(step.scheme for step in self.steps)

    @property
    def lifespan(self) -> int | None:
        """The shortest lifespan among them. A row goes only while all punctuations of its chain live at once."""
        return min((s.lifespan for s in self.schemes if s.lifespan is not None), default=None)

    @property
    def bounded(self) -> bool:
        return True

    def __str__(self) -> str:
        if self.impossible:
            return f"{self.stream} is purgeable: no row can ever be part of a result"
        return "; ".join([f"{self.stream} is purgeable", *map(str, self.steps)])


@dataclass(frozen=True, slots=True)
class NotPurgeable:
    """The stream reaches some streams by steps, and others not at all."""

    streams: tuple[str, ...]
    steps: tuple[ChainStep, ...]
    reached: tuple[str, ...]
    unreached: tuple[str, ...]
    blocked: tuple[Blocked, ...]
    #: A scheme ends the stream, as that of a table: its rows stay, but do not grow in number.
    ended: bool = False

    @property
    def stream(self) -> str:
        return ", ".join(self.streams)

    @property
    def bounded(self) -> bool:
        return self.ended

    def __str__(self) -> str:
        reasons = [f"{self.stream} is not purgeable", *map(str, self.steps)]
        return "; ".join([*reasons, f"does not reach {', '.join(self.unreached)}", *map(str, self.blocked)])


Purgeability = Purgeable | NotPurgeable


def purgeability_by(rules: SchemeRules, start: tuple[str, ...], inputs: Mapping[str, tuple[str, ...]]) -> Purgeability:
    """Decide whether the state of one input of a join can be purged.

    `start` holds the streams of the input, `inputs` the input of each stream of the join. In one MJoin over all streams
    each stream is an input by itself:

    >>> from penstock.closing.punctuation.forward_chaining import rules_of
    >>> from penstock.closing.punctuation.join_classes import join_classes
    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedJoin, PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> rules = rules_of(join_classes(query), [Scheme("bid", ("auction",))])
    >>> print(purgeability_by(rules, ("item",), {"item": ("item",), "bid": ("bid",)}))
    item is purgeable; bid(auction) for auction = item.id
    >>> print(purgeability_by(rules, ("bid",), {"item": ("item",), "bid": ("bid",)}))
    bid is not purgeable; does not reach item
    """
    if rules.classes.solution is None:
        return Purgeable(start, (), impossible=True)
    reached = reach(rules, start, inputs)
    steps = tuple(_steps(rules, start, inputs, reached))
    seen = set(reached.streams)
    unreached = tuple(stream for stream in inputs if stream not in seen)
    if not unreached:
        return Purgeable(start, steps)
    blocked = tuple(_blocked(reached, rule) for rule in rules.rules if rule.scheme.stream in unreached)
    return NotPurgeable(start, steps, reached.streams, unreached, blocked, rules.ended(start))


def _steps(
    rules: SchemeRules, start: tuple[str, ...], inputs: Mapping[str, tuple[str, ...]], reached: Reach
) -> Iterator[ChainStep]:
    grounded: dict[int, JoinAttribute | None] = {ZERO: None}
    _ground(rules, grounded, start)
    for index in reached.fired:
        rule = rules.rules[index]
        streams = inputs[rule.scheme.stream]
        yield ChainStep(rule.scheme, tuple(_known(rules, rule, grounded)), streams)
        _ground(rules, grounded, streams)


def _ground(rules: SchemeRules, grounded: dict[int, JoinAttribute | None], streams: Iterable[str]) -> None:
    """Add the classes whose value a row of these streams tells, each with the attribute that tells it."""
    for stream in streams:
        for number, attribute in rules.classes.telling[stream].items():
            grounded.setdefault(number, attribute)


def _known(rules: SchemeRules, rule: SchemeRule, grounded: dict[int, JoinAttribute | None]) -> Iterator[Known]:
    classes = rules.classes
    for attribute, number in rule.attributes:
        source = grounded.get(number)
        if source is not None:
            yield SameAs(attribute, source)
        elif number in classes.finite:
            yield OneOf(attribute, classes.finite[number])
        else:
            lower = _limits(classes.upward, number, grounded, -1)
            yield Between(attribute, lower, _limits(classes.downward, number, grounded, 1))
    if rule.scheme.order is not None and rule.order is not None:
        attribute = JoinAttribute(rule.scheme.stream, rule.scheme.order)
        finite = [value for value in classes.finite.get(rule.order, ()) if isinstance(value, int)]
        limits = _limits(classes.downward, rule.order, grounded, 1)
        yield AtMost(attribute, limits or (AttributeLimit(None, max(finite)),))


def _limits(
    edges: tuple[tuple[DifferenceEdge, ...], ...], number: int, grounded: dict[int, JoinAttribute | None], sign: int
) -> tuple[AttributeLimit, ...]:
    bounds = nearest(edges, number, grounded.keys())
    return tuple(AttributeLimit(grounded[source], sign * bound) for source, bound in bounds.items())


def _blocked(reached: Reach, rule: SchemeRule) -> Blocked:
    scheme = rule.scheme
    spend(1 + len(rule.attributes))
    unknown = [attribute for attribute, number in rule.attributes if number not in reached.known]
    if scheme.order is not None and rule.order not in reached.above:
        unknown.append(JoinAttribute(scheme.stream, scheme.order))
    return Blocked(scheme, tuple(unknown))


def _all(word: str, limits: tuple[AttributeLimit, ...]) -> str:
    return str(limits[0]) if len(limits) == 1 else f"{word}({', '.join(map(str, limits))})"

"""Which schemes a query needs, which it can do without, and which further ones would make it safe.

004 asks for it (section 1: "identify those punctuations that are useful to a particular query"; section 5.2, plan
parameter I) and leaves it open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.forward_chaining import reach, rules_of
from penstock.closing.punctuation.join_classes import JoinClasses, join_classes
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme
from tests.reference.punctuation.minimal_sets import SchemeSets, minimal_sets
from tests.reference.punctuation.safety import purgeable_by


@dataclass(frozen=True, slots=True)
class Relevance:
    """Each scheme in one of three: no punctuation of an irrelevant one need be read at all."""

    #: Without it some state that is purgeable no longer would be, or that of a table would grow.
    needed: tuple[Scheme, ...]
    #: It is part of some chain, but there are others.
    useful: tuple[Scheme, ...]
    #: Whatever the other schemes do, no chain ever comes to it.
    irrelevant: tuple[Scheme, ...]


def relevance(query: PunctuatedJoin, schemes: Sequence[Scheme]) -> Relevance:
    """What each scheme is to the query.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction", "bidder"))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> found = relevance(query, [Scheme("bid", ("auction",)), Scheme("bid", ("bidder",)), Scheme("item", ("id",))])
    >>> print(*found.needed, "but not", *found.irrelevant)
    bid(auction) item(id) but not bid(bidder)
    """
    classes = join_classes(query)
    schemes = tuple(dict.fromkeys(schemes))
    rules = rules_of(classes, schemes)
    fine = purgeable_by(rules), rules.ended_streams
    firing = _firing(classes, schemes)
    needed = [scheme for scheme in schemes if scheme in firing and _missed(classes, schemes, scheme, *fine)]
    return Relevance(
        tuple(needed),
        tuple(scheme for scheme in schemes if scheme in firing and scheme not in needed),
        tuple(scheme for scheme in schemes if scheme not in firing),
    )


def minimal_scheme_sets(
    query: PunctuatedJoin,
    schemes: Sequence[Scheme],
    streams: Iterable[str] | None = None,
    most: int = 8,
    effort: int = 300,
) -> SchemeSets:
    """The smallest sets among `schemes` that keep the query, or some streams of it, purgeable.

    Fewer schemes mean fewer punctuations to hold; more mean that rows go earlier (004, section 5.2).
    """
    names = query.names if streams is None else tuple(streams)
    return minimal_sets(join_classes(query), (), schemes, names, most, effort)


def further_schemes(
    query: PunctuatedJoin,
    schemes: Sequence[Scheme],
    streams: Iterable[str] | None = None,
    candidates: Sequence[Scheme] | None = None,
    most: int = 8,
    effort: int = 100,
) -> SchemeSets:
    """The smallest sets of schemes that, declared as well, would make the query, or some streams of it, purgeable.

    Without `candidates`, all schemes on one join attribute, and order schemes on the attributes of differences.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction", "bidder"))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> for each in further_schemes(query, [Scheme("bid", ("bidder",))]).sets:
    ...     print(*each)
    item(id) bid(auction)
    """
    classes = join_classes(query)
    names = query.names if streams is None else tuple(streams)
    wanted = candidate_schemes(query) if candidates is None else candidates
    return minimal_sets(classes, schemes, [s for s in wanted if s not in schemes], names, most, effort)


def candidate_schemes(query: PunctuatedJoin) -> tuple[Scheme, ...]:
    """A scheme for each attribute that joins: by order where differences speak of it, else by value."""
    classes = join_classes(query)
    return tuple(
        Scheme(stream.name, (), order=name) if classes.downward[number] else Scheme(stream.name, (name,))
        for stream in query.streams
        for name in dict.fromkeys(stream.attributes)
        for number in [classes.of[JoinAttribute(stream.name, name)]]
        if classes.downward[number] or len({at.stream for at in classes.members[number]}) > 1
    )


def _firing(classes: JoinClasses, schemes: Sequence[Scheme]) -> set[Scheme]:
    """Schemes that some chain may come to first among those of their stream.

    Fewer schemes reach no more, so a scheme that all others of other streams do not lead to is useless in every set.
    """
    firing: set[Scheme] = set()
    for target in dict.fromkeys(scheme.stream for scheme in schemes):
        others = rules_of(classes, [scheme for scheme in schemes if scheme.stream != target])
        waiting = set(rules_of(classes, [scheme for scheme in schemes if scheme.stream == target]).rules)
        for stream in classes.by_stream:
            if waiting and stream != target:
                reached = reach(others, (stream,))
                fired = {rule for rule in waiting if reached.lets(rule)}
                firing |= {rule.scheme for rule in fired}
                waiting -= fired
    return firing


def _missed(
    classes: JoinClasses, schemes: Sequence[Scheme], scheme: Scheme, purgeable: frozenset[str], ended: frozenset[str]
) -> bool:
    rules = rules_of(classes, [each for each in schemes if each != scheme])
    left = purgeable_by(rules)
    return not purgeable <= left or not ended <= left | rules.ended_streams

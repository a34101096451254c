"""Punctuations take room themselves: when may one be forgotten (004, section 5.1)?

A punctuation of S for values v of its attributes is wanted by rows that tell these values. It is of no more use when no
such row is stored and none can come: when, for some attribute of it, every other stream that shares the attribute's
class has been punctuated for v as well. The paper drops it at once; but stored rows may still wait for it, and would
then stay indefinitely, so they have to go first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.forward_chaining import SchemeRule, SchemeRules, reach, rules_of
from penstock.closing.punctuation.join_classes import join_classes
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme
from tests.reference.punctuation.relevance import relevance


class Keeping(Enum):
    """How long the punctuations of a scheme are kept."""

    #: Not at all: no chain comes to them.
    IRRELEVANT = "irrelevant"
    #: One at most: the end of a stream, or the highest watermark.
    LATEST = "latest"
    #: Until other streams are punctuated for the same values and the rows that want them are gone.
    PURGED = "purged"
    #: For their lifespan.
    LIFESPAN = "lifespan"
    #: For ever. As many as there are values: 004 calls it acceptable, since a punctuation is small.
    FOREVER = "forever"


@dataclass(frozen=True, slots=True)
class PunctuationState:
    """How long punctuations of the scheme are kept; if PURGED, on which attribute and by which schemes of others."""

    scheme: Scheme
    keeping: Keeping
    attribute: JoinAttribute | None = None
    purged_by: tuple[Scheme, ...] = ()

    @property
    def bounded(self) -> bool:
        return self.keeping is not Keeping.FOREVER


def punctuation_states(query: PunctuatedJoin, schemes: Sequence[Scheme]) -> tuple[PunctuationState, ...]:
    """How long the punctuations of each scheme have to be kept.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> for state in punctuation_states(query, [Scheme("item", ("id",)), Scheme("bid", ("auction",))]):
    ...     print(state.scheme, state.keeping.value, "by", *state.purged_by)
    item(id) purged by bid(auction)
    bid(auction) purged by item(id)
    """
    schemes = tuple(dict.fromkeys(schemes))
    rules = rules_of(join_classes(query), schemes)
    by_scheme = {rule.scheme: rule for rule in rules.rules}
    irrelevant = relevance(query, schemes).irrelevant
    return tuple(
        PunctuationState(scheme, Keeping.IRRELEVANT) if scheme in irrelevant else _state(rules, by_scheme[scheme])
        for scheme in schemes
    )


def _state(rules: SchemeRules, rule: SchemeRule) -> PunctuationState:
    if not rule.needs:
        return PunctuationState(rule.scheme, Keeping.LATEST)
    purged_by = ((at, _closing(rules, rule, at)) for at in _told_by_rows(rules, rule.scheme))
    found = next(((at, by) for at, by in purged_by if by), None)
    if found is not None:
        return PunctuationState(rule.scheme, Keeping.PURGED, *found)
    return PunctuationState(rule.scheme, Keeping.FOREVER if rule.scheme.lifespan is None else Keeping.LIFESPAN)


def _told_by_rows(rules: SchemeRules, scheme: Scheme) -> Iterator[JoinAttribute]:
    """Punctuable attributes whose value only a row with that value tells, not a difference or a filter."""
    classes = rules.classes
    for name in scheme.attributes:
        attribute = JoinAttribute(scheme.stream, name)
        if classes.of[attribute] not in classes.finite.keys() | classes.ordered:
            yield attribute


def _closing(rules: SchemeRules, rule: SchemeRule, attribute: JoinAttribute) -> tuple[Scheme, ...]:
    """For each other stream with the attribute's class a scheme that rules out its rows with a punctuation's values.

    These values are all that a punctuation tells, so it chains from their classes and not from all of its stream: "a
    punctuation can only be purged by the punctuations on its non-* attributes". Empty if a stream has none that lasts.
    """
    told = reach(rules_of(rules.classes, ()), (), classes=rule.needs)
    members = rules.classes.members[rules.classes.of[attribute]]
    lasting = [r.scheme for r in rules.rules if told.lets(r) and r.scheme.lifespan is None]
    sharing = dict.fromkeys(at.stream for at in members if at.stream != rule.scheme.stream)
    closing = [next((scheme for scheme in lasting if scheme.stream == stream), None) for stream in sharing]
    return tuple(scheme for scheme in closing if scheme is not None) if None not in closing else ()

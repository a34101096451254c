"""Which punctuations may be forgotten now: the reference for a run time, as `chained_purge.py` is for rows.

A punctuation goes when those of other streams that close its values have come, and no stored row tells these values
any more. The paper (004, section 5.1) overlooks both that stored rows may still wait for it, and that two punctuations
may each be the evidence that lets the other go: they have to go together, or one of them stays indefinitely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.defeat import StreamRow
from penstock.closing.punctuation.forward_chaining import SchemeRule, rules_of
from penstock.closing.punctuation.join_classes import JoinClasses, join_classes
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Punctuation, Scheme
from tests.reference.punctuation.chained_purge import Held, missing_punctuations
from tests.reference.punctuation.punctuation_state import Keeping, PunctuationState, punctuation_states
from tests.reference.punctuation.rows import Binding, joined


def purge_punctuations(
    query: PunctuatedJoin,
    schemes: Sequence[Scheme],
    stored: Mapping[str, Sequence[StreamRow]],
    punctuations: Iterable[Punctuation],
) -> frozenset[Punctuation]:
    """Those of the punctuations that no row, stored or to come, will want.

    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> item, bid = PunctuatedStream("item", ("id",)), PunctuatedStream("bid", ("auction",))
    >>> equal = JoinEquality(JoinAttribute("item", "id"), JoinAttribute("bid", "auction"))
    >>> query = PunctuatedJoin((item, bid), (equal,))
    >>> schemes = [Scheme("item", ("id",)), Scheme("bid", ("auction",))]
    >>> held = [Punctuation(scheme, (7,)) for scheme in schemes]
    >>> len(purge_punctuations(query, schemes, {}, held))
    2
    >>> len(purge_punctuations(query, schemes, {"bid": [StreamRow("bid", (("auction", 7),))]}, held))
    0
    """
    classes = join_classes(query)
    rules = {rule.scheme: rule for rule in rules_of(classes, schemes).rules}
    states = {state.scheme: state for state in punctuation_states(query, schemes)}
    punctuations = tuple(dict.fromkeys(punctuations))
    held = Held.of(punctuations)
    superseded = {each for each in punctuations if not held.is_highest(each)}
    useless = {each for each in punctuations if states[each.scheme].keeping is Keeping.IRRELEVANT}
    evidence: dict[Punctuation, frozenset[Punctuation]] = {}
    going: set[Punctuation] = set()
    for each in punctuations:
        state = states[each.scheme]
        if state.keeping is Keeping.PURGED and each not in superseded:
            binding = _binding(classes, each)
            closing = [rules[scheme] for scheme in state.purged_by]
            evidence[each] = frozenset(p for rule in closing for p in _wanted(classes, rule, binding))
            missing = any(missing_punctuations(classes, rule, binding, held) for rule in closing)
            if not missing and not _wanted_by_rows(classes, state, binding, stored):
                going.add(each)
    return frozenset(superseded | useless | _together(going, evidence))


def _together(going: set[Punctuation], evidence: Mapping[Punctuation, frozenset[Punctuation]]) -> set[Punctuation]:
    """Without those that are evidence for one that has to stay."""
    while True:
        serving = {(p.scheme, p.values) for each, proofs in evidence.items() if each not in going for p in proofs}
        kept = {each for each in going if (each.scheme, each.values) in serving}
        if not kept:
            return going
        going = going - kept


def _binding(classes: JoinClasses, punctuation: Punctuation) -> Binding:
    names = [JoinAttribute(punctuation.scheme.stream, name) for name in punctuation.scheme.attributes]
    return {classes.of[at]: value for at, value in zip(names, punctuation.values, strict=True)}


def _wanted(classes: JoinClasses, rule: SchemeRule, binding: Binding) -> frozenset[Punctuation]:
    return missing_punctuations(classes, rule, binding, Held.of(()))


def _wanted_by_rows(
    classes: JoinClasses, state: PunctuationState, binding: Binding, stored: Mapping[str, Sequence[StreamRow]]
) -> bool:
    """Some stored row of a stream that shares the attribute agrees with the punctuation's values."""
    return any(joined(classes, binding, row) for scheme in state.purged_by for row in stored.get(scheme.stream, ()))

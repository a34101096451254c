"""What is kept of groups, distinct values and rows of set operations, and until when: the value that the verdict reads.

It is read from the closers that the operators execute (`groups`), so what it says is what they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from penstock.algebra.relations import Relation
from penstock.closing.group_closers import (
    AfterJoin,
    AfterOrder,
    AfterPunctuation,
    AfterReference,
    Closers,
    GroupCloser,
    GroupEnding,
    GroupInTime,
    NeverNull,
    WithFirstRow,
)
from penstock.closing.physical_join import punctuations_of

#: Of more keys that may be NULL not all combinations are tried: then each is taken for one that stays.
_MOST_NULLABLE = 10


@dataclass(frozen=True, slots=True)
class GroupRetention:
    """Entries of GROUP BY, DISTINCT or a set operation are kept until they are closed, if anything closes them."""

    #: What closes them, or the values of DISTINCT aggregates.
    ending: GroupEnding | None

    @property
    def shows(self) -> bool:
        """Whether each input is seen to close, as EMIT ON CLOSE wants it; for entries with NULL it may not be."""
        return self.ending is not None and bool(self.ending.closers.streams)

    @property
    def lasting_nulls(self) -> tuple[frozenset[int], ...]:
        """The smallest sets of keys such that an entry in which just these are NULL is never closed."""
        return () if self.ending is None else lasting_nulls(self.ending.closers)

    @property
    def awaiting_null(self) -> tuple[frozenset[int], ...]:
        """The smallest sets of keys such that an entry with NULL in just these stays until a punctuation has NULL."""
        return () if self.ending is None else lasting_nulls(self.ending.closers, punctuated=False)

    def values_of(self, aggregation: int) -> GroupRetention:
        """What is kept of the values of a DISTINCT aggregate whose groups may stay; its value is the last key."""
        found = [each.groups for each in self.ending.values if each.aggregation == aggregation] if self.ending else []
        return GroupRetention(found[0] if found else None)

    @property
    def lasting_punctuations(self) -> Iterator[AfterPunctuation]:
        """The ends whose punctuations would be kept without end: groups with their values may always come."""
        end = self.ending
        for number in range(len(end.evidence)) if end is not None else ():
            if end is not None and not is_forgotten(end.closers, number, end.input, end.done_by_join):
                yield next(each for each in end.closers.punctuations() if each.evidence == number)


#: What no closer ends, or of which nothing is known.
NOTHING_ENDS = GroupRetention(None)


def is_forgotten(closers: Closers, number: int, node: Relation, by_join: Sequence[AfterJoin]) -> bool:
    """Whether punctuations that are read as one evidence do not pile up.

    One is forgotten when all streams are closed for its values, or the join below the node is done with them.
    """
    is_said = {each.keys for each in by_join if punctuations_of(node, each) == closers.evidence[number]}
    users = (user for user in closers.punctuations() if user.evidence == number)
    return all(user.keys in is_said or closers.all_close(user) for user in users)


def lasting_nulls(closers: Closers, *, punctuated: bool = True) -> tuple[frozenset[int], ...]:
    """The smallest sets of keys such that no closer of some stream closes an entry in which just these are NULL.

    If not `punctuated`, none closes one where no punctuation with NULL arrives.
    """
    nullable = sorted(set(_needing_values(closers, punctuated)))
    if len(nullable) > _MOST_NULLABLE:
        return tuple(frozenset((key,)) for key in nullable)
    found: list[frozenset[int]] = []
    for size in range(1, len(nullable) + 1):
        for some in map(frozenset, combinations(nullable, size)):
            all_close = all(any(_closes(closer, some, punctuated) for closer in own) for own in closers.streams)
            if not all_close and not any(smaller <= some for smaller in found):
                found.append(some)
    return tuple(found)


def _needing_values(closers: Closers, punctuated: bool) -> Iterator[int]:
    """The keys that some closer says nothing of where they are NULL."""
    for closer in closers:
        match closer:
            case AfterPunctuation(keys) if not punctuated:
                yield from keys
            case GroupInTime(key):
                yield key
            case AfterPunctuation(never_null=keys) | AfterOrder(keys) | AfterReference(keys):
                yield from keys


def _closes(closer: GroupCloser, nulls: frozenset[int], punctuated: bool) -> bool:
    """Whether a stream is closed for entries in which just these keys are NULL."""
    match closer:
        case GroupInTime(key) | AfterOrder((key,)):
            return key not in nulls
        case AfterPunctuation(keys, never_null=never):
            return nulls.isdisjoint(never if punctuated else keys)
        case AfterReference(keys):
            return nulls.isdisjoint(keys)
        case NeverNull(never):
            return bool(never & nulls)
        case WithFirstRow():
            return True

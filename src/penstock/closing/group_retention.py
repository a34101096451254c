"""What is kept of groups, distinct values and rows of set operations, and until when: the value that the verdict reads.

It is derived as the plan derives it (`groups`), from the same closers, so what it says is what the operators do. A
scheme that does not say where its punctuations come from closes groups, too, but no run ever sees one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from penstock.algebra.physical import physical
from penstock.algebra.relations import Aggregate, Distinct, Project, SetOp
from penstock.catalog import Catalog
from penstock.closing.group_closers import (
    UNSEEN,
    AfterInput,
    AfterPunctuation,
    Closer,
    Ending,
    InTime,
    NeverNull,
    Seen,
)
from penstock.closing.groups import Declared, ending_of_groups
from penstock.closing.row_times import widened

Closers = tuple[tuple[Closer, ...], ...]

#: Of more keys that may be NULL not all combinations are tried: then each is taken for one that stays.
_MOST_NULLABLE = 10


@dataclass(frozen=True, slots=True)
class GroupRetention:
    """Entries of GROUP BY, DISTINCT or a set operation are kept until they are closed, if anything closes them."""

    #: What closes them, or the values of DISTINCT aggregates.
    ending: Ending | None

    @property
    def ends(self) -> bool:
        """Whether entries are closed, but for those with NULL in `lasting_nulls`."""
        return self.ending is not None and self.ending.closes_groups

    @property
    def shows(self) -> bool:
        """Whether a run sees each input close, for each entry: as EMIT ON CLOSE wants it."""
        return self.is_enforced and self.ending is not None and bool(self.ending.closers) and not self.lasting_nulls

    @property
    def is_enforced(self) -> bool:
        """Whether a run sees what closes them."""
        return self.ending is not None and _sees(self.ending)

    @property
    def lasting_nulls(self) -> tuple[frozenset[int], ...]:
        """The smallest sets of keys such that an entry in which just these are NULL is never closed."""
        return lasting_nulls(self.ending.closers) if self.ending is not None else ()

    def values_of(self, aggregation: int) -> GroupRetention:
        """What is kept of the values of a DISTINCT aggregate whose groups may stay; its value is the last key."""
        found = [each.groups for each in self.ending.values if each.aggregation == aggregation] if self.ending else []
        return GroupRetention(found[0] if found else None)


def group_retention(node: Aggregate | Distinct | SetOp, catalog: Catalog) -> GroupRetention:
    """What is kept of the entries of an operator in normal form, by all that is declared, seen by a run or not."""
    declared = Declared(catalog, unseen=True)
    relation = node if isinstance(node, SetOp) else widened(node, declared)
    form = physical(relation.input if isinstance(relation, Project) else relation)
    assert isinstance(form, Aggregate | Distinct | SetOp)
    return GroupRetention(ending_of_groups(form, declared))


def _sees(ending: Ending) -> bool:
    """Whether each input has a closer that needs no punctuations, or some that a run sees."""
    if ending.after_join:
        return True
    return all(_closes(number, ending.closers, frozenset(), seen_only=True) for number in range(len(ending.closers)))


def lasting_nulls(closers: Closers) -> tuple[frozenset[int], ...]:
    """The smallest sets of keys such that no closer of some input closes an entry in which just these are NULL."""
    nullable = sorted(set(_needing_values(closers)))
    if len(nullable) > _MOST_NULLABLE:
        return tuple(frozenset((key,)) for key in nullable)
    found: list[frozenset[int]] = []
    for size in range(1, len(nullable) + 1):
        for some in map(frozenset, combinations(nullable, size)):
            if not any(smaller <= some for smaller in found) and not _all_close(closers, some):
                found.append(some)
    return tuple(found)


def _needing_values(closers: Closers) -> Iterator[int]:
    """The keys that some closer says nothing of where they are NULL."""
    for closer in (closer for own in closers for closer in own):
        match closer:
            case InTime(key):
                yield key
            case AfterPunctuation(never_null=keys):
                yield from keys


def _all_close(closers: Closers, nulls: frozenset[int]) -> bool:
    return all(_closes(number, closers, nulls) for number in range(len(closers)))


def _closes(
    number: int,
    closers: Closers,
    nulls: frozenset[int],
    seen_only: bool = False,
    asked: frozenset[int] = frozenset(),
) -> bool:
    """Whether an input is closed for entries in which just these keys are NULL."""
    for closer in closers[number]:
        match closer:
            case InTime(key) if key not in nulls:
                return True
            case AfterPunctuation(_, evidence, _, never) if not never & nulls and not (
                seen_only and evidence == UNSEEN
            ):
                return True
            case Seen():
                return True
            case NeverNull(keys) if keys & nulls:
                return True
            case AfterInput(source) if source not in asked:
                if _closes(source, closers, nulls, seen_only, asked | {number}):
                    return True
    return False

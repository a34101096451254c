"""References between two columns, both ways: one column has the values of a key that the other is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.catalog import Reference
from penstock.profiling.arrivals import ReadRows
from penstock.profiling.candidates import CONTAINED, Candidate
from penstock.profiling.findings import Finding
from penstock.profiling.observer import ANY, Observer, finding_of
from penstock.profiling.telling import like
from penstock.synopsis.adherence import ClusteredAdherence, ReferenceAdherence
from penstock.synopsis.memory import Ints

#: Of the rows that are referred to one in so many may repeat another's value.
_REPEATED = 100
#: Numbers are dense if one in so many is there.
_DENSE = 2


@dataclass(slots=True)
class _Link:
    """Two columns that have values in common: the one refers to the other, and the other way round."""

    candidate: Candidate
    forth: ReferenceAdherence = field(default_factory=ReferenceAdherence)
    back: ReferenceAdherence = field(default_factory=ReferenceAdherence)


@dataclass(frozen=True, slots=True)
class _Common:
    """How many values two columns have, how many of the first are in the second, and whether that is no chance.

    `found` is None where there are too many to know, and the first rows have to tell.
    """

    values: int
    keys: int
    found: int | None
    stands: bool


class Links:
    """What observes references. All rows of an instant have been observed by those of their streams before."""

    def __init__(self, observers: Sequence[Observer], candidates: Iterable[Candidate]) -> None:
        self._observers = observers
        links: dict[Candidate, _Link] = {}
        for candidate in candidates:
            if candidate not in links and candidate.turned() not in links:
                links[candidate] = _Link(candidate)
        self._links = list(links.values())

    def observe(self, rows: Sequence[ReadRows | None]) -> None:
        for link in self._links:
            self._show(link.candidate, link.forth, rows)
            self._show(link.candidate.turned(), link.back, rows)

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """The references that stand, both ways, and those that are declared; each with the stream that refers.

        A column may have values of several keys. It is taken to refer to the smallest of them.
        """
        judged = [(link, common) for link in self._links if (common := self._common(link.candidate)) is not None]
        smallest: dict[tuple[int, str], int] = {}
        for link, common in judged:
            if common.stands:
                child = (link.candidate.child, link.candidate.child_column)
                smallest[child] = min(common.keys, smallest.get(child, common.keys))
        for link, common in judged:
            least = smallest.get((link.candidate.child, link.candidate.child_column))
            for number, finding in self._both_ways(link, common):
                if (common.stands and common.keys == least) or self._is_declared(number, finding):
                    yield number, finding

    def _show(self, candidate: Candidate, adherence: ReferenceAdherence, all_rows: Sequence[ReadRows | None]) -> None:
        """Shows rows to a reference to them."""
        rows = all_rows[candidate.parent]
        referring = self._referring(candidate)
        if rows is None or referring is None:
            return
        parent = self._observers[candidate.parent]
        column = parent.words(rows, (candidate.parent_column,))
        first_places, first_times = referring.first_rows(column.words, column.nulls)
        places = parent.counter.rows - len(rows) + np.arange(len(rows))
        if candidate.child == candidate.parent:
            adherence.observe_own(first_places, first_times, rows.times, places)
        else:
            adherence.observe(first_times, rows.times, places, parent.counter)

    def _common(self, one: Candidate) -> _Common | None:
        """What two columns have in common, if their values are known."""
        referring, referred = self._referring(one), self._referring(one.turned())
        if referring is None or referred is None:
            return None
        values, keys = referring.values(), referred.values()
        found, contained = None, one.likely
        if referring.knows_all and referred.knows_all:
            found = int(np.isin(values, keys).sum())
            contained = found > 0 and found * 100 >= len(values) * CONTAINED
        is_key = self._observers[one.parent].is_key(one.parent_column, _REPEATED)
        stands = contained and is_key and not self._is_chance(one, values, keys)
        return _Common(referring.count_values(), referred.count_values(), found, stands)

    def _both_ways(self, link: _Link, common: _Common) -> Iterator[tuple[int, Finding]]:
        forth, back = link.candidate, link.candidate.turned()
        for one, adherence, count in ((forth, link.forth, common.values), (back, link.back, common.keys)):
            parent = self._observers[one.parent].definition.name
            constraint = Reference((one.child_column,), parent, (one.parent_column,), ANY)
            yield one.child, finding_of(constraint, adherence, count, common.found)

    def _is_declared(self, number: int, finding: Finding) -> bool:
        return any(like(finding.constraint, c) for c in self._observers[number].definition.constraints)

    def _referring(self, one: Candidate) -> ClusteredAdherence | None:
        return self._observers[one.child].values_of(one.child_column)

    def _is_chance(self, one: Candidate, values: Ints, keys: Ints) -> bool:
        """Whether one value is found, or small numbers in a key that has all: any would be, be it a price or count."""
        if len(values) == 1:
            return True
        type_ = self._observers[one.parent].type_of(one.parent_column)
        if type_ is None or not type_.is_integer:
            return False
        reach = int(keys.max()) - int(keys.min()) + 1
        return _DENSE * len(keys) >= reach and _DENSE * (int(values.max()) - int(values.min()) + 1) < reach

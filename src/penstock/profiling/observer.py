"""What observes the rows of one stream: an order for each column, clusters for each column and some sets of them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.catalog import Clustered, Ordered, Reference, Unique, WithinRows
from penstock.profiling.arrivals import Profiled, ReadRows, UntakenArrivals
from penstock.profiling.findings import SHARES, Finding, Ks, NearKey, StreamProfile
from penstock.profiling.words import Words, beside, in_order, is_ordered, width
from penstock.synopsis.adherence import (
    Adherence,
    ClusteredAdherence,
    Counter,
    DigestRoom,
    OrderedAdherence,
    RequiredK,
    TooManyValues,
)
from penstock.types import Type

#: What stands in the place of k until it is found.
ANY = WithinRows(0)

ColumnNames = tuple[str, ...]


class Observer:
    """Observes the rows of a stream in the order of time."""

    def __init__(self, profiled: Profiled, most: int, room: DigestRoom) -> None:
        self.definition = profiled.definition
        self.attributes = profiled.columns
        #: Counts the rows, for those who refer to them.
        self.counter = Counter(most)
        self._most = most
        self._room = room
        self._numbers = {attribute.name: number for number, attribute in enumerate(self.attributes)}
        time = self.definition.timestamp
        self._orders = {
            attribute.name: OrderedAdherence(most)
            for attribute in self.attributes
            if is_ordered(attribute.type) and attribute.name != time
        }
        self._clusters: dict[ColumnNames, ClusteredAdherence] = {}
        self._unknown: list[ColumnNames] = []
        self._first = self._last = 0
        self._with_null: set[str] = set()
        declared = [c.columns for c in self.definition.constraints if isinstance(c, Unique | Clustered)]
        self.examine((name,) for name in self._numbers if name != time)
        self.examine(names for names in declared if self._numbers.keys() >= set(names))

    def type_of(self, name: str) -> Type | None:
        """The type of a column that is looked at."""
        return self.attributes[self._numbers[name]].type if name in self._numbers else None

    def examine(self, sets: Iterable[ColumnNames]) -> None:
        """Looks also for keys and clusters of these columns, from the first row on."""
        for names in sets:
            if names not in self._clusters:
                types = [self.attributes[self._numbers[name]].type for name in names]
                self._clusters[names] = ClusteredAdherence(self._most, width(types), self._room)

    def observe(self, rows: ReadRows) -> None:
        if self.counter.rows == 0:
            self._first = int(rows.times[0])
        self._last = int(rows.times[-1])
        self.counter.observe(rows.times)
        named = zip(self.attributes, rows.columns, strict=True)
        self._with_null |= {attribute.name for attribute, column in named if column.nulls.any()}
        for name, order in self._orders.items():
            number = self._numbers[name]
            column = rows.columns[number]
            order.observe(in_order(column.words, self.attributes[number].type), column.nulls, rows.times)
        for names, clusters in list(self._clusters.items()):
            columns = self.words(rows, names)
            try:
                clusters.observe(columns.words, columns.nulls, rows.times)
            except TooManyValues:
                clusters.close()
                del self._clusters[names]
                self._unknown.append(names)

    def words(self, rows: ReadRows, names: ColumnNames) -> Words:
        columns = [rows.columns[self._numbers[name]] for name in names]
        return columns[0] if len(columns) == 1 else beside(columns)

    def values_of(self, name: str) -> ClusteredAdherence | None:
        """The values of a column and their first rows, if they are known."""
        return self._clusters.get((name,))

    def is_key(self, name: str, one_in: int) -> bool:
        """Whether at most one in so many rows repeats the values of another."""
        clusters = self.values_of(name)
        return clusters is not None and clusters.repeated * one_in <= self.counter.rows

    def profile(self, arrivals: UntakenArrivals, delay: int | None, references: Iterable[Finding]) -> StreamProfile:
        found = self._clusters
        # A column with one value only is in any order.
        telling = {names for names, clusters in found.items() if clusters.count_values() + clusters.has_null > 1}
        constant = {names[0] for names in found.keys() - telling if len(names) == 1}
        orders = [finding_of(Ordered(n, ANY), order) for n, order in self._orders.items() if n not in constant]
        clusters = [finding_of(Clustered(names, ANY), each) for names, each in found.items() if names in telling]
        return StreamProfile(
            self.definition,
            self.counter.rows,
            arrivals.progress.bad_rows,
            arrivals.progress.late_rows,
            self._first,
            self._last,
            None if delay is not None else _ks(arrivals.lateness),
            tuple(NearKey(names, clusters.repeated) for names, clusters in found.items()),
            (*orders, *clusters, *references),
            tuple(self._unknown),
            {attribute.name: attribute.name in self._with_null for attribute in self.attributes},
        )


def finding_of(
    constraint: Clustered | Ordered | Reference, adherence: Adherence, values: int = 0, found: int | None = 0
) -> Finding:
    return Finding(constraint, _ks(adherence.rows), _ks(adherence.time), values, found)


def _ks(required: RequiredK) -> Ks:
    return Ks(required.exact, tuple(required.most(required.rows // one_in) for one_in in SHARES.values()))

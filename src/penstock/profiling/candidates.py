"""Which references and keys of two columns are worth a look: those that a first sample of the rows does not rule out.

Every pair of columns could refer, and every set could be a key. A value is looked up for each candidate and row, so
candidates are few: a sample of the rows, from the start and the same time of all streams, shows which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np

from penstock.catalog import Attribute
from penstock.kernels.hashing import row_hashes
from penstock.profiling.arrivals import ReadRows
from penstock.profiling.words import Bools, Words, beside
from penstock.synopsis.memory import Ints
from penstock.types import Kind, Type

#: Rows of a stream that are enough of a sample.
SAMPLE_ROWS = 1 << 14

#: Of the values that refer, one in so many must be found in the sample at least.
_FOUND = 10
#: Of the values that refer, so many in a hundred are to be found in the end.
CONTAINED = 90
#: Values of a column that are looked up.
_LOOKED_UP = 256
_MOST_REFERENCES = 32

#: One in so many rows of the sample may repeat a key: it still counts as one.
_REPEATED = 100

#: What nobody joins on is no key of two columns either, unless it is the time.
_KEYED = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.STRING, Kind.BINARY, Kind.TIMESTAMP)
_REFERRING = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.STRING, Kind.BINARY)
_MOST_KEYED = 12
_MOST_KEYS = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reference from a column to another, by the numbers of their streams."""

    child: int
    child_column: str
    parent: int
    parent_column: str
    #: Whether nearly all values that refer are found in the sample.
    likely: bool = field(default=False, compare=False)

    def turned(self) -> Candidate:
        return Candidate(self.parent, self.parent_column, self.child, self.child_column)


@dataclass(frozen=True, slots=True)
class SampledColumn:
    """A column of the sample: its distinct values without NULL, and whether it is a key of its rows."""

    stream: int
    name: str
    type: Type
    values: Ints
    is_key: bool


def columns_of(stream: int, attributes: Sequence[Attribute], rows: ReadRows) -> Iterator[SampledColumn]:
    """The columns that may refer or be referred to."""
    for attribute, words in zip(attributes, rows.columns, strict=True):
        if attribute.type.kind in _REFERRING:
            values = np.unique(_alone(words)[~words.nulls])
            is_key = len(values) * _REPEATED >= len(rows) * (_REPEATED - 1)
            yield SampledColumn(stream, attribute.name, attribute.type, values, is_key)


def references(columns: Sequence[SampledColumn], without: Mapping[int, str]) -> list[Candidate]:
    """References to keys that hold the values which refer, those first of which most are found.

    `without` are the columns of times, by stream: they refer to nothing.
    """
    found = []
    for key in columns:
        for child in columns if key.is_key and len(key.values) else ():
            # A key of the same stream is the column itself, or another name of its rows.
            same = child.stream == key.stream and (child.name == key.name or child.is_key)
            is_time = without[child.stream] == child.name or without[key.stream] == key.name
            if same or is_time or not comparable(child.type, key.type) or not len(child.values):
                continue
            looked_up = child.values[:: -(-len(child.values) // _LOOKED_UP)]
            hits = int(np.count_nonzero(_are_in(looked_up, key.values)))
            if hits * _FOUND >= len(looked_up):
                likely = hits * 100 >= len(looked_up) * CONTAINED
                candidate = Candidate(child.stream, child.name, key.stream, key.name, likely)
                found.append((-hits / len(looked_up), candidate))
    found.sort(key=lambda pair: pair[0])
    return [candidate for _, candidate in found[:_MOST_REFERENCES]]


def keys_of_two(attributes: Sequence[Attribute], rows: ReadRows) -> list[tuple[str, str]]:
    """Pairs of columns that are a key of the sample, where no column is one by itself."""
    rows = rows.take(slice(0, SAMPLE_ROWS))
    keyed = [
        (attribute.name, words)
        for attribute, words in zip(attributes, rows.columns, strict=True)
        if attribute.type.kind in _KEYED
    ][:_MOST_KEYED]
    if any(_distinct((words,)) == len(rows) for _, words in keyed):
        return []
    pairs = (
        (name, other)
        for (name, words), (other, others) in combinations(keyed, 2)
        if _distinct((words, others)) == len(rows)
    )
    return list(islice(pairs, _MOST_KEYS))


def comparable(left: Type, right: Type) -> bool:
    """Whether equal values of two types have equal words."""
    return left == right or (left.is_integer and right.is_integer)


def _alone(words: Words) -> Ints:
    """One word per value: all of it, or as much of a hash as a sample needs."""
    return words.words[:, 0]


def _are_in(values: Ints, sorted_: Ints) -> Bools:
    places = np.minimum(np.searchsorted(sorted_, values), len(sorted_) - 1)
    return np.asarray(sorted_[places] == values)


def _distinct(columns: Sequence[Words]) -> int:
    words = beside(columns).words
    return len(np.unique(row_hashes(words, np.arange(len(words)), np.arange(words.shape[1]))))

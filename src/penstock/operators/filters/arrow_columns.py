"""The columns of an Arrow batch, as it was read: numbers are read where they lie, and strings when somebody asks.

A string that only filters read is given a transient code, once per batch and only in the rows that are asked for: the
machine's dictionary learns the strings of rows that pass, if they are among the results' or the state's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.kernels import sampling
from penstock.kernels.fused_filter import BYTES, DOUBLES, HALVES, WORDS
from penstock.operators.filters.columns import InPlace
from penstock.synopsis.codes import Nulls, arrow_type, encode_column, is_interned, nulls_of
from penstock.synopsis.deltas import Bools
from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints
from penstock.synopsis.transient_codes import TransientCodes
from penstock.types import Kind, Type

#: So many strings tell whether they repeat.
SAMPLE = 256

#: The code of a string that nobody has asked for yet.
_UNREAD = -(2**63)

_WORDS = (Kind.BIGINT, Kind.TIMESTAMP)
_LAYOUTS = {Kind.INT: HALVES, Kind.DATE: HALVES, Kind.DOUBLE: DOUBLES}


class ArrowColumns:
    """Arrays of one length, and the types that they are declared with."""

    def __init__(self, arrays: Sequence[pa.Array], types: Sequence[Type], dictionary: Dictionary) -> None:
        self._arrays = [
            array if array.type == arrow_type(type_) else array.cast(arrow_type(type_))
            for array, type_ in zip(arrays, types, strict=True)
        ]
        self._types = types
        self._dictionary = dictionary
        self._strings = TransientCodes(dictionary)
        self._nulls: dict[int, Nulls] = {}
        #: Codes of whole columns that outlive the batch.
        self._lasting: dict[int, tuple[Ints, Nulls]] = {}
        #: Codes of the strings that were asked for.
        self._transient: dict[int, Ints] = {}
        self._repeats: dict[int, bool] = {}
        #: Strings as objects, of the rows that filters are evaluated on just now.
        self._windows: dict[int, _TextWindow] = {}
        #: Which rows are in samples.
        self._sampled: dict[tuple[tuple[int, ...], int], Bools] = {}
        #: Booleans as bytes.
        self._bytes: dict[int, Bools] = {}

    def __len__(self) -> int:
        return len(self._arrays[0])

    def column(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        nulls = self.nulls(position)
        array, type_ = self._arrays[position], self._types[position]
        if is_interned(type_):
            codes = self._transient_codes(position, some)
        elif some is not None and nulls is None and type_.kind in _WORDS:
            # They are read where they lie, and numpy picks some in less time than Arrow does.
            codes = encode_column(array, type_, self._strings)[0][some]
        else:
            codes, _ = encode_column(_taken(array, some), type_, self._strings)
        return codes, nulls if nulls is None or some is None else nulls[some]

    def arguments(self, position: int, some: Ints | None = None) -> tuple[NDArray[Any], Nulls]:
        if position in self._transient or self._is_repeating(position):
            return self.column(position, some)
        nulls = self.nulls(position)
        if some is None:
            return self._arrays[position].to_numpy(zero_copy_only=False), nulls
        return self._texts(position, some), nulls if nulls is None else nulls[some]

    def array(self, position: int, some: Ints | None = None) -> pa.Array:
        return _taken(self._arrays[position], some)

    def sampled(self, positions: Sequence[int], one_in: int) -> Bools:
        """Which rows have one of the keys in a sample; no code is made of a value."""
        picked = self._sampled.get((tuple(positions), one_in))
        if picked is None:
            picked = self._sampled[tuple(positions), one_in] = self._picked(positions, one_in)
        return picked

    def _picked(self, positions: Sequence[int], one_in: int) -> Bools:
        states = np.zeros(len(self), np.int64)
        for position in positions:
            array, kind = self._arrays[position], self._types[position].kind
            if kind in (Kind.STRING, Kind.BINARY):
                _, offsets, data = array.buffers()
                ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
                sampling.mix_bytes(ends, np.frombuffer(data or b"", np.uint8), states)
            elif not is_interned(self._types[position]):
                sampling.mix_words(self.lasting(position)[0], states)
        picked = np.empty(len(self), np.bool_)
        sampling.pick(states, one_in, picked)
        return picked

    def lasting(self, position: int, some: Ints | None = None) -> tuple[Ints, Nulls]:
        """Returns codes that outlive the batch, of all rows or of some, by number."""
        array, type_ = self._arrays[position], self._types[position]
        if some is None:
            if position not in self._lasting:
                self._lasting[position] = encode_column(array, type_, self._dictionary)
            return self._lasting[position]
        if type_.kind in _WORDS and not array.null_count:
            return encode_column(array, type_, self._dictionary)[0][some], None
        return encode_column(array.take(pa.array(some)), type_, self._dictionary)

    def filter(self, kept: Bools) -> ArrowColumns:
        """Returns the columns of some rows."""
        mask = pa.array(kept)
        return ArrowColumns([array.filter(mask) for array in self._arrays], self._types, self._dictionary)

    def strings(self, dictionary: Dictionary) -> TransientCodes:
        assert dictionary is self._dictionary
        return self._strings

    def in_place(self, position: int, type_: Type) -> InPlace:
        array = self._arrays[position]
        if type_.kind is Kind.BOOLEAN:
            if position not in self._bytes:
                self._bytes[position] = array.fill_null(False).to_numpy(zero_copy_only=False)
            return InPlace(BYTES, self._bytes[position].__array_interface__["data"][0])
        words = array.type.bit_width // 8
        first: int = array.buffers()[1].address + array.offset * words
        # Of a DECIMAL of few digits the low word is the number.
        return InPlace(_LAYOUTS.get(type_.kind, WORDS), first, 2 if type_.kind is Kind.DECIMAL else 1)

    def nulls(self, position: int) -> Nulls:
        if position not in self._nulls:
            self._nulls[position] = nulls_of(self._arrays[position])
        return self._nulls[position]

    def equal_to(self, position: int, values: Sequence[Interned], dictionary: Dictionary) -> Bools:
        array = self._arrays[position]
        if len(values) == 1:
            equal = pc.equal(array, pa.scalar(values[0], array.type)).fill_null(False)
        else:
            equal = pc.is_in(array, pa.array(values, array.type))
        return np.asarray(equal.to_numpy(zero_copy_only=False))

    def _texts(self, position: int, some: Ints) -> NDArray[Any]:
        """Returns strings as objects. Those of a chunk are kept for the filters that come after."""
        if not len(some):
            return np.empty(0, object)
        first, end = int(some.min()), int(some.max()) + 1
        kept = self._windows.get(position)
        if kept is None or first < kept.first or end > kept.first + len(kept.texts):
            kept = self._windows[position] = _TextWindow(first, end - first)
        return kept.texts_of(self._arrays[position], some)

    def _is_repeating(self, position: int) -> bool:
        """Returns whether strings repeat, among the first."""
        if position not in self._repeats:
            first = self._arrays[position].slice(0, SAMPLE).to_pylist()
            self._repeats[position] = len(set(first)) < len(first)
        return self._repeats[position]

    def _transient_codes(self, position: int, some: Ints | None) -> Ints:
        """Returns codes of strings, of which those that are not known yet are given."""
        if position not in self._transient:
            self._transient[position] = np.full(len(self), _UNREAD, np.int64)
        codes = self._transient[position]
        asked = codes if some is None else codes[some]
        unread = asked == _UNREAD
        if not unread.any():
            return asked
        rows = np.flatnonzero(unread) if some is None else some[unread]
        codes[rows] = encode_column(_taken(self._arrays[position], rows), self._types[position], self._strings)[0]
        return codes if some is None else codes[some]


class _TextWindow:
    """The strings of a run of rows as objects, each made when it is first asked for."""

    __slots__ = ("_is_known", "first", "texts")

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.texts: NDArray[Any] = np.empty(count, object)
        self._is_known = np.zeros(count, np.bool_)

    def texts_of(self, array: pa.Array, some: Ints) -> NDArray[Any]:
        """Returns the strings of some rows of the run."""
        places = some - self.first
        unknown = ~self._is_known[places]
        count = int(np.count_nonzero(unknown))
        if 2 * count > len(self.texts):
            # To make those that nobody asks for takes less time than to pick the others out.
            self.texts = array.slice(self.first, len(self.texts)).to_numpy(zero_copy_only=False)
            self._is_known[:] = True
        elif count:
            made = places[unknown]
            self.texts[made] = _taken(array, some[unknown]).to_numpy(zero_copy_only=False)
            self._is_known[made] = True
        return self.texts[places]


def _taken(array: pa.Array, some: Ints | None) -> pa.Array:
    """Returns the values of some rows, in the order in which they are asked for: sampled rows come last."""
    if some is None:
        return array
    if len(some) and some[-1] - some[0] == len(some) - 1 and bool((some[1:] > some[:-1]).all()):
        return array.slice(int(some[0]), len(some))
    return array.take(pa.array(some))

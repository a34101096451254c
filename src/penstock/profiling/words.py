"""Columns as words for the kernels: an int64 per value, or two, which are equal just if the values are.

Nothing is remembered of a value but its words, so memory does not grow with the texts that come. STRING and BINARY are
128 bits of hash, a wide DECIMAL is its 128 bits, and all others have the code that the engines give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from penstock.kernels.texts import text_words
from penstock.synopsis.codes import decimal_words, encode_column, is_interned
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints
from penstock.types import Kind, Type

Bools = NDArray[np.bool_]

_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class Words:
    """A row of words per value, and where it is NULL."""

    words: Ints
    nulls: Bools

    def take(self, which: slice | Ints | Bools) -> Words:
        return Words(self.words[which], self.nulls[which])


def column_words(array: pa.Array, type_: Type) -> Words:
    """The words of an Arrow column of the type's own `arrow_type`."""
    if is_interned(type_):
        words = decimal_words(array) if type_.kind is Kind.DECIMAL else _hashed(array)
        nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
        return Words(np.where(nulls[:, None], 0, words), nulls)
    codes, some = encode_column(array, type_, Dictionary())
    return Words(codes[:, None], np.zeros(len(codes), np.bool_) if some is None else some)


def width(types: Sequence[Type]) -> int:
    """How many words columns of these types have beside each other."""
    words = sum(2 if is_interned(type_) else 1 for type_ in types)
    return words if len(types) == 1 else words + 1


def is_ordered(type_: Type) -> bool:
    """Whether `in_order` can put values of a type in order."""
    return not is_interned(type_) and type_.kind is not Kind.BOOLEAN


def in_order(words: Ints, type_: Type) -> Ints:
    """Words of one column as integers in the order of its values. NaN is the largest DOUBLE."""
    codes = words[:, 0]
    return np.where(codes >= 0, codes, codes ^ _MAGNITUDE) if type_.kind is Kind.DOUBLE else codes


def beside(columns: Sequence[Words]) -> Words:
    """Several columns as one, in which NULLs are values like any other."""
    nulls = np.zeros(len(columns[0].nulls), np.int64)
    for number, column in enumerate(columns):
        nulls |= column.nulls.astype(np.int64) << number
    together = np.concatenate([*(column.words for column in columns), nulls[:, None]], axis=1)
    return Words(together, np.zeros(len(nulls), np.bool_))


def _hashed(array: pa.Array) -> Ints:
    words = np.zeros((len(array), 2), np.int64)
    _, offsets, data = array.buffers()
    if len(array) and data is not None:
        ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
        text_words(ends.astype(np.int64), np.frombuffer(data, np.uint8), words)
    elif len(array):
        text_words(np.zeros(len(array) + 1, np.int64), np.zeros(0, np.uint8), words)
    return words

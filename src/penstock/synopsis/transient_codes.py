"""Transient codes: numbers below zero for strings that only an expression sees, and that end with its batch.

Else UPPER(name) = 'X', or a LIKE over a column that no result has, would leave every string in the machine's dictionary
until a sweep.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.synopsis.dictionary import Dictionary, Interned
from penstock.synopsis.memory import Ints


class TransientCodes:
    """Codes of a batch's values: that of the dictionary, if it has one, or else one below zero.

    A value keeps the code that it was given first, even if the dictionary learns it meanwhile.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._codes: dict[Interned, int] = {}
        self._values: list[Interned] = []

    def __bool__(self) -> bool:
        """Returns whether there is a value that the dictionary did not have."""
        return bool(self._values)

    def code(self, value: Interned) -> int:
        code = self._codes.get(value)
        return self._learn(value) if code is None else code

    def encode(self, values: Iterable[Interned]) -> Ints:
        return np.array([self.code(value) for value in values], np.int64)

    def values(self, codes: Ints) -> list[Interned]:
        held, transient = self._dictionary.value, self._values
        if len(codes) and codes.max() < 0:
            return list(map(transient.__getitem__, (~codes).tolist()))
        return [held(code) if code >= 0 else transient[~code] for code in codes.tolist()]

    def _learn(self, value: Interned) -> int:
        code = self._dictionary.find(value)
        if code is None:
            code = ~len(self._values)
            self._values.append(value)
        self._codes[value] = code
        return code

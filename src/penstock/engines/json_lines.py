"""Checks of a block of JSON lines before a parser reads it.

Arrow's parser takes what is not one object per line without an error (two objects on a line, `null`), ends the process
on some of it, and a column for each name that it finds may take more memory than there is. So it gets only blocks of
which this file can say that each line is one object, and only the names that are asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

#: Brackets and braces that may be open at one place. Python's parser and Java's have limits of their own above it.
MOST_NESTED = 200

_NEWLINE, _RETURN, _QUOTE, _COLON = b'\n\r":'
_OPEN, _CLOSE = b"{}"

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_NAME = re.compile(rb'("(?:[^"\\]|\\.)*")[ \t\r\n]*:', re.DOTALL)
#: Ways to write an ASCII letter that do not look like it: as an escape, and the sign for kelvin, whose lower case is k.
_DISGUISES = (rb"\u00", rb"\u212", b"\xe2\x84\xaa")

Bytes = NDArray[np.uint8]


def count_objects(block: bytes) -> int | None:
    """Counts the lines of a block; returns None unless each begins and ends as one object does and nests little.

    >>> count_objects(b'{"a": 1}\\n{"a": [2]}\\r\\n'), count_objects(b'{"a": 1}\\nnull\\n'), count_objects(b"[1]")
    (2, None, None)
    """
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    if not len(ends) or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    if len(data) < 2 or data[0] != _OPEN or (data[ends[:-1] + 1] != _OPEN).any():
        return None
    last = data[ends - 1]
    if (last != _CLOSE).any():
        last = np.where(last == _RETURN, data[ends - 2], last)
        if (last != _CLOSE).any():
            return None
    return len(ends) if _nests_little(block, data, ends) else None


def is_nested_too_deep(line: bytes) -> bool:
    """Returns whether more brackets and braces are open at one place of a line than may be.

    >>> is_nested_too_deep(b'{"a": "[[[["}'), is_nested_too_deep(b"[" * 1000)
    (False, True)
    """
    if line.count(b"[") + line.count(b"{") <= MOST_NESTED:
        return False
    bare = np.frombuffer(_STRING.sub(b"", line), np.uint8)
    opening, closing = (bare == ord("[")) | (bare == ord("{")), (bare == ord("]")) | (bare == ord("}"))
    depth = np.cumsum(opening.astype(np.int64) - closing.astype(np.int64))
    return bool(depth.max(initial=0) > MOST_NESTED)


def count_names(block: bytes) -> int:
    """Returns how many different names there are in a block, in objects inside objects, too.

    >>> count_names(b'{"a": {"b": ":"}}\\n{"a" : 2}')
    2
    """
    return len(set(_NAME.findall(block)))


def has_other_spelling(block: bytes, names: Collection[str]) -> bool:
    """Returns whether some name in a block is one of these names but for upper and lower case.

    >>> has_other_spelling(b'{"a": 1, "B": "A"}', ["a"]), has_other_spelling(b'{"A" : 1}', ["a"])
    (False, True)
    """
    is_plain = block.isascii() and b"\\" not in block
    if not all(name.isascii() for name in names) or (not is_plain and any(sign in block for sign in _DISGUISES)):
        return _spelled_otherwise(block, names)
    data = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(data[:-2] == _QUOTE)
    following = data[quotes + 1]
    if (data[quotes[following <= ord(" ")] + 2] <= _COLON).any():
        return _spelled_otherwise(block, names)  # a space may stand between a name and its colon
    closing = np.flatnonzero(following == _COLON)
    closing = closing[closing > 0]
    starts = quotes[closing - 1] + 1
    lengths = quotes[closing] - starts
    return any(_is_spelled_otherwise(data, starts[lengths == len(name)], name) for name in names)


def _is_spelled_otherwise(data: Bytes, at: NDArray[np.intp], name: str) -> bool:
    """Returns whether one of the names that start at these places is this one but for upper and lower case."""
    exact = at
    for offset, letter in enumerate(name.encode()):
        exact = exact[data[exact + offset] == letter]
    if len(exact) == len(at):
        return False
    for offset, letter in enumerate(name.lower().encode()):
        case = 0x20 if chr(letter).isalpha() else 0
        at = at[data[at + offset] | case == letter]
    return len(at) > len(exact)


def _spelled_otherwise(block: bytes, names: Collection[str]) -> bool:
    """Returns the same by comparing each distinct name."""
    exact, lower = set(names), {name.lower() for name in names}
    for name in set(_NAME.findall(block)):
        try:
            found = json.loads(name)
        except ValueError:
            return True
        if found not in exact and found.lower() in lower:
            return True
    return False


def _nests_little(block: bytes, data: Bytes, ends: NDArray[np.intp]) -> bool:
    opening = data == _OPEN
    if b"[" not in block and np.count_nonzero(opening) == len(ends):
        return True
    lines = np.searchsorted(ends, np.flatnonzero(opening | (data == ord("["))))
    suspects = np.flatnonzero(np.bincount(lines) > MOST_NESTED).tolist()
    return not any(is_nested_too_deep(block[0 if not line else ends[line - 1] : ends[line]]) for line in suspects)

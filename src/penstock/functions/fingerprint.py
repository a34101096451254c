"""The fingerprint of a Python function: by it a checkpoint tells whether the code has changed.

It is a hash of the compiled code, of defaults, of values from around the function, and of the functions, classes and
constants of the user's own module that it uses. It does not depend on names of files, lines, comments or the order of
definitions. It says nothing of other modules, nor of data that the function reads, and differs between versions of
Python.
"""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

#: Values that are told apart by how they are shown.
_PLAIN = (bool, int, float, complex, str, bytes, Decimal, date, time, timedelta, re.Pattern, types.NoneType)
_CONTAINERS = (tuple, list, dict, set, frozenset)


def fingerprint(function: Any) -> str:
    """The fingerprint of what can be called.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    described = "\n".join(_described(function, set()))
    return hashlib.blake2b(described.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _described(value: Any, seen: set[int]) -> Iterator[str]:
    """Lines that are alike for values that do alike."""
    if id(value) in seen:
        yield "again"
        return
    match value:
        case types.FunctionType():
            seen.add(id(value))
            yield from _function(value, seen)
        case types.CodeType():
            yield from _code(value, seen)
        case types.MethodType():
            yield from _described(value.__func__, seen)
            yield from _described(value.__self__, seen)
        case functools.partial():
            yield "partial"
            yield from _described(value.func, seen)
            yield from _described((value.args, value.keywords), seen)
        case re.Pattern():
            yield repr((value.pattern, value.flags))
        case _ if isinstance(value, _PLAIN):
            yield repr(value)
        case tuple() | list():
            # A tuple may be ours, and its number that of another soon; a circle goes through something else, too.
            seen.update([id(value)] if isinstance(value, list) else [])
            yield type(value).__name__
            for item in value:
                yield from _described(item, seen)
        case dict():
            seen.add(id(value))
            yield "dict"
            for key, item in value.items():
                yield from _described(key, seen)
                yield from _described(item, seen)
        case set() | frozenset():
            # Their order differs from process to process.
            yield from (type(value).__name__, *sorted("\n".join(_described(item, set(seen))) for item in value))
        case types.ModuleType():
            yield value.__name__
        case _:
            yield from _object(value, seen)


def _function(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _code(function.__code__, seen, function.__doc__)
    yield from _described((function.__defaults__, function.__kwdefaults__), seen)
    for cell in function.__closure__ or ():
        try:
            yield from _described(cell.cell_contents, seen)
        except ValueError:
            yield "empty"
    for name in sorted(_names(function.__code__)):
        used = function.__globals__.get(name)
        if _is_own(used, function.__module__):
            yield name
            yield from _described(used, seen)


def _code(code: types.CodeType, seen: set[int], docstring: str | None = None) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags))
    for place, constant in enumerate(code.co_consts):
        # A docstring is the first constant, and computes nothing.
        yield from _described(None if place == 0 and constant == docstring else constant, seen)


def _names(code: types.CodeType) -> set[str]:
    """The global names that a function reads, and those inside it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_own(value: Any, module: str) -> bool:
    """Whether it is a function or class of the user's module, or a constant there."""
    if isinstance(value, types.FunctionType | type):
        return value.__module__ == module
    return value is not None and isinstance(value, _PLAIN + _CONTAINERS)


def _object(value: Any, seen: set[int]) -> Iterator[str]:
    """Anything else: its class, what its class computes, and its attributes."""
    kind = value if isinstance(value, type) else type(value)
    yield f"{kind.__module__}.{getattr(value, '__qualname__', kind.__qualname__)}"
    seen.add(id(value))
    for name, method in vars(kind).items():
        if isinstance(method, types.FunctionType):
            yield name
            yield from _described(method, seen)
    if not isinstance(value, type):
        yield from _described(getattr(value, "__dict__", None), seen)

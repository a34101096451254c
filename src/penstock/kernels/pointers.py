"""Words of memory by their address, for kernels that walk over many arrays at once.

A kernel that picks one of several arrays in its inner loop pays for it: compiled code counts references to arrays, and
a tuple of arrays is one type per length. An address is just an integer. Whoever passes addresses keeps the arrays
alive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from penstock.kernels.jit import PLAIN, kernel

Ints = NDArray[np.int64]


def address(array: Ints) -> int:
    """The address of an array's first word."""
    assert array.dtype == np.int64 and array.flags.c_contiguous and array.flags.writeable
    where: int = array.__array_interface__["data"][0] if PLAIN else _address(array)
    return where


@kernel
def _address(array: Ints) -> int:
    """Compiled, since that takes a tenth of the time, and a step asks for many."""
    return array.ctypes.data


def _peek(at: int) -> int:
    return ctypes.c_int64.from_address(int(at)).value


def _poke(at: int, value: int) -> None:
    ctypes.c_int64.from_address(int(at)).value = int(value)


@intrinsic
def _peek_word(typing_context: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], word))

    return types.int64(types.int64), generate


@intrinsic
def _poke_word(typing_context: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64).as_pointer()
        builder.store(arguments[1], builder.inttoptr(arguments[0], word))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


#: The word at an address, and a new value for it.
peek: Callable[[int], int] = _peek if PLAIN else cast(Any, _peek_word)
poke: Callable[[int, int], None] = _poke if PLAIN else cast(Any, _poke_word)

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
Int32s = NDArray[np.int32]


def address(array: Ints | Int32s) -> int:
    """The address of an array's first number."""
    assert array.dtype in (np.int64, np.int32) and array.flags.c_contiguous and array.flags.writeable
    where: int = array.__array_interface__["data"][0] if PLAIN else _address(array)
    return where


@kernel
def _address(array: Ints | Int32s) -> int:
    """Compiled, since that takes a tenth of the time, and a step asks for many."""
    return array.ctypes.data


def _peek(at: int) -> int:
    return ctypes.c_int64.from_address(int(at)).value


def _poke(at: int, value: int) -> None:
    ctypes.c_int64.from_address(int(at)).value = int(value)


def _peek_int32(at: int) -> int:
    return ctypes.c_int32.from_address(int(at)).value


def _poke_int32(at: int, value: int) -> None:
    ctypes.c_int32.from_address(int(at)).value = int(value)


def _word_of(at: int, number: int) -> int:
    return ctypes.c_int64.from_address(int(at + 8 * number)).value


def _half_of(at: int, number: int) -> int:
    return ctypes.c_int32.from_address(int(at + 4 * number)).value


def _byte_of(at: int, number: int) -> int:
    return ctypes.c_uint8.from_address(int(at + number)).value


def _load_of(bits: int) -> Any:
    """Loads an element by its number: if the address does not change in a loop, LLVM loads many at a time."""

    def load(typing_context: Any, at: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            first = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            value = builder.load(builder.gep(first, [arguments[1]]))
            widen = builder.zext if bits == 8 else builder.sext
            return value if bits == 64 else widen(value, ir.IntType(64))

        return types.int64(types.int64, types.int64), generate

    return intrinsic(load)


def _load(bits: int) -> Any:
    def load(typing_context: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            return value if bits == 64 else builder.sext(value, ir.IntType(64))

        return types.int64(types.int64), generate

    return intrinsic(load)


def _store(bits: int) -> Any:
    def store(typing_context: Any, at: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            stored = arguments[1] if bits == 64 else builder.trunc(arguments[1], ir.IntType(bits))
            builder.store(stored, builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return intrinsic(store)


@intrinsic
def _ask_for(typing_context: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        # For writing, to stay in all caches, as data.
        builder.call(prefetch, [builder.inttoptr(arguments[0], byte), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _ignore(at: int) -> None:
    pass


#: Asks for the memory at an address, which will be read or written soon.
prefetch: Callable[[int], None] = _ignore if PLAIN else cast(Any, _ask_for)

#: The word at an address, and a new value for it.
peek: Callable[[int], int] = _peek if PLAIN else _load(64)
poke: Callable[[int, int], None] = _poke if PLAIN else _store(64)

#: The same of an int32.
peek_int32: Callable[[int], int] = _peek_int32 if PLAIN else _load(32)
poke_int32: Callable[[int, int], None] = _poke_int32 if PLAIN else _store(32)

#: An element of an array by its address and number: of words, of halves of words, and of bytes from 0 on.
word_of: Callable[[int, int], int] = _word_of if PLAIN else _load_of(64)
half_of: Callable[[int, int], int] = _half_of if PLAIN else _load_of(32)
byte_of: Callable[[int, int], int] = _byte_of if PLAIN else _load_of(8)

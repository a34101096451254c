"""How kernels are compiled: once, to machine code that is cached on disk beside the package or in the user's cache.

`NUMBA_DISABLE_JIT=1` runs them as plain Python, for coverage and debuggers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compiles a function over arrays of integers. Integers wrap around; there are no exceptions inside."""
    if PLAIN:
        return np.errstate(over="ignore")(function)
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def lean(function: F) -> F:
    """Compiles a kernel that makes no arrays: it then counts no references to them, which can be half of the work."""
    if PLAIN:
        return np.errstate(over="ignore")(function)
    return cast(F, numba.njit(cache=True, nogil=True, _nrt=False)(function))  # type: ignore[call-overload]


def compiling(begins: Callable[[], None]) -> AbstractContextManager[object]:
    """Inside of it `begins` is called whenever a kernel is compiled that is not in the cache, before that."""

    class Compiled(event.Listener):
        def on_start(self, _: object) -> None:
            begins()

        def on_end(self, _: object) -> None: ...

    return cast(AbstractContextManager[object], event.install_listener("numba:compile", Compiled()))


def inlined(function: F) -> F:
    """A part of one kernel, compiled as if it were written there: a call that passes many arrays is not cheap."""
    return cast(F, numba.njit(inline="always")(function))

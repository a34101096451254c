"""How kernels are compiled: once, to machine code that is cached on disk, in a folder that every process finds again.

That is `NUMBA_CACHE_DIR` if it is set, else the package's own folder, else the user's cache. Where neither can be
written, as in a container with an installed wheel and no home, it is a folder of this user's beside other temporary
files: the workers of a host then still compile once for all of them.

`NUMBA_DISABLE_JIT=1` runs them as plain Python, for coverage and debuggers.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache

PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"

F = TypeVar("F", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Returns the folder in which compiled kernels are kept."""
    return Path(FunctionCache(cache_folder).cache_path)  # type: ignore[no-untyped-call]


def temporary_cache() -> str:
    """Returns a folder of this user's own beside other temporary files, the same in every process.

    What is in it is run as code, so it must not be one that somebody else has put there.
    """
    folder = Path(tempfile.gettempdir()) / f"penstock-kernels-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return tempfile.mkdtemp(prefix="penstock-kernels-")
    return str(folder)


def ensure_cache() -> None:
    """Chooses a temporary folder if numba finds none that it can write; it would then refuse to load kernels."""
    try:
        cache_folder()
    except RuntimeError:
        numba.config.CACHE_DIR = temporary_cache()  # type: ignore[attr-defined]


ensure_cache()


def kernel(function: F) -> F:
    """Compiles a function over arrays of integers. Integers wrap around; there are no exceptions inside."""
    if PLAIN:
        return np.errstate(over="ignore")(function)
    return cast(F, numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function))  # type: ignore[call-overload]


def lean(function: F) -> F:
    """Compiles a kernel that makes no arrays: it then counts no references to them, which can be half of the work."""
    if PLAIN:
        return np.errstate(over="ignore")(function)
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "_nrt": False}
    return cast(F, numba.njit(**options)(function))  # type: ignore[call-overload]


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

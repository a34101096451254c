"""Kernels give the same answers as plain Python, where coverage and debuggers see them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent

#: Joins of all window kinds, every operator of the language with what it keeps, rows that are spilled, stars, and
#: values that are counted.
SPILLED = "purging/test_spill.py::test_the_answer_is_exact_where_constraints_are_broken[1-other_case]"
COUNTED = "synopsis/test_recent.py::test_the_last_values_are_remembered"
RUN = ("engines/test_sharing.py", "engines/test_retained.py", SPILLED, "purging/test_stars.py", COUNTED)


#: Long streams, of joins whose kernels the tests beside these run just as well.
LONG = [f"engines/test_retained.py::test_bytes_do_not_grow_with_the_stream[{name}]" for name in ("join", "theta join")]


def test_kernels_run_uncompiled() -> None:
    """In a process of its own, because a kernel is compiled or not for good."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [str(TESTS / name) for name in RUN]
    command += [f"--deselect=tests/{name}" for name in LONG]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "default"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

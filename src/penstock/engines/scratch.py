"""Scratch folders: temporary folders that are named after their process, so that those of killed processes are found.

A process that ends in any other way removes its own. The next one that needs such a folder removes those of dead ones.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

from penstock.engines.owners import is_dead, owner

_NAME = re.compile(r"penstock-(\w+\.\d+\.\d+)-\w+")


def scratch_prefix() -> str:
    """Returns the prefix of this process's temporary folders, after removing those of dead processes."""
    for folder in Path(tempfile.gettempdir()).glob("penstock-*"):
        found = _NAME.fullmatch(folder.name)
        if found is not None and is_dead(found[1]):
            shutil.rmtree(folder, ignore_errors=True)
    return f"penstock-{owner()}-"


def scratch_folder() -> Path:
    """Makes a temporary folder that is removed when this process ends."""
    folder, maker = Path(tempfile.mkdtemp(prefix=scratch_prefix())), os.getpid()

    def remove() -> None:
        if os.getpid() == maker:  # a forked process ends on its own
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder

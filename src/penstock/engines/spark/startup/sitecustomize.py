"""Runs when a Python process of Spark's starts: lets it import pyspark from where it is installed.

Spark puts the archives `pyspark.zip` and `py4j-....zip` in front of the path of every Python process. What is imported
from an archive is compiled anew each time, which takes most of a second, and Spark starts a process for each stateful
operator whenever a query starts. A pyspark that is installed brings its archives along, so all that is in them is
installed, and compiled, too.

The folder of this file is on the path of these processes (`session`). Python runs the first `sitecustomize` that it
finds; this one hands on to the next.
"""

import sys
from pathlib import Path


def needless_archives(path: list[str]) -> list[str]:
    """Returns the archives of a path whose packages are in a folder of the path as well."""
    folders = {Path(entry).resolve() for entry in path if not entry.endswith(".zip")}
    needless = []
    for entry in path:
        archive = Path(entry).resolve()
        package = "pyspark" if archive.name == "pyspark.zip" else "py4j"
        if archive.match("pyspark/python/lib/*.zip") and archive.name.startswith(package):
            installed = archive.parents[3]
            if installed in folders and (installed / package / "__init__.py").is_file():
                needless.append(entry)
    return needless


def hand_on() -> None:
    """Runs the next `sitecustomize` of the path, if there is one."""
    here = Path(__file__).parent
    sys.path[:] = [entry for entry in sys.path if Path(entry) != here]
    this = sys.modules.pop(__name__)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, this)


if __name__ == "sitecustomize":
    archives = needless_archives(sys.path)
    sys.path[:] = [entry for entry in sys.path if entry not in archives]
    hand_on()

"""All tests on Spark run in one process, whose session they share: to make one takes many seconds, and much memory.

xdist's own groups do nothing with pytest 9.2, which has no names of tests that could be changed.
"""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling


def scope_of(test: str) -> str:
    """What runs in one process: all tests on Spark together, all that share a browser, and any other by itself.

    >>> scope_of("tests/engines/spark/test_spark.py::test_a"), scope_of("tests/cli/test_fmt.py::test_a")
    ('spark', 'tests/cli/test_fmt.py::test_a')
    """
    file = test.partition("::")[0]
    if file.endswith("/test_browser.py"):
        return "browser"
    return "spark" if file.startswith("tests/engines/spark/") or file.endswith("/test_run_spark.py") else test


class OneProcessForSpark(LoadGroupScheduling):
    """Hands out the largest scope first, which is Spark's, so that no process waits for it at the end."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

"""How many random cases the tests try: some by default, and many more with HYPOTHESIS_PROFILE=thorough.

All tests on Spark run in one process, whose session they share: to make one takes many seconds, and much memory.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Whole queries are big, and slow to make: that is no fault of a test.
_BIG_CASES = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

# The default run tries the same cases each time, so that it fails for what changed; the thorough one tries others, ten
# times as many: tens of thousands in all, so that all tests take about two hours on two cores.
settings.register_profile(
    "default", max_examples=100, deadline=None, print_blob=True, suppress_health_check=_BIG_CASES, derandomize=True
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.path.name == "test_run_spark.py":
            item.add_marker(pytest.mark.xdist_group("spark"))

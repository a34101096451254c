"""How many random cases the tests try: some by default, and many more with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Whole queries are big, and slow to make: that is no fault of a test.
_BIG_CASES = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

# The default run tries the same cases each time, so that it fails for what changed. The thorough one tries others, and
# twice as many: most of them run a whole engine, and so all tests take some two hours on two cores. What tries
# cases of its own kind has its own number, from `tests/seeds.py` or in its `settings`. Cases that cost a millisecond or
# so are `CHEAP`: the thorough run tries a thousand.
settings.register_profile(
    "default", max_examples=60, deadline=None, print_blob=True, suppress_health_check=_BIG_CASES, derandomize=True
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=120, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import OneProcessForSpark

    return OneProcessForSpark(config, log) if config.getvalue("dist") == "loadgroup" else None

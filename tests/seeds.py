"""How many random cases a test tries: a few by default, and many more where all tests are run."""

from __future__ import annotations

import os

from hypothesis import settings

#: Times as many where tests are thorough.
MORE = 3

IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

#: For tests whose cases cost next to nothing.
CHEAP = settings(max_examples=1000 if IS_THOROUGH else 100)


def seeds(count: int, start: int = 0) -> range:
    """
    >>> list(seeds(2, start=40))[:2]
    [40, 41]
    """
    return range(start, start + count * (MORE if IS_THOROUGH else 1))

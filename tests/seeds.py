"""How many random cases a test tries: a few by default, and many more where all tests are run."""

from __future__ import annotations

import os

#: Times as many where tests are thorough.
MORE = 8


def seeds(count: int, start: int = 0) -> range:
    """
    >>> list(seeds(2, start=40))[:2]
    [40, 41]
    """
    is_thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    return range(start, start + count * (MORE if is_thorough else 1))

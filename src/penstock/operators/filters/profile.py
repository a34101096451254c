"""What filters measured, and the order that they can be given: all that a tuner sees of them.

The filters of one input are numbered as they are written. `FilterProfile` has what was measured since it was last asked
for; a `FilterOrder` is the choice that answers it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.synopsis.memory import Ints

#: The numbers of filters, in the order in which they are evaluated.
FilterOrder = tuple[int, ...]
#: A profile tuple (thesis 4.3.1) is a word: bit i is set if filter i drops the row. So there are at most 63 filters.
MOST_FILTERS = 63


@dataclass(frozen=True, slots=True)
class FilterProfile:
    """What filters measured since the last profile."""

    #: The order in which they were evaluated.
    order: FilterOrder
    #: By position in the order, how many rows came to a filter, and how many it let through: exact, and free.
    entered: Ints
    passed: Ints
    #: Profile tuples: of each sampled row which filters drop it, whatever the order.
    samples: Ints
    #: By filter, the nanoseconds that it takes for a row; NaN where that is not known.
    costs: NDArray[np.float64]

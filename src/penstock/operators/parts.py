"""Parts of a step: rows whose instants follow each other, and which are worked in one part after the other.

A join links all rows of a part before it probes for any of them, and unlinks those that leave behind all probes. So
what its probes pass over are the rows of its windows and those of the part:

    windows of 5,000 rows     ▒▒▒▒▒
    a step of 40,000 rows          ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░      45,000 rows are linked at once
    the same step in parts         ░░░░░|░░░░░|░░░░░|░░░░░|░░░░░|░░░░░|░░░░░     10,000 rows are

Where rows are purged, they are purged behind each part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from penstock.operators.building.nodes import Step

#: Cuts are found among so many instants of each part: they need not be more exact.
INSTANTS = 64


def parts(step: Step, size: Callable[[], int], at_once: Collection[int] = ()) -> Iterator[Step]:
    """A step in parts of about `size()` rows, which is asked for before each part.

    Leaves that take rows in any order get all of theirs `at_once`, in the first part.
    """
    rows = size()
    left = sum(map(len, step.inputs.values()))
    if left <= rows:
        yield step
        return
    arrived = {leaf: deltas if leaf in at_once else deltas.in_order() for leaf, deltas in step.inputs.items()}
    stride = max(1, rows // INSTANTS)
    times = np.sort(np.concatenate([deltas.ts[::stride] for deltas in arrived.values()]))
    times = times[: int(np.searchsorted(times, step.until))]
    while len(times) > (places := max(1, rows // stride)) + places // 2:
        end = int(times[places - 1]) + 1
        cuts = {leaf: len(d) if leaf in at_once else int(np.searchsorted(d.ts, end)) for leaf, d in arrived.items()}
        yield Step({leaf: deltas.take(slice(cuts[leaf])) for leaf, deltas in arrived.items()}, end)
        arrived = {leaf: deltas.take(slice(cuts[leaf], None)) for leaf, deltas in arrived.items()}
        times = times[int(np.searchsorted(times, end)) :]
        rows = size()
    yield Step(arrived, step.until)

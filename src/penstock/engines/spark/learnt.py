"""What filters of source tasks have learnt: a table of the worker process, by run and stream.

Tasks are stateless and renew what they read with, so none of it may own what is learnt. Spark reuses Python workers,
and one that starts later takes over what another worker of its host has left beside the shared state.
"""

from __future__ import annotations

import json
from collections import OrderedDict

from penstock.adaptive.tuners import Tuners, tuners_of
from penstock.engines.spark.state_directory import StateDirectory
from penstock.engines.spark.work import Work

#: A worker keeps what it has learnt of so many streams.
_MOST_KEPT = 64

_learnt: OrderedDict[tuple[str, str], Tuners] = OrderedDict()


def learnt_of(work: Work, stream: str) -> Tuners | None:
    """Returns the tuners of a stream's filters in this worker; None where nothing adapts."""
    key = (work.run, stream)
    found = _learnt.get(key)
    if found is None:
        found = tuners_of(work.plan.adaptive)
        if found is None:
            return None
        left = StateDirectory(work.run).learnt(stream)
        if left is not None:
            found.restore(json.loads(left))
        _learnt[key] = found
        while len(_learnt) > _MOST_KEPT:
            _learnt.popitem(last=False)
    return found


def leave(work: Work, stream: str, tuners: Tuners) -> None:
    """Leaves what this worker has learnt to those that start later on its host, if there was a decision since."""
    if tuners.has_news():
        StateDirectory(work.run).leave_learnt(stream, json.dumps(tuners.saved()))

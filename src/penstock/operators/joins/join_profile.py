"""What a join measured, for those who choose its probe paths."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.operators.joins.join_sampler import SetSamples
from penstock.plan.join_choice import JoinChoice
from penstock.synopsis.memory import Ints


@dataclass(frozen=True, slots=True)
class JoinProfile:
    """What a join measured. Counts are those since it was built, of this process."""

    #: By which choice it works.
    choice: JoinChoice
    #: Events of each input, and all of them.
    events: Ints
    total: int
    #: Combinations that probed by input and depth of its path, and the rows that they matched.
    probes: Ints
    matches: Ints
    #: By input, the events that were sampled since the last profile; none if no part was.
    samples: tuple[SetSamples, ...]
    #: Rows that were examined for samples.
    examined: int
    #: Rows that each input keeps.
    stored: tuple[int, ...]

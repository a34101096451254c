"""What the kernels of a join are given in a step: the events that probe, tables of inputs and indexes, and paths."""

from __future__ import annotations

from typing import NamedTuple

from penstock.kernels.mjoin import Paths as PathArrays
from penstock.kernels.mjoin import Probers, StageCounts
from penstock.synopsis.memory import Ints


class Probing(NamedTuple):
    """The first parameters of `kernels.mjoin.combine` and its kin."""

    probers: Probers
    inputs: Ints
    indexes: Ints
    paths: PathArrays
    since: Ints
    wants_going: bool
    tally: StageCounts

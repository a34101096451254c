"""Closers: what says that no more row of an input joins what is there. One file per kind, one line of a table each.

Each function reads the inputs of a join and the closers that the kinds before it found, and gives closers: the rule
that a run executes (`rules.py`) with its step of a chain in words. Those that hold soonest come first. A further kind
is a file with such a function, a line in `CLOSERS`, and a rule for the kernels if none of theirs will do.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.closing.closers.clustered import clusters
from penstock.closing.closers.key import keys
from penstock.closing.closers.lifespan import lifespans
from penstock.closing.closers.no_component import no_components
from penstock.closing.closers.ordered import orders
from penstock.closing.closers.punctuation import punctuations, unseen_punctuations
from penstock.closing.closers.rids import references
from penstock.closing.closers.static_table import static_tables
from penstock.closing.closers.time_range import time_ranges
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.retention import RetentionStep
from penstock.closing.rules import Closer

CLOSERS: tuple[Callable[[JoinInputs, Found], Closers], ...] = (
    static_tables,
    time_ranges,
    references,
    keys,
    punctuations,
    lifespans,
    clusters,
    orders,
    no_components,
    unseen_punctuations,
)


def closers_of(inputs: JoinInputs) -> dict[Closer, RetentionStep]:
    """All closers of a join, each once, with their steps."""
    found: dict[Closer, RetentionStep] = {}
    for kind in CLOSERS:
        for closer, step in kind(inputs, found):
            found.setdefault(closer, step)
    return found

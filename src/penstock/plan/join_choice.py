"""The choice of a join: what may be replaced between two parts of a step without any result changing.

It is a value, which is logged, shown and persisted with the state of the join. What else a join may choose becomes a
further field, whose default leaves that out.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.probe_paths import Paths

#: By input, in which order its rows probe the others.
Orders = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class JoinChoice:
    """How a join finds its results."""

    #: By input, its probe path.
    paths: Paths

    @property
    def orders(self) -> Orders:
        """By input, in which order its rows probe the others."""
        return tuple(tuple(stage.target for stage in path) for path in self.paths)

"""What a step of a run holds beside the state: the combinations of its joins, and the rows that are in flight.

A bound on state says nothing of results, of which a step may have far more than rows. They leave a join in blocks, each
of which the operators above have worked in before the next is made. Rows are in flight until their instant is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.algebra.printing import Json
from penstock.algebra.relations import AntiJoin, Join, Query, SemiJoin, streams, walk_relations
from penstock.catalog import Catalog, StreamDef
from penstock.closing.physical_join import COMBINATIONS
from penstock.types import duration_text


@dataclass(frozen=True, slots=True)
class StepBound:
    """How many joins there are, and of each stream, by its name, how late its rows may arrive."""

    joins: int
    delays: tuple[tuple[str, int], ...]

    @property
    def combinations(self) -> int:
        """How many combinations of its joins there are at a time, at most."""
        return self.joins * COMBINATIONS

    @property
    def words(self) -> str:
        """
        >>> StepBound(1, (("a", 5_000_000),)).words
        'up to 65,536 combinations at a time, and in flight the rows of 5 SECONDS of a'
        """
        times = (
            f"{duration_text(delay)} of {name}" if delay else f"one instant of {name}" for name, delay in self.delays
        )
        in_flight = f"in flight the rows of {' and of '.join(times)}"
        if len(self.delays) > 1:
            in_flight += ", and those that wait for another stream"
        count = f"{COMBINATIONS:,}" if self.joins == 1 else f"{self.joins} x {COMBINATIONS:,}"
        return f"up to {count} combinations at a time, and {in_flight}" if self.joins else in_flight

    def json(self) -> dict[str, Json]:
        delays: list[Json] = [{"stream": name, "delay": delay} for name, delay in self.delays]
        return {"combinations": self.combinations, "in_flight": delays, "words": self.words}


def step_bound(query: Query, catalog: Catalog) -> StepBound:
    """What a step of a query in normal form holds."""
    joins = sum(isinstance(node, Join | SemiJoin | AntiJoin) for node in walk_relations(query.relation))
    definitions = (catalog.get(stream.name) for stream in streams(query.relation))
    delays = {each.name: each.delay for each in definitions if isinstance(each, StreamDef)}
    return StepBound(joins, tuple(delays.items()))

"""An input of a join that may drop rows of its window before they leave it, or store only some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.algebra.physical import Scan
from penstock.algebra.relations import Relation
from penstock.operators.building.nodes import Step, StoredRelation, no_events
from penstock.operators.building.windows import build_arrivals, build_purgeable
from penstock.synopsis.events import Events

if TYPE_CHECKING:
    from penstock.operators.building.builder import Builder


class PurgeableInput:
    """An input with a window of its own, of which its one reader may drop rows, or admit only some."""

    def __init__(self, build: Builder, scan: Relation) -> None:
        assert isinstance(scan, Scan)
        with build.gauges.building(scan) as self.gauge:
            self.arrivals = build_arrivals(build, scan)
            self.window = build_purgeable(build, scan)
            build.stores.append(self.window.store)
        self.stored = StoredRelation(scan.schema, self.window.store, no_events)

    def events(self, step: Step) -> Events:
        """What a reader that admits all rows is given."""
        found = self.window.step(self.arrivals(step), step.until)
        self.gauge.stepped(step.inputs, len(found))
        return found

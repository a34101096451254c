"""A machine: the operators of one fragment in one cell, stepped from instant to instant.

It is a pure state machine over its memory and its dictionary: what it remembers is there, and a machine that is built
over the same memory goes on where the other stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from penstock.algebra.physical import Keep
from penstock.algebra.relations import Project, Relation, Select, StreamKind
from penstock.closing.physical_join import JoinKind, PhysicalJoin
from penstock.operators.blocks import Blocks, gathered, whole_instants
from penstock.operators.building.builder import Builder
from penstock.operators.building.nodes import Step
from penstock.operators.filters.filters import Tuning
from penstock.operators.filters.pipelined import PipelinedFiltersOperator
from penstock.operators.gauges import Gauge
from penstock.operators.inputs import InputManager
from penstock.operators.joins.mjoin import JoinCore
from penstock.operators.netting import deleted, inserted, netted
from penstock.operators.parts import parts
from penstock.operators.rstream import RelationStream
from penstock.operators.switching import Switching
from penstock.operators.windows.reorder import Reorder
from penstock.operators.windows.stubs import SharedStores
from penstock.plan.constraint_report import NOTHING_ON_DISK, OnDisk
from penstock.plan.fragments import Fragment, Plan
from penstock.plan.settings import Settings
from penstock.plan.sharing import NOTHING_SHARED
from penstock.synopsis.deltas import NEVER, Deltas, merged, row_width
from penstock.synopsis.dictionary import Dictionary, Marks
from penstock.synopsis.memory import Ints, Memory

#: Where no stream has closed more instants than all have.
NOTHING_CLOSED: Mapping[str, int] = {}


class Machine:
    """`stores`: what it has in common with the machines of other queries. `spill`: a folder of its own for rows.

    `tuning`: what orders its filters and joins as rows come.
    """

    def __init__(
        self,
        plan: Plan,
        fragment: Fragment,
        memory: Memory,
        dictionary: Dictionary,
        stores: SharedStores | None = None,
        spill: Path | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self.fragment = fragment
        self._memory = memory
        self.dictionary = dictionary
        self._last = fragment is plan.last
        self._kind = plan.kind
        #: Whether its changes are net as they are: no row comes twice, or none ever goes.
        self._is_net = plan.comes_once or fragment.comes_early
        insert_only = fragment.comes_early or (self._last and plan.comes_once and plan.kind is StreamKind.ISTREAM)
        root = root_join(fragment.root) if insert_only else None
        self._builder = Builder(fragment, memory, dictionary, root, stores, plan.forgetting, spill, tuning)
        self._root = self._builder.deltas(fragment.root)
        self._spills = [purge.spill for purge in self._builder.purges if purge.spill is not None]
        self._purge_every = plan.forgetting.rows
        self._inputs = InputManager(fragment, memory, dictionary, stores.sharing if stores else NOTHING_SHARED)
        for buffer in self._inputs.buffers:
            self._builder.add_in_flight(buffer)
        self._switching = None
        if fragment.switch is not None:
            self._switching = Switching(memory.scope("switch"), fragment.switch)
        self._width = row_width(len(fragment.root.schema))
        self._rstream: RelationStream | None = None
        if self._last and plan.kind is StreamKind.RSTREAM:
            self._rstream = RelationStream(memory.scope("rstream"), self._width)
            self._ticks = Reorder(memory.scope("ticks"), row_width(0))
            self._builder.add_rstream(self._rstream.store, fragment.root.schema)
        memory.restored = False

    def step(self, inputs: Sequence[Deltas], until: int, arrivals: Ints | None = None) -> Deltas:
        """Takes a step, and returns its results all at once."""
        return merged(self.blocks(inputs, until, arrivals), len(self.fragment.root.schema))

    def blocks(
        self,
        inputs: Sequence[Deltas],
        until: int,
        arrivals: Ints | None = None,
        closed: Mapping[str, int] = NOTHING_CLOSED,
    ) -> Blocks:
        """Takes what arrived at each input (`plan.inputs`), and closes all instants before `until`.

        Yields the results in blocks, in the order of time, each before the next is computed. The step is complete when
        all of them have been taken. `arrivals` are the instants at which rows of any input stream arrived, for RSTREAM.
        Where results come early (`plan.early`), they are in no order of time, and `closed` has by stream the first
        instant that its own rows may still have.
        """
        for gauge in self.gauges:
            gauge.begin()
        for spill in self._spills:
            spill.begin_step()
        arrived = self._inputs.step(inputs, until, closed)
        due = Step(arrived if self._switching is None else self._switching.gated(arrived), until)
        in_parts = parts(due, self._part_rows, self._inputs.at_once)
        blocks = (self._step(part, arrivals if number == 0 else None) for number, part in enumerate(in_parts))
        yield from gathered(chain.from_iterable(blocks), SMALLEST_BLOCK)

    def _part_rows(self) -> int:
        """The rows of the next part of a step.

        A part has a fixed cost. Where rows are purged, the purge behind it passes over all slots that are stored. So a
        part is no smaller than a share of what is kept: then rows of which many are kept pay a constant price each,
        and add little to them. Otherwise a part brings a join no more than half of the rows that its windows have.
        """
        if self._builder.purges or self._builder.purges_within_step:
            every = self._purge_every
            least, share = (SLICE, 2) if every is None else (max(every, SMALLEST_SLICE), 8)
            return max(least, self.state_rows() // share)
        if self.joins:
            return min(LARGEST_PART, max(SMALLEST_PART, sum(join.rows() for join in self.joins) // 2))
        return NEVER

    def _step(self, part: Step, arrivals: Ints | None) -> Blocks:
        changes = self._root(part)
        yield from self._finished(changes, part.until, arrivals) if self._last else changes
        self._builder.end_step()
        if self._rstream is not None:
            self._rstream.store.end_step()
        for join in self.joins:
            if join.tuner is not None:
                join.tuner.between(join)
            if join.cache_tuner is not None:
                join.cache_tuner.between(join)

    def adjust(self, settings: Settings) -> None:
        """Takes settings over between two steps; what orders its filters is given apart."""
        self._purge_every = settings.forgetting.rows
        for purge in self._builder.purges:
            purge.adjust(settings)

    def retune(self, tuning: Tuning) -> None:
        """Lets other tuners order its filters, and choose for its joins, from now on."""
        for gauge in self.gauges:
            for filters in gauge.filters:
                filters.retune(tuning)
        for retune in self._builder.retuning:
            retune(tuning)

    @property
    def joins(self) -> Sequence[JoinCore]:
        """Its joins, whose probe paths may be replaced between two steps."""
        return self._builder.joins

    @property
    def pipelined_filters(self) -> Sequence[PipelinedFiltersOperator]:
        """Its filters by semi-joins, whose order may be replaced between two steps."""
        return self._builder.pipelined_filters

    def sync(self) -> None:
        """Makes sure of what it has put on disk in the last step, before its state counts."""
        for spill in self._spills:
            spill.sync()

    def mark(self, marks: Marks) -> None:
        """Marks the codes of all interned values that it remembers, between two steps."""
        for owner in self._builder.code_owners:
            owner.mark(marks)

    def violations(self) -> int:
        """Rows that were rejected after a punctuation of their values, since the start."""
        return sum(gauge.violations() for gauge in self.gauges)

    def timed_out_rows(self) -> int:
        """Rows that were dropped because they waited too long for a punctuation, since the start."""
        return sum(gauge.timed_out_rows() for gauge in self.gauges)

    def on_disk(self) -> OnDisk:
        """What it has put on disk."""
        return sum((gauge.spilled() for gauge in self.gauges), NOTHING_ON_DISK)

    def state_rows(self) -> int:
        """Rows that operators keep; those in flight do not count."""
        return sum(gauge.state_rows() for gauge in self.gauges)

    def state_bytes(self, gauge: Gauge | None = None) -> int:
        """Bytes of one operator's state, or of all; rows in flight do not count."""
        if gauge is not None:
            return gauge.state_bytes()
        return self._memory.nbytes() - self.in_flight_bytes()

    def in_flight_rows(self) -> int:
        """Rows that arrived and wait until their instant is closed."""
        return sum(gauge.in_flight_rows() for gauge in self.gauges)

    def in_flight_bytes(self, gauge: Gauge | None = None) -> int:
        """Bytes of the buffers in which rows wait: those of one operator's leaf, or all."""
        return sum(each.in_flight_bytes() for each in (self.gauges if gauge is None else [gauge]))

    @property
    def gauges(self) -> list[Gauge]:
        """What each operator did in the last step, and what it keeps."""
        return self._builder.gauges.all

    def _finished(self, changes: Blocks, until: int, arrivals: Ints | None) -> Blocks:
        # RSTREAM gives a relation once at an instant.
        blocks = changes if self._is_net and self._rstream is None else whole_instants(changes)
        net = blocks if self._is_net else map(netted, blocks)
        match self._kind:
            case StreamKind.ISTREAM:
                return map(inserted, net)
            case StreamKind.DSTREAM:
                return map(deleted, net)
            case StreamKind.RSTREAM:
                assert self._rstream is not None
                stamps = arrivals if arrivals is not None else np.zeros(0, np.int64)
                ticks = Deltas(stamps, np.ones(len(stamps), np.int64), np.zeros((len(stamps), row_width(0)), np.int64))
                due = self._ticks.step(ticks, until)
                return self._rstream.blocks(net, np.unique(due.ts))
        return net


#: The fewest and the most rows of a part of a step that only joins want cut, and the fewest where rows are purged:
#: without a say in how often, and with one.
SMALLEST_PART, LARGEST_PART = 1 << 13, 1 << 15
SLICE, SMALLEST_SLICE = 1 << 15, 1 << 12
#: Results leave in blocks of so many rows at least, but for the last of a step.
SMALLEST_BLOCK = 1 << 12


def root_join(root: Relation) -> PhysicalJoin | None:
    """The join whose results are those of a fragment, but for what is done to each by itself."""
    match root:
        case PhysicalJoin(JoinKind.JOIN):
            return root
        case Select(below) | Project(below) | Keep(below):
            return root_join(below)
    return None

"""Spill: rows that only a k lets go are put on disk, and brought back when something comes that joins them.

The purge would drop a row by its rules. If those that lean on no k would not, the row is only *probably unnecessary*
(thesis 6.1.6), and is spilled. It is no part of the join until it is brought back; so nothing is lost, whatever the
data does to the constraints, and what is in memory is what a purge leaves there.

A result is found when its last row comes. So before rows that come are joined, they are followed along the join's
pipelines through memory and disk, and what they meet on disk is brought back. Where results are taken back, a row that
is in one is never purged, so no spilled row is in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import PhysicalJoin
from penstock.closing.rules import AfterRows, InTime, Static
from penstock.kernels.extending import extended
from penstock.kernels.pointers import address
from penstock.kernels.purge import Spilled
from penstock.kernels.sets import among
from penstock.plan.constraint_report import OnDisk
from penstock.plan.probe_paths import Probe
from penstock.retention.windows import RecallableWindow
from penstock.synopsis.codes import is_interned
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.events import Events
from penstock.synopsis.indexed_inputs import IndexedInputs
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.runs import Layout, StoredRows
from penstock.synopsis.spilled import SpilledRows

#: Gives what a purge has noted with the rows of an input, by slot.
Noted = Callable[[], Ints]
#: Of an input something was told of the rows that have these values of these variables.
Told = tuple[int, tuple[int, ...], Ints]


class Spill:
    """The rows of one join that lie in files under a folder. `notes` are those of each input whose rows may go."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        node: PhysicalJoin,
        core: IndexedInputs,
        paths: Sequence[tuple[Probe, ...]],
        windows: Mapping[int, RecallableWindow],
        notes: Mapping[int, Sequence[Noted]],
        dictionary: Dictionary,
        folder: Path,
    ) -> None:
        self._core, self._windows, self._notes, self._dictionary = core, windows, notes, dictionary
        self._paths = paths
        self._keys = {
            number: [columns for (owner, columns), _ in core.indexes() if owner == number] for number in windows
        }
        self._spilled = {
            number: SpilledRows(memory, f"{name}.spilled{number}", folder, self._layout(node, number), dictionary)
            for number in windows
        }
        self._reaches = {number: _reach(node, number) for number in windows}
        kept = [next(column for column in columns if column is not None) for columns in join_variables(node)]
        self._is_interned = [is_interned(column.type) for column in kept]
        self._going: dict[int, list[Ints]] = {number: [] for number in windows}
        self._back: dict[int, list[Ints]] = {}
        self._leaving: dict[int, list[Events]] = {}

    def begin_step(self) -> None:
        for spilled in self._spilled.values():
            spilled.begin_step()

    def sync(self) -> None:
        for spilled in self._spilled.values():
            spilled.sync()

    def on_disk(self) -> OnDisk:
        each = self._spilled.values()
        return OnDisk(sum(map(len, each)), sum(s.nbytes for s in each), sum(s.taken_back for s in each))

    def keep(self, number: int, slots: Ints) -> None:
        """These rows of an input go, and are spilled."""
        self._going[number].append(slots)

    def write(self, until: int) -> None:
        """Writes what was spilled in this step, in which instants before `until` were closed."""
        for number, spilled in self._spilled.items():
            slots = np.concatenate([np.zeros(0, np.int64), *self._going[number]])
            self._going[number] = []
            if len(slots):
                store = self._core.inputs[number].store
                notes = np.zeros((len(slots), len(self._notes[number])), np.int64)
                for place, noted in enumerate(self._notes[number]):
                    notes[:, place] = noted()[slots]
                spilled.put(StoredRows(store.whole(slots), store.starts[slots], notes))
            reach = self._reaches[number]
            if reach is not None:
                spilled.forget_before(until - reach)
            spilled.tidy()

    def bring_back(self, events: Sequence[Events], told: Sequence[Told], until: int) -> dict[int, Events]:
        """Brings back the rows that may be in a result with one that comes. All events have entered.

        So come those of which something was `told` that may let them go for good. Gives the events of those that leave
        their windows before `until`.
        """
        self._back, self._leaving = {}, {}
        for source, own in enumerate(events):
            self._follow(source, own.slots[own.signs > 0], until)
        for number, variables, keys in told:
            if self._holds(number):
                self._fetch(number, self._place_of(number, variables), keys, until)
        return {number: _in_order(parts) for number, parts in self._leaving.items()}

    def back(self, number: int) -> Ints:
        """The slots of an input's rows that were brought back in this step."""
        return np.concatenate([np.zeros(0, np.int64), *self._back.get(number, ())])

    def holds(self, number: int, variables: tuple[int, ...], keys: Ints) -> NDArray[np.bool_]:
        """Which keys rows of an input have that are on disk, or go there in this step."""
        if number not in self._spilled:
            return np.zeros(len(keys), np.bool_)
        spilled, place = self._spilled[number], self._place_of(number, variables)
        going = np.concatenate([np.zeros(0, np.int64), *self._going[number]])
        return among(keys, self._core.keys(number, variables, going)) | spilled.has(place, spilled.hashes(place, keys))

    def filters(self) -> Spilled:
        """What the purge asks, before it drops a row for good, whether the row joins one that is on disk."""
        lines = [
            self._spilled[owner].filter(self._place(owner, columns)) if owner in self._spilled else (0, 0)
            for (owner, columns), _ in self._core.indexes()
        ]
        # Kept, for the kernel has but its address.
        self._words = self._dictionary.hashes() if any(self._is_interned) else np.zeros(1, np.int64)
        words = [address(self._words) if interned else 0 for interned in self._is_interned]
        return Spilled(np.array(lines, np.int64).reshape(-1, 2), np.array(words, np.int64))

    def _follow(self, source: int, slots: Ints, until: int) -> None:
        """Follows rows that come along their pipeline, as far as it leads to disk."""
        probes = list(self._paths[source])
        while probes and not self._holds(probes[-1].target):
            probes.pop()
        bound = np.full((len(slots), len(self._core.inputs)), -1, np.int64)
        bound[:, source] = slots
        for probe in probes if len(bound) else ():
            keys = self._values(bound, probe)
            if self._holds(probe.target):
                self._fetch(probe.target, self._place(probe.target, probe.columns), keys, until)
            if probe is not probes[-1]:
                bound = self._extended(bound, keys, probe)

    def _values(self, bound: Ints, probe: Probe) -> Ints:
        """The values by which combinations probe an input."""
        inputs = self._core.inputs
        values = [inputs[origin].store.rows[bound[:, origin], column] for origin, column in probe.sources]
        return np.ascontiguousarray(np.array(values, np.int64).reshape(len(values), len(bound)).T)

    def _extended(self, bound: Ints, keys: Ints, probe: Probe) -> Ints:
        index = self._core.index(probe.target, probe.columns)
        rows = self._core.inputs[probe.target].store.rows
        return extended(bound, keys, probe.target, rows, index.columns, index.heads, index.mask, index.links)

    def _fetch(self, number: int, place: int, keys: Ints, until: int) -> None:
        """Puts the rows of an input that have these values of a key back where they were."""
        spilled = self._spilled[number]
        found = spilled.take(place, spilled.hashes(place, keys))
        if not len(found):
            return
        slots, leaving = self._windows[number].bring_back(found.rows, found.starts, until)
        self._core.bring_back(number, slots)
        for note, noted in enumerate(self._notes[number]):
            noted()[slots] = found.notes[:, note]
        self._back.setdefault(number, []).append(slots)
        if len(leaving):
            self._leaving.setdefault(number, []).append(leaving)

    def _holds(self, number: int) -> bool:
        """Whether rows of an input are on disk."""
        return number in self._spilled and len(self._spilled[number]) > 0

    def _place_of(self, number: int, variables: tuple[int, ...]) -> int:
        return self._place(number, tuple(self._core.places(number, variables).tolist()))

    def _place(self, number: int, columns: tuple[int, ...]) -> int:
        return self._keys[number].index(columns)

    def _layout(self, node: PhysicalJoin, number: int) -> Layout:
        types = tuple(column.type for column in node.operands[number].schema)
        return Layout(types, tuple(self._keys[number]), len(self._notes[number]))


def with_leaving(events: Events, leaving: Events) -> Events:
    """The events, and those of rows that were brought back and leave."""
    return _in_order([leaving, events])


def _in_order(parts: Sequence[Events]) -> Events:
    ts, signs, slots = (np.concatenate(each) for each in zip(*((p.ts, p.signs, p.slots) for p in parts), strict=True))
    order = np.argsort(ts, kind="stable")
    return Events(ts[order], signs[order], slots[order])


def counted(node: PhysicalJoin, number: int) -> list[tuple[int, AfterRows]]:
    """The rules that note something with the rows of an input, with their numbers."""
    rules = enumerate(node.rules)
    return [(n, rule) for n, rule in rules if isinstance(rule, AfterRows) and rule.source == number]


def _reach(node: PhysicalJoin, number: int) -> int | None:
    """How much later than a row of an input another comes at most that joins it, for certain; None if nothing says."""
    reaches: dict[int, int] = {}
    for rule in node.rules:
        match rule:
            case InTime(target, source, int(reach)) if source == number and rule not in node.probable:
                reaches[target] = min(reach, reaches.get(target, reach))
            case Static(target):
                reaches[target] = 0
    others = set(range(len(node.operands))) - {number}
    return max([0, *reaches.values()]) if others <= reaches.keys() else None

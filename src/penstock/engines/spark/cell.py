"""A cell on Spark: the stateful processor of one level of a plan, which steps the machine of each group's cell.

What it gets in a micro-batch is all packets for the cell, in no order. It puts them into the order of arrival, leaves
out what is late, and closes the instants that the markers of all streams have closed.
"""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from penstock.algebra.relations import StreamKind
from penstock.engines.lateness import Progress
from penstock.engines.results import result_schema, result_table
from penstock.engines.spark import state_recovery
from penstock.engines.spark.addresses import OUT
from penstock.engines.spark.clock import Clock
from penstock.engines.spark.metrics import note
from penstock.engines.spark.packing import Packet, PacketKind, opened, rows_packets
from penstock.engines.spark.state_directory import StateDirectory
from penstock.engines.spark.state_recovery import LiveMachine
from penstock.engines.spark.work import Work
from penstock.engines.spark.written import file_name, write_results
from penstock.errors import PenstockError
from penstock.plan.settings import Settings
from penstock.retention.code_owners import sweep
from penstock.retention.monitors import Violation
from penstock.synopsis.deltas import Deltas, no_deltas, one_after_the_other
from penstock.synopsis.memory import Ints

#: The errors of the system where there is no space, and where the folder of a machine was removed.
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REMOVED = errno.ENOENT

#: Rows are handed to Spark in frames of about so many bytes: each frame has a cost, and Arrow's batches a 2 GB limit.
_FRAME_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CellRow:
    """A row of Spark's: a packet and its address, or a note for the driver."""

    address: int
    data: bytes | None
    note: str | None = None


#: What the next step of a cell needs besides the pages of its machine.
Head = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Made:
    """The output of a step: packets for other cells, and for Spark's state the changed pages and the head."""

    rows: list[CellRow]
    pages: list[tuple[str, bytes]]
    head: Head


class CellProcessor:
    def __init__(self, work: Work, level: int) -> None:
        self._work = work
        self._level = level

    def attach(self, head: Any, pages: Any) -> None:
        """Attaches Spark's state (`deferred.state_of`)."""
        self._head, self._pages = head, pages

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        held: list[CellRow] = []
        size = 0
        for row in self._passed(int(key[0]), rows):
            held.append(row)
            size += len(row.data or b"")
            if size >= _FRAME_BYTES:
                yield self._frame(held)
                held, size = [], 0
        if held:
            yield self._frame(held)

    def _passed(self, key: int, rows: Any) -> Iterator[CellRow]:
        """Yields the rows for the next operator: packets for other cells, and the output of this step."""
        mine: dict[int, list[bytes]] = {address: [] for address in self._work.addresses.at(self._level, key)}
        for frame in rows:
            for to, data, note_text in zip(frame["address"], frame["data"], frame["note"], strict=True):
                if to in mine:
                    mine[to].append(data)
                else:
                    yield CellRow(int(to), data, note_text)
        yield from self._try_step(mine)

    def _frame(self, rows: list[CellRow]) -> pd.DataFrame:
        addresses, above = self._work.addresses, self._level + 1
        at = [addresses.key(row.address, above) if above < addresses.levels else 0 for row in rows]
        numbers = {"at": np.array(at, np.int32), "address": np.array([row.address for row in rows], np.int32)}
        return pd.DataFrame({**numbers, "data": [row.data for row in rows], "note": [row.note for row in rows]})

    def _try_step(self, mine: dict[int, list[bytes]]) -> list[CellRow]:
        """Steps the cells of a group, and changes Spark's state all at once or not at all.

        All that a step changes is at hand before the first of it is written. Whatever fails after that fails the task,
        and Spark tries it again from the state that is committed.
        """
        heads = self._saved_heads()
        made: dict[int, _Made] = {}
        out: list[CellRow] = []
        for address, packets in mine.items():
            made[address] = self._made(address, packets, heads.get(str(address)))
            for row in made[address].rows:
                if row.address in mine:
                    assert row.data is not None
                    mine[row.address].append(row.data)
                else:
                    out.append(row)
        for address, step in made.items():
            for name, page in step.pages:
                self._pages.updateValue((page_name(address, name),), (page,))
        heads = {str(address): step.head for address, step in made.items()}
        self._head.update((json.dumps({"fingerprint": self._work.fingerprint, "cells": heads}),))
        return out

    def _made(self, address: int, mine: list[bytes], head: Head | None) -> _Made:
        """Steps the machine, in shared memory if that has space for it.

        Before the second attempt nothing has been written to Spark's state, and the machine of the first one is
        discarded: the second attempt rebuilds it from Spark's state.
        """
        try:
            return self._made_once(address, mine, head, is_full=False)
        except OSError as error:
            if error.errno not in (*_NO_SPACE, _REMOVED):
                raise
            if error.errno != _REMOVED:
                StateDirectory(self._work.run).mark_full()
        return self._made_once(address, mine, head, is_full=True)

    def _made_once(self, address: int, mine: list[bytes], head: Head | None, *, is_full: bool) -> _Made:
        token = head["token"] if head else None
        learnt = head.get("learnt", {}) if head else {}
        live = state_recovery.take(self._work, address, token, self._saved_pages(address), learnt, is_full=is_full)
        try:
            step = CellStep(self._work, address, live, head)
            rows = list(step.run(mine))
            pages = list(live.changes())
            token = state_recovery.keep(self._work, address, live)
        except Violation as error:
            state_recovery.drop(live)
            raise _explained(error, is_first=head is None) from None
        except BaseException:
            state_recovery.drop(live)
            raise
        return _Made(rows, pages, {"token": token, **step.saved()})

    def _saved_heads(self) -> dict[str, Head]:
        """Returns the heads of the group's cells by address; none before the first step."""
        found = self._head.get()
        if found is None:
            return {}
        saved = json.loads(found[0])
        if saved["fingerprint"] != self._work.fingerprint:
            raise changed_query(saved["fingerprint"], self._work.zone)
        heads: dict[str, Head] = saved["cells"]
        return heads

    def _saved_pages(self, address: int) -> Iterator[tuple[str, bytes]]:
        yield from pages_of(address, self._pages.iterator())


def page_name(address: int, name: str) -> str:
    """Returns what a page of a cell's machine is called in the state of its group."""
    return f"{address}/{name}"


def pages_of(address: int, saved: Iterable[tuple[tuple[str], tuple[bytes]]]) -> Iterator[tuple[str, bytes]]:
    """Yields the pages of a cell's machine among those of its group, by their own names."""
    own = page_name(address, "")
    for (name,), (page,) in saved:
        if name.startswith(own):
            yield name.removeprefix(own), bytes(page)


def changed_query(found: str = "", zone: str = "") -> PenstockError:
    """Returns the error for a checkpoint whose fingerprint `found` is not that of the query, which is of `zone`."""
    before = found.partition(" ")[2]
    if before and before != zone:
        return PenstockError(
            f"the checkpoint was written in the time zone {before}, and now it is {zone}",
            f"go on in the time zone {before}, or start with a new checkpoint folder",
        )
    return PenstockError(
        "the query, its streams, functions, horizon or number of cells changed since the checkpoint was written",
        "start with a new checkpoint folder, or put back what was changed: --spill, --early and Penstock's version "
        "count, too",
    )


def _explained(error: Violation, *, is_first: bool) -> PenstockError:
    """Returns the error with advice: rows of earlier micro-batches cannot be corrected any more."""
    anew = "start with a new checkpoint folder and a new output folder"
    if is_first:
        return PenstockError(
            error.message,
            "put the data right, and start again; or declare what holds (ON VIOLATION WARN counts such rows), "
            f"and {anew}",
        )
    return PenstockError(
        error.message,
        "if the wrong row is one of the micro-batch that failed, put it right, and start again; rows of earlier "
        "micro-batches are in the state and in the output already, so to put those right, or to declare what holds "
        f"(ON VIOLATION WARN counts such rows), {anew}",
    )


class CellStep:
    """One step of a cell, apart from where its state is kept."""

    def __init__(self, work: Work, address: int, live: LiveMachine, head: Mapping[str, Any] | None) -> None:
        self._work, self._address, self._live = work, address, live
        number, self._cell = work.addresses.cells[address]
        self._fragment, self._inputs = work.plan.fragments[number], work.inputs[number]
        fresh = Clock({stream.name: Progress() for stream in work.streams})
        self.clock = fresh if head is None else Clock.restored(head["clock"])
        #: Whether the machine has been given the static tables.
        self._has_tables = head is not None and bool(head["tables"])
        #: The settings of this start of the query; what an earlier one was given does not count any more.
        self._settings: Mapping[str, Any] | None = None if head is None else head.get("settings")
        #: The bytes of the packets that it was given.
        self._taken = 0

    def saved(self) -> dict[str, Any]:
        """Returns what the next step needs besides the machine."""
        learnt = self._live.tuners.saved() if self._live.tuners else {}
        more = {"learnt": learnt, "settings": self._settings}
        kept = {name: value for name, value in more.items() if value}
        return {"clock": self.clock.saved(), "tables": self._has_tables, **kept}

    def run(self, packets: list[bytes]) -> Iterator[CellRow]:
        schemas = [input_.schema for input_ in self._inputs]
        self._taken = sum(map(len, packets))
        received = [opened(data, schemas, self._live.dictionary) for data in packets]
        self._read_time(received)
        self._read_settings(received)
        if (self.clock.until > 0 or self._fragment.comes_early) and not self._has_tables:
            tables = self._work.tables.get(self._address, ())
            received += [opened(data, schemas, self._live.dictionary) for data in tables]
            self._has_tables = True
        arrivals = self._arrivals(received)
        arrived = [self._arrived(received, number) for number in range(len(schemas))]
        closed = self.clock.reached(self._work.delays)
        blocks = self._live.machine.blocks(arrived, self.clock.until, arrivals, closed)
        yield from self._results(blocks) if self._fragment is self._work.plan.last else self._exchanged(blocks)
        sweep(self._live.dictionary, [self._live.machine])
        yield CellRow(OUT, None, self._note())

    def _note(self) -> str:
        return note(self._work.name, self._cell, self._live.machine, self.clock, self._taken, self._is_clock)

    @property
    def _is_clock(self) -> bool:
        return self._address == self._work.addresses.clock

    def _read_time(self, received: list[Packet]) -> None:
        markers = [marker for packet in received for marker in packet.segments]
        decided = sorted((p for p in received if p.idle is not None), key=lambda packet: packet.sequence)
        self.clock.read(markers, self._work.delays, [packet.idle or {} for packet in decided])
        if any(packet.kind is PacketKind.CLOSE for packet in received):
            self.clock.close(self._work.horizon, self._work.own)

    def _read_settings(self, received: list[Packet]) -> None:
        """Takes over the latest settings of this start of the query."""
        given = [packet for packet in received if packet.kind is PacketKind.SETTINGS]
        if given:
            self._settings = max(given, key=lambda packet: packet.sequence).settings
        if self._settings is not None and self._settings["run"] == self._work.run:
            self._live.adjust(Settings.of_json(self._settings["settings"]))
        else:
            self._settings = None

    def _arrivals(self, received: list[Packet]) -> Ints:
        """Returns the instants at which rows of any stream arrived, for RSTREAM.

        Only the clock's cell receives them; it counts late rows.
        """
        arrived = []
        for packet in received:
            if packet.kind is PacketKind.INSTANTS:
                assert packet.segment is not None
                assert packet.deltas is not None
                late = packet.deltas.ts < self.clock.earliest[packet.segment]
                self.clock.streams[packet.segment.stream].late_rows += int(packet.deltas.weight[late].sum())
                if self._work.plan.kind is StreamKind.RSTREAM and packet.segment.stream in self._work.own:
                    arrived.append(packet.deltas.ts[~late])
        return np.unique(np.concatenate(arrived)) if arrived else np.zeros(0, np.int64)

    def _arrived(self, received: list[Packet], number: int) -> Deltas:
        """Returns the rows that arrived for an input, in the order of arrival, without late ones."""
        mine = [packet for packet in received if packet.kind is PacketKind.ROWS and packet.input == number]
        mine.sort(key=lambda packet: (packet.segment or packet.sender, packet.sequence))
        parts = []
        for packet in mine:
            assert packet.deltas is not None
            if packet.segment is None:
                parts.append(packet.deltas)
            else:
                on_time = packet.deltas.ts >= self.clock.earliest[packet.segment]
                parts.append(packet.deltas if on_time.all() else packet.deltas.take(on_time))
        return one_after_the_other(parts) if parts else no_deltas(len(self._inputs[number].schema))

    def _exchanged(self, blocks: Iterable[Deltas]) -> Iterator[CellRow]:
        """Yields the packets for other fragments; those of one receiver are numbered in the order of time."""
        schema, dictionary = self._fragment.root.schema, self._live.dictionary
        numbers: Counter[tuple[int, int]] = Counter()
        for block in blocks:
            for exchange in self._work.exchanges.get(self._fragment.number, ()):
                for cell, rows in exchange.routed(block, dictionary).by_cell():
                    to = self._work.addresses.of(exchange.fragment, cell)
                    first = numbers[to, exchange.input]
                    for packet in rows_packets(rows, schema, dictionary, exchange.input, self._address, first=first):
                        numbers[to, exchange.input] += 1
                        yield CellRow(to, packet)

    def _results(self, blocks: Iterable[Deltas]) -> Iterator[CellRow]:
        dictionary, folder = self._live.dictionary, self._work.out
        if folder is None:
            for block in blocks:
                for packet in rows_packets(block, self._fragment.root.schema, dictionary, 0, self._address):
                    yield CellRow(OUT, packet)
            return
        tables = (result_table(block, self._work.schema, dictionary) for block in blocks if len(block))
        first = next(tables, None)
        # One cell writes a file even of nothing, so that the folder always says which columns there are.
        if first is not None or self._is_clock:
            schema = result_schema(self._work.schema)
            yield CellRow(
                OUT, write_results(chain([first] if first else [], tables), schema, folder, file_name(self._cell))
            )

"""State recovery: how the next micro-batch finds the machine of a cell, whichever worker runs the cell.

Spark's state holds what the machine is made from, the pages of its memory and the values of its dictionary, and a token
that is new after every batch. A machine is valid just when its token is the one in Spark's state. It is searched for
where that costs least: among the machines that this worker ran, then in the shared state directory of this host
(`state_directory`); otherwise it is rebuilt from Spark's state, as after a retry, a restart, or a move to another host.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from penstock.adaptive.tuners import Tuners, retuned, tuners_of
from penstock.engines.spark.packing import read_values, values_text
from penstock.engines.spark.state_directory import StateDirectory, discard
from penstock.engines.spark.work import Work
from penstock.operators.machine import Machine
from penstock.plan.settings import Settings
from penstock.synopsis.dictionary import Dictionary, Page
from penstock.synopsis.memory import Memory

#: A worker keeps the machines of so many cells, and drops the least recently used.
_MOST_KEPT = 64

_MEMORY, _VALUES = "memory/", "values/"

#: The files beside those of the memory: a page of the dictionary's values each.
_VALUES_FILE = "%values"

_kept: OrderedDict[tuple[str, int], LiveMachine] = OrderedDict()


@dataclass(slots=True)
class LiveMachine:
    """A machine with its memory and its dictionary."""

    machine: Machine
    memory: Memory
    dictionary: Dictionary
    #: The folder of its memory; None if its memory is this process's own.
    folder: Path | None
    token: str | None
    #: What its filters have learnt; None where nothing adapts.
    tuners: Tuners | None = None

    def adjust(self, settings: Settings) -> None:
        """Takes settings over before a step. The orders of filters are those of the cell."""
        self.machine.adjust(settings)
        if self.tuners is None or self.tuners.settings != settings.adaptive:
            self.tuners = retuned(self.tuners, settings.adaptive, {})
            self.machine.retune(self.tuners)

    def changes(self) -> Iterator[tuple[str, bytes]]:
        """Yields the pages that Spark's state must take over. The folder gets the values of the dictionary, too."""
        self.machine.sync()
        for key, page in self.memory.changes():
            yield _MEMORY + key, page
        for number, values in self.dictionary.changes():
            page = values_text(values).encode()
            if self.folder is not None:
                _write(self.folder / f"{_VALUES_FILE}{number}", page)
            yield f"{_VALUES}{number}", page


def take(
    work: Work,
    address: int,
    token: str | None,
    pages: Iterable[tuple[str, bytes]],
    learnt: Mapping[str, Any] | None = None,
    *,
    is_full: bool = False,
) -> LiveMachine:
    """Takes the machine of a cell for one batch. The caller returns it by `keep` when the batch is done, or by `drop`.

    `token`, `pages` and what filters have `learnt` are those of Spark's state; pages are read only if the machine has
    to be rebuilt. If shared memory `is_full`, the memory of a rebuilt machine is this process's own.
    """
    live = _kept.pop((work.run, address), None)
    is_valid = live is not None and token is not None and live.token == token
    if live is not None and is_valid and live.folder is None:
        return live
    directory = StateDirectory(work.run)
    folder = directory.claim(address, token)
    if folder is not None and live is not None and is_valid:
        live.folder = folder
        live.memory.moved(folder)
        return live
    is_there = folder is not None
    if folder is None and not is_full:
        folder = directory.new(address)
    try:
        if is_there and folder is not None:
            return _attached(work, address, token, folder, learnt or {})
        return _rebuilt(work, address, token, pages, folder, learnt or {})
    except BaseException:
        if folder is not None:
            discard(folder)
        raise


def keep(work: Work, address: int, live: LiveMachine) -> str:
    """Keeps a machine for the next batch, and gives the token that Spark's state must hold then.

    If the task fails after that, Spark's state never holds the token, and the machine is never found.
    """
    live.token = uuid4().hex
    if live.folder is not None:
        live.folder = StateDirectory(work.run).release(live.folder, address, live.token)
        live.memory.moved(live.folder)
    _kept[work.run, address] = live
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return live.token


def drop(live: LiveMachine) -> None:
    """Discards a machine whose batch has failed: its step is incomplete, and no token finds it."""
    if live.folder is not None:
        discard(live.folder)


def new_machine(work: Work, address: int) -> LiveMachine:
    """Returns a machine without state, in this process's own memory."""
    return _rebuilt(work, address, None, (), None, {})


def _rebuilt(
    work: Work,
    address: int,
    token: str | None,
    pages: Iterable[tuple[str, bytes]],
    folder: Path | None,
    learnt: Mapping[str, Any],
) -> LiveMachine:
    memory, dictionary = Memory(folder), Dictionary()
    held: dict[str, bytes] = {}
    values: dict[int, Page] = {}
    for key, page in pages:
        if key.startswith(_MEMORY):
            held[key.removeprefix(_MEMORY)] = page
        else:
            number = int(key.removeprefix(_VALUES))
            values[number] = read_values(page)
            if folder is not None:
                _write(folder / f"{_VALUES_FILE}{number}", page)
    dictionary.restore(values)
    if held:
        memory.restore(held)
    tuners = _tuners(work, learnt)
    machine = _machine(work, address, memory, dictionary, tuners)
    return LiveMachine(machine, memory, dictionary, folder, token, tuners)


def _attached(work: Work, address: int, token: str | None, folder: Path, learnt: Mapping[str, Any]) -> LiveMachine:
    memory, dictionary = Memory(folder), Dictionary()
    files = folder.glob(f"{_VALUES_FILE}*")
    dictionary.restore({int(file.name.removeprefix(_VALUES_FILE)): read_values(file.read_bytes()) for file in files})
    tuners = _tuners(work, learnt)
    machine = _machine(work, address, memory, dictionary, tuners)
    return LiveMachine(machine, memory, dictionary, folder, token, tuners)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _tuners(work: Work, learnt: Mapping[str, Any]) -> Tuners | None:
    tuners = tuners_of(work.plan.adaptive)
    if tuners is not None:
        tuners.restore(learnt)
    return tuners


def _machine(work: Work, address: int, memory: Memory, dictionary: Dictionary, tuners: Tuners | None) -> Machine:
    number, _ = work.addresses.cells[address]
    spill = None if work.spill is None else Path(work.spill) / str(address)
    return Machine(work.plan, work.plan.fragments[number], memory, dictionary, spill=spill, tuning=tuners)

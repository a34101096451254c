"""Revival: how the machine of a cell is found again in the next micro-batch, by whichever worker gets the cell.

Spark's state holds what the machine is made from, the pages of its memory and the values of its dictionary, and a token
that is new after every batch. A machine is true just when its token is the one in Spark's state. It is looked for where
that costs least: among those that this worker ran, then in the folders of this host (`residence`), and last it is made
again from Spark's state, as after a retry, a restart, or a move to another host.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from penstock.engines.spark.packing import read_values, values_text
from penstock.engines.spark.residence import Residences, discard
from penstock.engines.spark.work import Work
from penstock.operators.machine import Machine
from penstock.synopsis.dictionary import Dictionary, Page
from penstock.synopsis.memory import Memory

#: Machines of other queries that a worker still holds must go at some point.
_MOST_KEPT = 64

_MEMORY, _VALUES = "memory/", "values/"

#: The files beside those of the memory: a page of the dictionary's values each.
_VALUES_FILE = "%values"

_kept: OrderedDict[tuple[str, int], Live] = OrderedDict()


@dataclass(slots=True)
class Live:
    """A machine with all that it remembers."""

    machine: Machine
    memory: Memory
    dictionary: Dictionary
    #: Where its memory lies: None if it lies in this process.
    folder: Path | None
    token: str | None

    def changes(self) -> Iterator[tuple[str, bytes]]:
        """What Spark's state must take over, and of which the folder must have the values."""
        self.machine.sync()
        for key, page in self.memory.changes():
            yield _MEMORY + key, page
        for number, values in self.dictionary.changes():
            page = values_text(values).encode()
            if self.folder is not None:
                _write(self.folder / f"{_VALUES_FILE}{number}", page)
            yield f"{_VALUES}{number}", page


def take(
    work: Work, address: int, token: str | None, pages: Iterable[tuple[str, bytes]], *, is_full: bool = False
) -> Live:
    """The machine of a cell, for one batch: it must be given back with `keep` when the batch is done, or with `drop`.

    Spark's state has this token, and these pages; they are read only if they must be. If shared memory `is_full`, a
    machine that is made again lives in this process.
    """
    live = _kept.pop((work.run, address), None)
    is_true = live is not None and token is not None and live.token == token
    if live is not None and is_true and live.folder is None:
        return live
    residences = Residences(work.run)
    folder = residences.claim(address, token)
    if folder is not None and live is not None and is_true:
        live.folder = folder
        live.memory.moved(folder)
        return live
    is_there = folder is not None
    if folder is None and not is_full:
        folder = residences.new(address)
    try:
        if is_there and folder is not None:
            return _attached(work, address, token, folder)
        return _rebuilt(work, address, token, pages, folder)
    except BaseException:
        if folder is not None:
            discard(folder)
        raise


def keep(work: Work, address: int, live: Live) -> str:
    """Keeps a machine for the next batch, under the token that Spark's state must have then.

    If the task fails after that, Spark's state never has the token, and the machine is never found.
    """
    live.token = uuid4().hex
    if live.folder is not None:
        live.folder = Residences(work.run).release(live.folder, address, live.token)
        live.memory.moved(live.folder)
    _kept[work.run, address] = live
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    return live.token


def drop(live: Live) -> None:
    """Throws a machine away whose batch has failed: it is half stepped, and no token finds it."""
    if live.folder is not None:
        discard(live.folder)


def _rebuilt(
    work: Work, address: int, token: str | None, pages: Iterable[tuple[str, bytes]], folder: Path | None
) -> Live:
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
    return Live(_machine(work, address, memory, dictionary), memory, dictionary, folder, token)


def _attached(work: Work, address: int, token: str | None, folder: Path) -> Live:
    memory, dictionary = Memory(folder), Dictionary()
    files = folder.glob(f"{_VALUES_FILE}*")
    dictionary.restore({int(file.name.removeprefix(_VALUES_FILE)): read_values(file.read_bytes()) for file in files})
    return Live(_machine(work, address, memory, dictionary), memory, dictionary, folder, token)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=_private) as file:
        file.write(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _machine(work: Work, address: int, memory: Memory, dictionary: Dictionary) -> Machine:
    number, _ = work.addresses.cells[address]
    spill = None if work.spill is None else Path(work.spill) / str(address)
    return Machine(work.plan, work.plan.fragments[number], memory, dictionary, spill=spill)

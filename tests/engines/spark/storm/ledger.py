"""What the storm did: faults that were tried, rows that were lost or doubled, runs that were refused, by kind of fault.

A test enters each run once; the entries travel with the test's report, and the end of the run shows them as a table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from tests.engines.comparing import Log

#: What a test's report has them under.
PROPERTY, NOTE = "storm", "storm note"


@dataclass(frozen=True)
class Entry:
    """Runs under one kind of fault."""

    kind: str
    #: Faults, not runs: one run may have many.
    tried: int
    #: Rows of the reference that the output does not have.
    lost: int = 0
    #: Rows of the output that the reference does not have, or not so often.
    doubled: int = 0
    #: Runs that ended with an error that says why.
    refused: int = 0


class Ledger:
    """The entries of one test. They are checked when the test has ended (`conftest`)."""

    def __init__(self, record: Callable[[str, object], None], test: str) -> None:
        self._record, self._test = record, test
        self._wrong: list[str] = []

    def enter(self, kind: str, tried: int, found: Log, reference: Log, fault: str = "") -> None:
        """Enters a run that came to its end, whose output must be the reference's, which `check` asserts.

        `fault` says more of what was done, in case that it is not.
        """
        lost, doubled = reference - found, found - reference
        self.write(Entry(kind, tried, lost.total(), doubled.total()))
        if found != reference:
            wrong = f"{kind}{fault and f' ({fault})'}: {lost.total()} rows lost, {doubled.total()} doubled or wrong"
            self._wrong.append(f"{wrong}\nlost: {list(lost)[:5]}\ndoubled: {list(doubled)[:5]}")

    def check(self) -> None:
        assert not self._wrong, "\n".join([*self._wrong, self.repeat])

    def refused(self, kind: str, tried: int = 1) -> None:
        """Enters a run that ended with an error that says why."""
        self.write(Entry(kind, tried, refused=1))

    def note(self, text: str) -> None:
        """Enters what was measured; it is shown below the table."""
        self._record(NOTE, text)

    def write(self, entry: Entry) -> None:
        self._record(PROPERTY, json.dumps(asdict(entry)))

    @property
    def repeat(self) -> str:
        """A command that runs the same test again; its seed is in the name."""
        return f"repeat it with: .venv/bin/python -m pytest -n0 -m '' '{self._test}'"


def table(entries: Iterable[Entry]) -> list[str]:
    """The entries as a Markdown table.

    >>> print(*table([Entry("a driver", 3), Entry("a worker", 2), Entry("a driver", 2, refused=1)]), sep="\\n")
    | fault | tried | rows lost | rows doubled | runs refused |
    | --- | --- | --- | --- | --- |
    | a driver | 5 | 0 | 0 | 1 |
    | a worker | 2 | 0 | 0 | 0 |
    """
    sums: dict[str, list[int]] = {}
    for entry in entries:
        mine = sums.setdefault(entry.kind, [0, 0, 0, 0])
        for place, number in enumerate((entry.tried, entry.lost, entry.doubled, entry.refused)):
            mine[place] += number
    lines = ["| fault | tried | rows lost | rows doubled | runs refused |", "| --- | --- | --- | --- | --- |"]
    return lines + [f"| {kind} | {' | '.join(f'{n:,}' for n in numbers)} |" for kind, numbers in sorted(sums.items())]

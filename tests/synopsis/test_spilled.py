"""Rows on disk against a list: what is put there is found by its keys, once, however files are merged and restored."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from penstock.errors import PenstockError
from penstock.kernels import bloom
from penstock.kernels.hashing import row_hashes
from penstock.synopsis import spilled
from penstock.synopsis.deltas import assemble, is_null
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Ints, Memory
from penstock.synopsis.runs import Layout, StoredRows
from penstock.synopsis.spilled import SpilledRows
from penstock.types import BIGINT, STRING
from tests.seeds import seeds

#: A number, a text by which rows are found, and a text that may be NULL.
LAYOUT = Layout((BIGINT, STRING, STRING), ((0,), (1, 0)), 1)
#: Number, text, text, start, note.
Line = tuple[int, str, str | None, int, int]


def stored(lines: list[Line], dictionary: Dictionary) -> StoredRows:
    nulls = np.array([line[2] is None for line in lines])
    texts = [dictionary.encode(line[place] or "" for line in lines) for place in (1, 2)]
    numbers = np.array([line[0] for line in lines], np.int64)
    rows = assemble([(numbers, None), (texts[0], None), (texts[1], nulls)], len(lines))
    starts, notes = (np.array([line[place] for line in lines], np.int64) for place in (3, 4))
    return StoredRows(rows, starts, notes.reshape(-1, 1))


def lines_of(found: StoredRows, dictionary: Dictionary) -> list[Line]:
    null = is_null(found.rows, 2, 3)
    return [
        (
            int(row[0]),
            str(dictionary.value(int(row[1]))),
            None if null[place] else str(dictionary.value(int(row[2]))),
            int(found.starts[place]),
            int(found.notes[place, 0]),
        )
        for place, row in enumerate(found.rows)
    ]


class Kept:
    """Spilled rows, the pages of their memory after each step, and a list of what should be there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.dictionary = folder, Dictionary()
        self.memory = Memory()
        self.pages: dict[str, bytes] = {}
        self.lines: list[Line] = []
        self.oldest = 0
        self.spilled = self.made()

    def made(self) -> SpilledRows:
        found = SpilledRows(self.memory.scope("rows"), self.folder, LAYOUT, self.dictionary)
        self.memory.restored = False
        return found

    def restore(self) -> None:
        """As of the end of the last step. Numbers of texts are others then."""
        self.memory, self.dictionary = Memory(), Dictionary(["another", "first"])
        if self.pages:
            self.memory.restore(self.pages)
        self.spilled = self.made()

    def end_step(self) -> None:
        self.pages.update(self.memory.changes())

    def taken(self, key: int, lines: list[Line]) -> list[Line]:
        asked = stored(lines, self.dictionary).rows[:, list(LAYOUT.keys[key])]
        return lines_of(self.spilled.take(key, self.spilled.hashes(key, asked)), self.dictionary)

    def step(self, random: Random, until: int) -> None:
        """Puts some, takes some, and forgets the oldest."""
        self.spilled.begin_step()
        for _ in range(random.randint(0, 3)):
            key = random.randrange(2)
            asked = [_line(random, until) for _ in range(random.randint(1, 4))]
            want = [line for line in self.lines if any(line[: 1 + key] == other[: 1 + key] for other in asked)]
            assert sorted(self.taken(key, asked), key=repr) == sorted(want, key=repr)
            self.lines = [line for line in self.lines if line not in want]
        new = [_line(random, until) for _ in range(random.randint(0, 12))]
        if new:
            self.spilled.put(stored(new, self.dictionary))
            self.lines += new
        if random.random() < 0.5:
            self.oldest = max(self.oldest, until - random.randint(20, 60))
            self.spilled.forget_before(self.oldest)
        self.lines = [line for line in self.lines if line[3] >= self.oldest]
        self.spilled.tidy()


def _line(random: Random, until: int) -> Line:
    number = random.randint(0, 12)
    text = None if random.random() < 0.3 else f"of {random.randint(0, 99)}"
    return number, f"text {number % 3}", text, max(0, until - random.randint(0, 40)), random.randint(-5, 5)


@pytest.mark.parametrize("seed", seeds(6))
def test_what_was_put_is_found_once(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "FAN_OUT", 3)
    monkeypatch.setattr(spilled, "FEW_STALE", 4)
    monkeypatch.setattr(spilled, "SWEEP_EVERY", 7)
    random, kept = Random(seed), Kept(tmp_path)
    for until in range(10, 800, 10):
        before = (list(kept.lines), kept.oldest)
        kept.step(random, until)
        if random.random() < 0.2:  # It fails, and is tried again.
            kept.restore()
            kept.lines, kept.oldest = before
            kept.step(random, until)
        kept.end_step()
        if random.random() < 0.2:
            kept.restore()
    files = kept.spilled._live()
    assert len(files) < 12
    assert kept.spilled.nbytes == sum(kept.spilled._path(file).stat().st_size for file in files)


def test_files_go_a_step_after_their_last_row_and_those_of_failed_steps_later(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.spilled.begin_step()
    kept.spilled.put(stored([(1, "a", None, 5, 0), (2, "b", "x", 7, 0)], kept.dictionary))
    kept.end_step()
    assert len(kept.spilled) == 2
    kept.spilled.begin_step()
    kept.spilled.put(stored([(3, "c", None, 8, 0)], kept.dictionary))
    kept.restore()  # The second step has failed, and its file is nobody's.
    assert len(list(tmp_path.iterdir())) == 2
    kept.spilled.begin_step()
    kept.spilled.forget_before(8)
    kept.end_step()
    assert len(kept.spilled) == 0
    assert len(list(tmp_path.iterdir())) == 2  # The step may be tried again.
    kept.spilled.begin_step()
    kept.end_step()
    assert len(list(tmp_path.iterdir())) == 1
    kept.restore()
    assert list(tmp_path.iterdir()) == []


def test_files_are_readable_to_their_owner_alone(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "cell")
    kept.spilled.begin_step()
    kept.spilled.put(stored([(1, "a", None, 5, 0)], kept.dictionary))
    (file,) = (tmp_path / "cell").iterdir()
    assert (file.stat().st_mode | file.parent.stat().st_mode) & 0o077 == 0


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.spilled.begin_step()
    kept.spilled.put(stored([(1, "a", None, 5, 0)], kept.dictionary))
    (file,) = tmp_path.iterdir()
    file.unlink()
    with pytest.raises(PenstockError, match="rows that were spilled cannot be read again") as raised:
        kept.taken(0, [(1, "a", None, 0, 0)])
    assert str(file) in raised.value.message


def test_a_filter_forgets_nothing_and_is_seldom_wrong() -> None:
    random = np.random.default_rng(1)
    numbers: Ints = random.permutation(40_000).reshape(-1, 1)
    hashes = row_hashes(numbers, np.arange(len(numbers)), np.zeros(1, np.int64))
    words, found = np.zeros(4096, np.int64), np.empty(20_000, np.int64)
    noted, others = hashes[: 4096 * bloom.PER_WORD], hashes[20_000:]
    bloom.note(words, 4095, noted)
    assert bloom.noted(words, 4095, noted, found) == len(noted)
    assert bloom.noted(words, 4095, others, found) < 0.03 * len(others)


def test_the_files_of_a_step_are_synced_once_before_its_state_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(spilled, "sync", synced.append)
    dictionary = Dictionary()
    rows = SpilledRows(Memory().scope("rows"), tmp_path, LAYOUT, dictionary)
    for number in range(2):
        rows.begin_step()
        rows.put(stored([(number, "a", None, 0, 0)], dictionary))
        before = set(synced)
        rows.sync()
        (new,) = {*tmp_path.iterdir()} - before
        assert synced[-2:] == [new, tmp_path]
    rows.begin_step()
    rows.sync()
    assert len(synced) == 4

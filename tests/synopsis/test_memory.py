"""The memory of a machine in files: arrays of other processes, without open descriptors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.synopsis.memory import Memory


def test_another_memory_maps_the_same_files(tmp_path: Path) -> None:
    first = Memory(tmp_path).scope("join", 0)
    first.array("rows", 3, 2)[:] = 7
    second = Memory(tmp_path).scope("join", 0)
    assert second.array("rows", 3, 2)[:3].tolist() == [[7, 7]] * 3
    second.array("rows", 3, 2)[1, 0] = 8
    assert first.array("rows", 3, 2)[1, 0] == 8


def test_arrays_hold_no_descriptors_and_outlive_their_files(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    scope = Memory(tmp_path).scope("join", 0)
    arrays = [scope.array(f"a{number}", 100) for number in range(50)]
    assert len(os.listdir("/proc/self/fd")) == before
    for file in tmp_path.iterdir():
        file.unlink()
    arrays[0][:] = 5
    assert arrays[0].sum() == 5 * len(arrays[0])


def test_a_mapping_ends_with_its_last_array(tmp_path: Path) -> None:
    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count(str(tmp_path))

    memory = Memory(tmp_path)
    rows = memory.scope("join", 0).array("rows", 3, 2)[:2]
    del memory
    assert mapped() == 1
    del rows
    assert mapped() == 0


def test_what_cannot_be_mapped_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.synopsis import memory

    monkeypatch.setattr(memory.mmap, "MAP_SHARED", 0)
    with pytest.raises(OSError, match="Invalid argument"):
        Memory(tmp_path).scope("join", 0).array("rows", 3)

"""Compiled kernels are kept where every process finds them, and where nobody else can have put code."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numba
import pytest

from penstock.kernels import jit


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_of_the_users_own_is_found_again(temporary: Path) -> None:
    folder = Path(jit.temporary_cache())
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700
    assert jit.temporary_cache() == str(folder)


def test_a_folder_that_others_can_write_is_not_used(temporary: Path) -> None:
    planted = temporary / f"penstock-kernels-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert jit.temporary_cache() != str(planted)


def test_a_link_is_not_followed(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir(mode=0o700)
    planted = temporary / f"penstock-kernels-{os.getuid()}"
    planted.symlink_to(temporary / "elsewhere")
    assert jit.temporary_cache() != str(planted)


def test_without_a_writable_folder_kernels_are_kept_beside_temporary_files(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit, "cache_folder", nowhere)
    jit.ensure_cache()
    assert str(temporary / f"penstock-kernels-{os.getuid()}") == numba.config.CACHE_DIR

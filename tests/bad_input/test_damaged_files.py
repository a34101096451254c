"""Damaged csv, json and parquet files: each is read as the reference reads it, or refused with a PenstockError.

A parquet file has a checksum for each page, but none for its footer: there damage may change what a file means, and
only crashes, hangs, memory and exceptions of other kinds are judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bad_input.damage import COLUMNS, damaged
from tests.bad_input.pool import Reader
from tests.bad_input.worker import declared
from tests.reference.files import read_rows

SOME = range(50)
MANY = range(50, 334)


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as made:
        yield made


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_some_damaged_files_are_read_right_or_refused(reader: Reader, tmp_path: Path, form: str) -> None:
    judge(reader, tmp_path, form, SOME)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_many_damaged_files_are_read_right_or_refused(reader: Reader, tmp_path: Path, form: str) -> None:
    judge(reader, tmp_path, form, MANY)


def judge(reader: Reader, folder: Path, form: str, seeds: range) -> None:
    failures, refused = [], 0
    for seed in seeds:
        good, bad, damage = damaged(form, seed)
        file = folder / f"{seed}.{form}"
        file.write_bytes(bad)
        found = reader.read(f"{form} OPTIONS (path '{file}')", COLUMNS)
        refused += "error" in found
        if (wrong := verdict(found, form, good, bad, file)) is not None:
            failures.append(f"{form} {seed} ({damage}): {wrong}")
    assert not failures, "\n".join(failures)
    assert refused
    assert refused < len(seeds) or form == "parquet"


def verdict(found: dict[str, Any], form: str, good: bytes, bad: bytes, file: Path) -> str | None:
    """What is wrong with an answer, if anything."""
    if "failure" in found:
        return str(found["failure"])
    if "error" in found:
        return None if str(file) in found["error"] else f"does not name the file: {found['error']}"
    if form == "parquet":
        footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
        if good[footer:] != bad[footer:]:
            return None
        file.write_bytes(good)
    try:
        expected = [str(row) for row in read_rows(declared(f"{form} OPTIONS (path '{file}')", COLUMNS))]
    except Exception as error:
        return f"is read, though the reference says {error!r}"
    return None if plain(found["rows"]) == plain(expected) else f"{found['rows']}\nis not {expected}"


def plain(rows: list[str]) -> list[str]:
    """The reference takes quoted fields for NULL as it does those without quotes."""
    return [row.replace("''", "None").replace("b''", "None").replace("'\\\\N'", "None") for row in rows]

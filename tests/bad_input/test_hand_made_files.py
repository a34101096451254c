"""Files made by hand: each gives the rows, or the error, that the table says; in little time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bad_input.hand_made import CASES
from tests.bad_input.pool import Reader


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_a_file_made_by_hand(reader: Reader, tmp_path: Path, name: str) -> None:
    case, file = CASES[name], tmp_path / f"s.{CASES[name].form}"
    file.write_bytes(case.content())
    found = reader.read(
        f"{case.form} OPTIONS (path '{file}'{', ' + case.options if case.options else ''})", case.columns
    )
    assert "failure" not in found, found["failure"]
    if isinstance(case.comes, str):
        assert case.comes.replace("{file}", str(file)) in found.get("error", found)
        assert found["hint"]
        assert len(found["error"]) < 600
    else:
        rows = [
            str(row).replace("'nan'", "nan").replace("'inf'", "inf").replace("'-inf'", "-inf") for row in case.comes
        ]
        assert found.get("rows", found) == rows[:10_000]
        assert found["count"] == len(rows)

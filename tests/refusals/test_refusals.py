"""Every refusal is a file: what is wrong, what to write instead and where, and then the text that is refused.

    -- refused: there is no column acution
    -- hint: did you mean auction?
    -- at: 5:8

Each `-- refused:` begins an error, in the order of their places; lines and columns are those of the file itself. With
`PENSTOCK_GOLDEN=rewrite` these lines are written anew: a new file needs only its SQL. The diff is to be read.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from penstock.errors import SqlError
from penstock.sql import bind_text

REFUSALS = sorted(Path(__file__).parent.glob("*.sql"))
HEADER_LINE = re.compile(r"-- (refused|hint|at): (.*)\n")


@dataclass(frozen=True)
class Promise:
    """What a file promises of one error. A place that is not given may be any."""

    message: str
    hint: str | None
    at: str | None

    def __str__(self) -> str:
        parts = (("refused", self.message), ("hint", self.hint), ("at", self.at))
        return "".join(f"-- {name}: {value}\n" for name, value in parts if value is not None)


@pytest.mark.parametrize("path", REFUSALS, ids=lambda path: path.stem)
def test_a_text_is_refused_as_promised(path: Path) -> None:
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        rewrite(path)
    promises, _ = read(path)
    errors = bind_text(path.read_text(), path.name).errors
    assert promises, "the file promises no error"
    assert [promised(error, like) for error, like in zip(errors, promises, strict=False)] == promises
    assert len(errors) == len(promises), "\n\n".join(map(str, errors))
    for error in errors:
        assert_shows_its_place(error)


def test_there_is_a_file_for_each_kind_of_mistake() -> None:
    assert len(REFUSALS) > 200


def assert_shows_its_place(error: SqlError) -> None:
    first, shown, carets, *rest = str(error).split("\n")
    assert first == f"{error.source.file}:{error.line}:{error.column}: {error.message}"
    assert shown.startswith("    ")
    assert re.fullmatch(r"\s+\^+", carets)
    assert len(carets) <= len(shown) + 1, "carets stand below the line, or just behind it"
    assert rest == ([] if error.hint is None else [f"hint: {error.hint}"])
    assert not error.message.endswith("."), "a message is no sentence"


def read(path: Path) -> tuple[list[Promise], str]:
    """The promises of a file, and what follows them."""
    text, at = path.read_text(), 0
    promises: list[Promise] = []
    while line := HEADER_LINE.match(text, at):
        name, value = line.groups()
        if name == "refused":
            promises.append(Promise(value, None, None))
        elif name == "hint":
            promises[-1] = Promise(promises[-1].message, value, promises[-1].at)
        else:
            promises[-1] = Promise(promises[-1].message, promises[-1].hint, value)
        at = line.end()
    return promises, text[at:]


def promised(error: SqlError, like: Promise) -> Promise:
    at = f"{error.line}:{error.column}" if like.at is not None else None
    return Promise(error.message, error.hint, at)


def rewrite(path: Path) -> None:
    _, body = read(path)
    # The lines of a header push the places further down, so its length comes first.
    errors = bind_text(body, path.name).errors
    header_lines = sum(2 if error.hint is None else 3 for error in errors)
    promises = (Promise(e.message, e.hint, f"{e.line + header_lines}:{e.column}") for e in errors)
    path.write_text("".join(map(str, promises)) + body)

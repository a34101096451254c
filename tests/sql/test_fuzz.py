"""Whatever is written, the answer is a Script: what could be bound, and errors that show their places."""

from __future__ import annotations

import random

import pytest

from penstock.errors import SqlError
from penstock.sql import Script, bind_text
from tests.sql.mutations import mutant

CHUNKS, STATEMENTS = 40, 500


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutated_statement_gives_a_script(chunk: int) -> None:
    rng = random.Random(chunk)
    for _ in range(STATEMENTS):
        text, catalog = mutant(rng)
        try:
            script = bind_text(text, "mutant.sql", catalog)
            assert isinstance(script, Script)
            for error in script.errors:
                assert_is_shown(error, text)
        except BaseException as failure:
            failure.add_note(f"the statement was {text!r}")
            raise


def assert_is_shown(error: SqlError, text: str) -> None:
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert error.__cause__ is None, "sqlglot, or we, met it with an exception"
    assert error.message
    assert "^" in str(error)

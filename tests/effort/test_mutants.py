"""Whatever is written, each answer is a verdict, a plan or an error with a place, in bounded time and memory.

The texts are those of `tests/sql/mutations.py`, each by its number. They are answered in processes of their own, so
that a text that kills its process, takes too long or takes too much memory is named and the others are still answered.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.effort.pool import Answer, Worker
from tests.sql.mutations import numbered_mutant

ASKED = ("check", "explain", "plan", "fmt")
#: Few texts take a second; none may take more than this of the processor, or more memory than this.
SECONDS, MEBIBYTES = 20, 3 * 1024
#: The numbers of the texts: those of every run, and all.
FEW, ALL, CHUNK = 1000, 10_000, 500


@pytest.mark.parametrize("first", range(0, FEW, CHUNK))
def test_a_mutant_has_an_answer(first: int) -> None:
    assert_answered(first)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(FEW, ALL, CHUNK))
def test_each_of_ten_thousand_mutants_has_an_answer(first: int) -> None:
    assert_answered(first)


def assert_answered(first: int) -> None:
    with closing(Worker(SECONDS, MEBIBYTES)) as worker:
        failed = [answer for n in range(first, first + CHUNK) if (answer := worker.answer(n, ASKED)).failure]
    assert not failed, "\n".join(map(_named, failed))


def _named(answer: Answer) -> str:
    assert isinstance(answer.text, int)
    text, _ = numbered_mutant(answer.text)
    return f"mutant {answer.text}: {answer.failure}: {text[:500]!r}"

"""Every shape of text has an answer in bounded time and memory: a verdict, a plan, or a refusal that says why.

Each is answered in a process that ends at a limit of processor time, so that a shape that takes longer is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.effort.pool import Worker
from tests.effort.shapes import LONG, SHAPES

#: What an answer may take, in seconds of the processor: twice what is promised, for machines that do other things too.
SECONDS, MEBIBYTES = 20, 6 * 1024
ASKED = ("check", "explain", "plan", "fmt")

#: Shapes that were slow once, of sizes that are quick now.
QUICK = {
    "nested GROUP BY": 14,
    "nested DISTINCT": 20,
    "grouped views of views": 60,
    "EXISTS": 40,
    "IN subqueries": 40,
    "unbounded NOT EXISTS": 12,
    "ANDs": 400,
    "AND of ORs, other columns": 200,
    "inequalities of two streams": 100,
    "unbounded inequality join": 10,
    "chain join": 40,
    "unbounded star join": 60,
    "equalities of two streams": 300,
    "joined FOREIGN KEY": 60,
    "self-join that folds": 8,
    "UNION ALL": 100,
    "LEFT JOIN that waits": 300,
    "counts that multiply": 800,
    "held apart": 20,
    "brackets": 1000,
    "NOTs": 1000,
    "unterminated comments": 1000,
    "IN list": 1000,
    "sum": 1000,
    "select list": 300,
    "CASE branches": 300,
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with closing(Worker(SECONDS, MEBIBYTES)) as started:
        yield started


def assert_answered(worker: Worker, text: str) -> None:
    for asked in ASKED:
        answer = worker.answer(text, [asked])
        assert answer.failure is None, f"{asked}: {answer.failure}"


@pytest.mark.parametrize("name", QUICK)
def test_a_shape_that_was_slow_once_has_an_answer(name: str, worker: Worker) -> None:
    assert_answered(worker, SHAPES[name](QUICK[name]))


@pytest.mark.slow
# A query reads up to 500 streams, so that those that are as large as they may be stand just below that.
@pytest.mark.parametrize("size", [498, 1000])
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_of_any_size_has_an_answer(name: str, size: int, worker: Worker) -> None:
    assert_answered(worker, SHAPES[name](size))


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_long_text_has_an_answer(name: str, worker: Worker) -> None:
    shape, size = LONG[name]
    assert_answered(worker, shape(size))

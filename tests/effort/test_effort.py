"""A limit on work is sound and does not depend on the machine: what has no answer within it is not called safe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli import main
from penstock.effort import OutOfEffort, answering, kept, limited, nesting, once, spend
from penstock.plan.adaptivity import FULL
from penstock.plan.forgetting import EAGER
from penstock.plan.shares import choose_shares
from penstock.register import verdict_json, verdict_text
from tests.effort.shapes import SHAPES, counts_that_multiply, grouped_views, nested_group_by

SAFE = nested_group_by(4)


def test_a_query_that_takes_too_many_steps_is_not_called_safe() -> None:
    (within,), (beyond,) = penstock.check(SAFE), penstock.check(SAFE, effort=50)
    assert within.safe
    assert not beyond.safe
    assert "not shown" in beyond.message
    assert "within 50 steps of work" in beyond.message
    assert beyond.hint == "raise --effort, or split the query"
    assert beyond.actions == ()
    assert beyond.witness is None


def test_whatever_the_limit_the_verdict_is_the_same_or_unknown() -> None:
    for name in ("nested GROUP BY", "EXISTS", "unbounded star join", "self-join that folds", "UNION"):
        text = SHAPES[name](4)
        (whole,) = penstock.check(text)
        answered = False
        for effort in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
            (limited_,) = penstock.check(text, effort=effort)
            assert not answered or limited_.unanswered is None, "more steps lose no answer"
            answered = limited_.unanswered is None
            assert limited_.message == whole.message if answered else not limited_.safe
        assert answered


def test_the_steps_of_an_answer_are_the_same_each_time() -> None:
    assert _steps(SAFE) == _steps(SAFE)


def _steps(text: str) -> int:
    """The least limit with which there is an answer."""
    low, high = 0, 100_000
    while low + 1 < high:
        middle = (low + high) // 2
        (verdict,) = penstock.check(text, effort=middle)
        low, high = (middle, high) if verdict.unanswered else (low, middle)
    return high


def test_a_query_without_an_answer_is_reported_in_words_and_as_json() -> None:
    (verdict,) = penstock.check(SAFE, effort=50)
    assert "query: not safe" in verdict_text(verdict)
    report = json.loads(json.dumps(verdict_json(verdict)))
    assert report["safe"] is False
    assert report["state"][0]["operator"] == "query"


def test_the_commands_take_a_limit(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "q.sql"
    file.write_text(SAFE)
    assert main(["check", "--effort", "50", str(file)]) == 1
    assert "within 50 steps of work" in capsys.readouterr().out
    assert main(["check", "--effort", "1000000", str(file)]) == 0
    capsys.readouterr()
    assert main(["explain", "--effort", "5", str(file)]) == 2
    assert "within 5 steps of work" in capsys.readouterr().err
    assert main(["run", "--engine", "embedded", "--until-done", "--effort", "50", str(file)]) == 2
    assert "not shown" in capsys.readouterr().err


def test_a_query_of_a_session_takes_a_limit() -> None:
    session = penstock.Session()
    declarations, query = SAFE.rsplit(";", 1)
    session.sql(declarations)
    assert session.query(query).verdict.safe
    assert not session.query(query, effort=50).verdict.safe


def test_a_query_of_a_session_is_planned_for_spark_within_its_limit() -> None:
    session = penstock.Session()
    declarations, query = SAFE.rsplit(";", 1)
    session.sql(declarations)
    with pytest.raises(OutOfEffort, match="within 5 steps"):
        session.query(query, effort=5)._frames(1, EAGER, FULL)


def test_where_there_is_no_answer_the_report_says_so() -> None:
    """What a step holds is another answer about the same query, which would take as many steps to find as little."""
    (verdict,) = penstock.check(SHAPES["LEFT JOIN"](60), effort=3000)
    assert verdict.unanswered is not None
    with limited(3000):
        assert verdict_json(verdict)["step"] is None
        assert "within 3,000 steps of work" in verdict_text(verdict, explain=True)


def test_variables_that_the_same_inputs_have_share_their_cells() -> None:
    assert choose_shares([[True] * 1000, [True] * 1000], 4) == (*[1] * 999, 4)
    with limited(1000), answering(), pytest.raises(OutOfEffort):
        choose_shares([[i == v or i == v + 1 for v in range(40)] for i in range(41)], 16)


def test_advice_that_takes_too_many_steps_is_left_out() -> None:
    text = SHAPES["unbounded star join"](12)
    (verdict,) = penstock.check(text, effort=12_000)
    assert verdict.unanswered is None
    assert not verdict.safe
    assert not verdict.advice.complete


def test_the_advice_on_all_queries_of_a_file_is_limited_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "q.sql"
    file.write_text(SHAPES["unsafe joins"](8))
    assert main(["check", str(file), "--effort", "40000"]) == 1
    said = capsys.readouterr().out
    assert said.count("any of these would make it safe") in range(1, 8)
    assert said.rstrip().endswith("raise --effort, or check it alone")


def test_numbers_that_nobody_can_read_are_not_written() -> None:
    (verdict,) = penstock.check(counts_that_multiply(800))
    assert verdict.safe
    assert verdict.message == "safe, at most finitely many values"
    assert json.dumps(verdict_json(verdict))


def test_views_that_group_views_take_no_more_than_so_many_steps_each() -> None:
    few, many = _steps(grouped_views(8)), _steps(grouped_views(16))
    assert many < 8 * few


def test_an_answer_inside_another_counts_for_it() -> None:
    with limited(10), answering():
        spend(6)
        with pytest.raises(OutOfEffort), answering():
            spend(6)


def test_what_is_kept_is_worked_out_once_in_an_answer() -> None:
    asked: list[object] = []

    @once
    def length(some: tuple[int, ...]) -> int:
        asked.append(some)
        return len(some)

    one, other = tuple(range(1, 3)), tuple(range(1, 3))
    with answering():
        assert length(one) == length(one) == length(other) == 2
        assert kept("sum", (one,), lambda: sum(one)) == kept("sum", (one,), lambda: 0) == 3
    assert len(asked) == 2
    assert length(one) == 2
    assert len(asked) == 3


def test_what_nests_deeply_goes_on_where_the_stack_ends() -> None:
    @nesting
    def down(levels: int) -> int:
        return 0 if levels == 0 else 1 + deeper(levels - 1)

    def deeper(levels: int) -> int:
        return 0 if levels == 0 else 1 + deeper(levels - 1)

    assert down(5000) == 5000
    with pytest.raises(penstock.PenstockError, match="nests too deeply"):
        down(100_000)

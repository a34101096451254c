"""Implication on random small theories against brute force: no answer is wrong, and few are unknown."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from penstock.elimination.constraints import AtMost, Constant, Constraint
from penstock.elimination.implication import Answer, Decision, decide
from penstock.elimination.model_checker import breaks
from penstock.elimination.models import Model
from penstock.elimination.proof_checker import ProofRefused, check_proof
from penstock.elimination.proofs import Concluded, Fire, Proof, Split
from tests.generators.theories import Question, question
from tests.reference import implication as reference


def small_counter_model(asked: Question, goal: Constraint | None = None) -> reference.Model | None:
    """Finite models of two or three rows, and periodic ones of one or two."""
    goal = goal or asked.goal
    width = len(next(iter(asked.columns.values())))
    values, times, rows = ((), 5, 3) if width == 0 else ((1, 2), 4, 2) if width == 1 else ((1,), 3, 2)
    found = reference.counter_model(asked.theory, goal, asked.columns, values, times, rows)
    if found is None:
        periodic_rows = 2 if width == 0 else 1
        found = reference.counter_model(asked.theory, goal, asked.columns, values[:1], 3, periodic_rows, (0, 1, 2))
    return found


def as_reference(model: Model) -> reference.Model:
    def plain(value: Any) -> Any:
        return value.value if isinstance(value, Constant) else f"value {value.number}"

    return tuple(
        (row.stream, row.time, tuple((name, plain(value)) for name, value in row.cells), row.period)
        for row in model.rows
    )


def show_right(asked: Question) -> Answer:
    """Decides a question and compares the answer with brute force."""
    decision = decide(asked.theory, asked.goal)
    match decision.answer:
        case Answer.IMPLIED:
            assert decision.proof is not None
            check_proof(asked.theory, asked.goal, decision.proof)
            found = small_counter_model(asked)
            assert found is None, f"{asked}\nis broken by {found}"
        case Answer.NOT_IMPLIED:
            assert decision.counter_model is not None
            model = as_reference(decision.counter_model)
            assert breaks(decision.counter_model, asked.theory, asked.goal), f"{asked}\n{model}"
            # Periods of large models go beyond what is written out.
            if decision.counter_model.is_finite or max(time + period for _, time, _, period in model) < 20:
                assert not reference.is_true(asked.goal, model), f"{asked}\n{model}"
                assert all(reference.is_true(each, model) for each in asked.theory), f"{asked}\n{model}"
    return decision.answer


def answers(seeds: range, cyclic: bool) -> Counter[Answer]:
    return Counter(show_right(question(random.Random(seed), cyclic)) for seed in seeds)


def test_theories_without_circles_are_decided() -> None:
    assert Answer.UNKNOWN not in answers(range(150), cyclic=False)


def test_of_theories_with_circles_hardly_any_is_unknown() -> None:
    counted = answers(range(200), cyclic=True)
    assert counted[Answer.UNKNOWN] * 100 <= counted.total()


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 6000, 500))
@pytest.mark.parametrize("cyclic", [False, True], ids=["without circles", "with circles"])
def test_thousands_of_theories(start: int, cyclic: bool) -> None:
    counted = answers(range(10_000 + start, 10_500 + start), cyclic)
    print(dict(counted))
    assert counted[Answer.UNKNOWN] * 100 <= counted.total()


def proved(count: int) -> Iterator[tuple[Question, Decision]]:
    """Questions that are implied by more than their own premise."""
    for seed in range(10_000):
        asked = question(random.Random(seed), cyclic=seed % 2 == 0)
        decision = decide(asked.theory, asked.goal)
        if decision.proof is not None and any(True for _ in without_a_step(decision.proof)):
            yield asked, decision
            count -= 1
            if count == 0:
                return


def without_a_step(proof: Proof) -> Iterator[Proof]:
    for number in range(len(proof.steps)):
        yield replace(proof, steps=proof.steps[:number] + proof.steps[number + 1 :])
    if isinstance(proof.end, Split):
        split = proof.end
        yield from (replace(proof, end=replace(split, holds=each)) for each in without_a_step(split.holds))
        for number, case in enumerate(split.fails):
            for each in without_a_step(case):
                fails = (*split.fails[:number], each, *split.fails[number + 1 :])
                yield replace(proof, end=replace(split, fails=fails))


def with_another_constant(proof: Proof) -> Iterator[Proof]:
    """Proofs that fire a constraint which the theory does not have."""
    for number, step in enumerate(proof.steps):
        if isinstance(step, Fire):
            changed = tuple(
                replace(each, most=each.most - 1) if isinstance(each, AtMost) else each
                for each in step.constraint.conclusion
            )
            if changed != step.constraint.conclusion:
                other = replace(step, constraint=replace(step.constraint, conclusion=changed))
                yield replace(proof, steps=(*proof.steps[:number], other, *proof.steps[number + 1 :]))


def with_another_witness(proof: Proof) -> Iterator[Proof]:
    for number, step in enumerate(proof.steps):
        if isinstance(step, Fire):
            nobody = replace(step, rows=("nobody", *step.rows[1:]))
            yield replace(proof, steps=(*proof.steps[:number], nobody, *proof.steps[number + 1 :]))
    if isinstance(proof.end, Concluded) and proof.end.witnesses:
        yield replace(proof, end=Concluded(("nobody", *proof.end.witnesses[1:])))
        yield replace(proof, end=Concluded(proof.end.witnesses[1:]))


def refuses(asked: Question, proof: Proof, goal: Constraint | None = None) -> bool:
    try:
        check_proof(asked.theory, goal or asked.goal, proof)
    except ProofRefused:
        return True
    return False


def test_the_checker_refuses_proofs_that_were_tampered_with() -> None:
    tried = Counter[str]()
    for asked, decision in proved(60):
        assert decision.proof is not None
        for tamper in (without_a_step, with_another_constant, with_another_witness):
            for tampered in tamper(decision.proof):
                tried[tamper.__name__] += 1
                assert refuses(asked, tampered), f"{asked}\n{tampered}"
    assert len(tried) == 3
    assert min(tried.values()) > 20


def test_the_checker_refuses_a_proof_of_what_brute_force_refutes() -> None:
    tried = 0
    for asked, decision in proved(60):
        assert decision.proof is not None
        stronger = tuple(
            replace(each, most=each.most - 3) if isinstance(each, AtMost) else each for each in asked.goal.conclusion
        )
        goal = replace(asked.goal, conclusion=stronger)
        if goal != asked.goal and small_counter_model(asked, goal) is not None:
            tried += 1
            assert refuses(asked, decision.proof, goal), f"{asked}\n{goal}"
    assert tried > 5

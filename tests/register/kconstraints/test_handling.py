"""A run time that does what `Handling` says gives exactly the join's result, and stores no more than the bounds say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from penstock.closing.kconstraints import BoundedComponent, ComponentKind, JoinOutput
from tests.reference.kconstraints import Stored, analyse
from tests.register.kconstraints.cases import random_input, random_query
from tests.register.kconstraints.machine import Machine
from tests.register.kconstraints.model import is_over, results
from tests.register.kconstraints.test_bounds import by_kinds


@by_kinds
def test_results_are_exact_and_state_is_within_bounds(kinds: tuple[type, ...]) -> None:
    run(Random(f"run {kinds}"), kinds, cases=14)


@pytest.mark.slow
@by_kinds
def test_results_are_exact_and_state_is_within_bounds_in_many_cases(kinds: tuple[type, ...]) -> None:
    run(Random(f"run, many {kinds}"), kinds, cases=300)


@by_kinds
def test_each_move_is_sound_without_the_others(kinds: tuple[type, ...]) -> None:
    run_with_some_moves(Random(f"moves {kinds}"), kinds, cases=14)


@pytest.mark.slow
@by_kinds
def test_each_move_is_sound_without_the_others_in_many_cases(kinds: tuple[type, ...]) -> None:
    run_with_some_moves(Random(f"moves, many {kinds}"), kinds, cases=300)


def run(random: Random, kinds: tuple[type, ...], cases: int) -> None:
    for _ in range(cases):
        query = random_query(random, kinds=kinds)
        analysis = analyse(query)
        machine = Machine(query, analysis)
        follow(machine, random_input(random, query, 30), analysis)


def run_with_some_moves(random: Random, kinds: tuple[type, ...], cases: int) -> None:
    for _ in range(cases):
        query = random_query(random, kinds=kinds)
        analysis = analyse(query)
        handlings = {
            verdict.stream: replace(
                verdict.handling,
                no=random.choice((Stored.KEY, Stored.NOTHING)),
                moves=tuple(
                    move for move in verdict.handling.moves if type(move).__name__ == "Expire" or random.random() < 0.5
                ),
            )
            for verdict in analysis.streams
        }
        follow(Machine(query, analysis, handlings), random_input(random, query, 30), None)


def follow(machine: Machine, past, analysis) -> None:
    query, now = machine.query, Counter()
    for end, event in enumerate(past, 1):
        before, now = now, Counter(frozenset(joined.values()) for joined in results(query, past[:end]))
        told = machine.emitted.copy()
        machine.arrive(event)
        case = f"{query}\n" + "\n".join(f"{one.at} {one.stream} {one.values}" for one in past[:end])
        assert machine.emitted - told == now - before, case
        if query.output is JoinOutput.CHANGES:
            assert +machine.relation == now, case
        if analysis is not None:
            for component in analysis.components:
                check_size(machine, component, past[:end], case)


def check_size(machine: Machine, component, past, case: str) -> None:
    rows = getattr(machine, component.component.value.lower())[component.stream]
    match component.bound:
        case BoundedComponent(kind=ComponentKind.OPEN):
            return
        case BoundedComponent(counted=counted, waits=waits):
            waiting = [
                event
                for event in past
                if event.stream == counted
                and not all(is_over(machine.query, wait.steps, past, event) for wait in waits)
            ]
            assert len(rows) <= len(waiting), f"{case}\n{component}\n{rows}"
        case bound if bound.number == 0:
            assert not rows, f"{case}\n{component}"

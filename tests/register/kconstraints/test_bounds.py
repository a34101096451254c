"""No component needs more rows than its bound says, on random queries and random input that obeys the constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from penstock.closing.kconstraints import (
    BoundedComponent,
    ClusteredArrival,
    Component,
    ComponentBound,
    ComponentKind,
    ConstrainedJoin,
    ConstrainedStream,
    EmptyComponent,
    OrderedArrival,
    Rate,
    Rids,
)
from tests.reference.kconstraints import Analysis, analyse
from tests.register.kconstraints.cases import random_input, random_query
from tests.register.kconstraints.model import Event, is_over, needed, results

KINDS = [
    (Rids,),
    (ClusteredArrival,),
    (OrderedArrival,),
    (Rids, ClusteredArrival),
    (Rids, OrderedArrival),
    (ClusteredArrival, OrderedArrival),
    (Rids, ClusteredArrival, OrderedArrival),
]


by_kinds = pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "+".join(kind.__name__ for kind in kinds))


@by_kinds
def test_what_is_needed_is_in_its_wait(kinds: tuple[type, ...]) -> None:
    assert waits_checked(Random(f"needed {kinds}"), kinds, cases=14) > 5


@pytest.mark.slow
@by_kinds
def test_what_is_needed_is_in_its_wait_in_many_cases(kinds: tuple[type, ...]) -> None:
    assert waits_checked(Random(f"needed, many {kinds}"), kinds, cases=250) > 50


def test_numbers_from_rates_are_never_exceeded() -> None:
    assert numbers_checked(Random("rates"), cases=20) > 20


@pytest.mark.slow
def test_numbers_from_rates_are_never_exceeded_in_many_cases() -> None:
    assert numbers_checked(Random("rates, many"), cases=400) > 200


def waits_checked(random: Random, kinds: tuple[type, ...], cases: int) -> int:
    """Checks all components at some moments, and says how often one was bounded."""
    bounded = 0
    for _ in range(cases):
        query = random_query(random, kinds=kinds)
        analysis = analyse(query)
        past = random_input(random, query, 24)
        for end in range(6, len(past) + 1, 5):
            for stream, component, rows in needed_rows(query, analysis, past[:end]):
                bound = bound_of(analysis, stream, component)
                check(query, bound, past[:end], rows, describe(query, past[:end], stream, component, bound))
                bounded += isinstance(bound, BoundedComponent)
    return bounded


def numbers_checked(random: Random, cases: int) -> int:
    """Checks all components whose size is known as a number, and says how many there were."""
    numbers = 0
    for _ in range(cases):
        query = random_query(random, kinds=(Rids,))
        past = random_input(random, query, 24)
        if not past:
            continue
        rated = replace(query, streams=tuple(with_rate(stream, past) for stream in query.streams))
        analysis = analyse(rated)
        for end in range(6, len(past) + 1, 6):
            for stream, component, rows in needed_rows(query, analysis, past[:end]):
                bound = bound_of(analysis, stream, component)
                if bound.number is not None:
                    numbers += 1
                    assert len(rows) <= bound.number, describe(rated, past[:end], stream, component, bound)
    return numbers


def needed_rows(
    query: ConstrainedJoin, analysis: Analysis, past: list[Event]
) -> Iterator[tuple[str, Component, list[Event]]]:
    """What must be kept of each stream, by component; needed rows are never No."""
    for stream in query.streams:
        rows = [event for event in past if event.stream == stream.name and needed(query, past, event)]
        reached = (stream.name, *analysis.graph.descendants[stream.name])
        joined = {joined[stream.name] for joined in results(query, past, reached)}
        yield stream.name, Component.YES, [event for event in rows if event in joined]
        yield stream.name, Component.UNKNOWN, [event for event in rows if event not in joined]


def bound_of(analysis: Analysis, stream: str, component: Component) -> ComponentBound:
    return analysis[stream].yes if component is Component.YES else analysis[stream].unknown


def check(query: ConstrainedJoin, bound: ComponentBound, past: list[Event], rows: list[Event], case: str) -> None:
    match bound:
        case EmptyComponent():
            assert not rows, case
        case BoundedComponent(kind=ComponentKind.OPEN):
            pass
        case BoundedComponent(counted=counted, waits=waits):
            waiting = [
                event
                for event in past
                if event.stream == counted and not all(is_over(query, wait.steps, past, event) for wait in waits)
            ]
            assert len(rows) <= len(waiting), case
            assert not rows or rows[0].stream != counted or set(rows) <= set(waiting), case


def with_rate(stream: ConstrainedStream, past: list[Event], per: int = 3) -> ConstrainedStream:
    """The stream with its true rate."""
    times = [event.at for event in past if event.stream == stream.name]
    last = past[-1].at
    counts = [sum(start <= at < start + per for at in times) for start in range(last - per + 2)]
    most = max((sum(start <= at < start + per for at in times) for start in range(-per, last + 1)), default=0)
    return replace(stream, rate=Rate(most, min(counts, default=0), per))


def describe(
    query: ConstrainedJoin, past: list[Event], stream: str, component: Component, bound: ComponentBound
) -> str:
    rows = "\n".join(f"{event.at} {event.stream} {event.values}" for event in past)
    return f"{query}\n{rows}\n{stream} {component.value}: {bound}"

"""Each remedy, applied, bounds its component, and no part of it does."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from penstock.closing.kconstraints import Component, ComponentBound, ConstrainedJoin, OrderedArrival, Rids, RowCount
from tests.reference.kconstraints import Unbounded, Want, WantOrdered, WantRids, WantWindow, analyse
from tests.register.kconstraints.cases import random_query


def declared(query: ConstrainedJoin, wants: tuple[Want, ...]) -> ConstrainedJoin:
    for want in wants:
        match want:
            case WantRids(stream, columns, target, target_columns):
                added = Rids(stream, columns, target, target_columns, RowCount(5))
                query = replace(query, constraints=(*query.constraints, added))
            case WantOrdered(stream, column):
                query = replace(query, constraints=(*query.constraints, OrderedArrival(stream, column, RowCount(5))))
            case WantWindow(name):
                streams = (replace(one, window=RowCount(5)) if one.name == name else one for one in query.streams)
                query = replace(query, streams=tuple(streams))
    return query


def component(query: ConstrainedJoin, stream: str, component: Component) -> ComponentBound:
    verdict = analyse(query)[stream]
    return {Component.YES: verdict.yes, Component.NO: verdict.no, Component.UNKNOWN: verdict.unknown}[component]


@pytest.mark.parametrize("seed", range(6))
def test_remedies_are_enough_and_no_more(seed: int) -> None:
    random = Random(f"advice {seed}")
    tried = 0
    while tried < 60:
        query = random_query(random)
        for one in analyse(query).components:
            if not isinstance(one.bound, Unbounded):
                continue
            assert len(one.bound.remedies) == 3
            for remedy in one.bound.remedies:
                tried += 1
                parts = [part for size in range(len(remedy)) for part in combinations(remedy, size)]
                enough = component(declared(query, remedy), one.stream, one.component)
                assert not isinstance(enough, Unbounded), (query, one.stream, one.component, remedy)
                for part in parts:
                    bound = component(declared(query, part), one.stream, one.component)
                    assert isinstance(bound, Unbounded), (query, one.stream, one.component, remedy, part)

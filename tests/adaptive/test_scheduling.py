"""Chain scheduling: both tables of thesis 2.3.2 in simulated time, and random charts against FIFO and greedy."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from random import Random

import pytest

from penstock import PenstockError
from penstock.adaptive.scheduling.progress_chart import Operator, ProgressChart
from penstock.adaptive.scheduling.strategies import Scheduling, Waiting, strategy_of
from tests.seeds import seeds


def chart(*sizes: float) -> ProgressChart:
    """Operators that take a unit of time each for what is left of a batch, and leave these sizes of it."""
    before, operators = 1.0, []
    for number, size in enumerate(sizes):
        operators.append(Operator(f"O{number + 1}", 1 / before, size / before))
        before = size
    return ProgressChart(tuple(operators))


def simulated(found: ProgressChart, scheduling: Scheduling, arrivals: list[int]) -> list[float]:
    """The total size of what waits at each instant; at instant t so many batches arrive. Operators take a unit."""
    choose = strategy_of(scheduling, found)
    waiting: dict[int, int] = {}
    came, sizes = 0, []
    for count in arrivals:
        waiting |= {came + n: 0 for n in range(count)}
        came += count
        sizes.append(sum(found.sizes[operator] for operator in waiting.values()))
        if waiting:
            batch = choose([Waiting(arrival, operator) for arrival, operator in waiting.items()])
            waiting[batch.arrival] += 1
            if waiting[batch.arrival] == len(found.operators):
                del waiting[batch.arrival]
    return sizes


BURST = [1] * 7 + [0] * 8


def test_the_first_table_of_section_2_3_2() -> None:
    found = chart(0.2, 0.0)
    fifo, greedy, chain = (simulated(found, each, BURST) for each in Scheduling)
    assert [round(size, 1) for size in fifo[:7]] == [1.0, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0]
    assert [round(size, 1) for size in greedy[:7]] == [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2]
    assert [round(sum(sizes[:7]) / 7, 1) for sizes in (fifo, greedy)] == [2.4, 1.6]
    assert fifo[14] == greedy[14] == chain[14] == 0
    assert all(mine <= min(others) + 1e-9 for mine, *others in zip(chain, fifo, greedy, strict=True))


def test_the_second_table_of_section_2_3_2() -> None:
    found = chart(0.9, 0.9, 0.0)
    fifo, greedy, chain = (simulated(found, each, BURST) for each in Scheduling)
    assert [round(size, 1) for size in fifo[:7]] == [1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0]
    assert [round(size, 1) for size in greedy[:7]] == [1.0, 1.9, 2.8, 3.7, 4.6, 5.5, 6.4]
    assert [round(sum(sizes[:7]) / 7, 1) for sizes in (fifo, greedy)] == [3.2, 3.7]
    assert sum(chain[:7]) <= min(sum(fifo[:7]), sum(greedy[:7])) + 1e-9
    assert [len(range(each.first, each.end)) for each in found.chains] == [3]


def random_chart(random: Random, most: int = 5) -> ProgressChart:
    sizes = [random.choice([0.05, 0.2, 0.5, 0.9, 1.0, 1.3]) for _ in range(random.randint(1, most - 1))]
    return chart(*sizes, 0.0)


@pytest.mark.parametrize("seed", seeds(10))
def test_chains_follow_the_lower_envelope_of_any_chart(seed: int) -> None:
    found = random_chart(Random(seed), 9)
    assert all(after.slope <= before.slope + 1e-12 for before, after in pairwise(found.chains))
    assert [chain.first for chain in found.chains[1:]] == [chain.end for chain in found.chains[:-1]]
    assert found.chains[-1].end == len(found.operators)
    corners = [found.points[0], *(found.points[chain.end] for chain in found.chains)]
    for time, size in found.points:
        left = max(corner for corner in corners if corner[0] <= time)
        right = min(corner for corner in corners if corner[0] >= time)
        share = 0.0 if left == right else (time - left[0]) / (right[0] - left[0])
        assert size >= left[1] + share * (right[1] - left[1]) - 1e-9


def test_chain_needs_less_than_fifo_and_greedy_over_random_charts_and_bursts() -> None:
    totals = dict.fromkeys(Scheduling, 0.0)
    for seed in range(200):
        random = Random(seed)
        found = random_chart(random)
        arrivals = [random.choice([0, 0, 1, 2]) if random.random() < 0.5 else 0 for _ in range(40)]
        for each in Scheduling:
            totals[each] += sum(simulated(found, each, arrivals))
    assert totals[Scheduling.CHAIN] < min(totals[Scheduling.FIFO], totals[Scheduling.GREEDY])


def clairvoyant(found: ProgressChart, arrivals: list[int]) -> float:
    """The least peak that any schedule has that knows what comes, by trying all of them."""
    steps = len(found.operators)

    @cache
    def least(instant: int, waiting: tuple[int, ...]) -> float:
        waiting = tuple(sorted((*waiting, *[0] * arrivals[instant])))
        now = sum(found.sizes[operator] for operator in waiting)
        if instant + 1 == len(arrivals):
            return now
        nexts = set()
        for place, operator in enumerate(waiting):
            moved = (*waiting[:place], *([operator + 1] if operator + 1 < steps else []), *waiting[place + 1 :])
            nexts.add(tuple(sorted(moved)))
        return max(now, min((least(instant + 1, each) for each in nexts or {()}), default=now))

    return least(0, ())


@pytest.mark.parametrize("seed", seeds(12))
def test_chain_is_close_to_the_clairvoyant_optimum(seed: int) -> None:
    """Babcock and others (SIGMOD 2003): it exceeds the optimum by a batch per operator at most."""
    random = Random(100 + seed)
    sizes = sorted((random.choice([0.05, 0.2, 0.5, 0.9, 1.0]) for _ in range(random.randint(1, 3))), reverse=True)
    found = chart(*sizes, 0.0)
    arrivals = [random.choice([0, 0, 1, 1, 2]) for _ in range(9)]
    peak = max(simulated(found, Scheduling.CHAIN, arrivals))
    assert peak <= clairvoyant(found, arrivals) + len(found.operators)
    assert peak >= clairvoyant(found, arrivals) - 1e-9


def test_a_chart_has_operators_that_take_time() -> None:
    for made in (lambda: ProgressChart(()), lambda: Operator("O", 0, 1), lambda: Operator("O", 1, -1)):
        with pytest.raises(PenstockError):
            made()

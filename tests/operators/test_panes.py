"""Aggregates of sliding windows by panes, against the reference: however rows come, are cut, and are restored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.relations import Range
from penstock.operators.groups.aggregate import AggregateOperator, AggregationSpec
from penstock.operators.groups.panes import PartialAggregates
from penstock.synopsis.deltas import Deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory
from penstock.types import BIGINT, DOUBLE, INT, STRING, decimal
from tests.operators.columns import coded
from tests.operators.test_aggregate import COUNT_ROWS, SAMPLES, SPECS, Case, decoded, expected, values
from tests.reference.values import Row

Stamped = tuple[int, Row]


@dataclass(frozen=True, slots=True)
class Sliding:
    """Rows of a stream in the order of arrival, under a window that slides."""

    window: Range
    keys: tuple
    specs: tuple[AggregationSpec, ...]
    rows: tuple[Stamped, ...]

    def case(self, horizon: int) -> Case:
        """The changes of the window, from its definition: at t it holds what is not before t - w nor behind t."""
        assert self.window.slide is not None
        changes = []
        before: Counter[int] = Counter()
        for t in range(0, horizon, self.window.slide):
            now = Counter(n for n, (ts, _) in enumerate(self.rows) if t - self.window.width <= ts <= t)
            for number in now | before:
                if weight := now[number] - before[number]:
                    changes.append((t, weight, self.rows[number][1]))
            before = now
        return Case(self.keys, self.specs, tuple(changes))


@st.composite
def slidings(draw: st.DrawFn) -> Sliding:
    keys = tuple(draw(st.lists(st.sampled_from([INT, STRING, DOUBLE]), max_size=2)))
    specs = tuple(draw(st.lists(st.one_of(st.sampled_from(SPECS), st.just(COUNT_ROWS)), min_size=1, max_size=4)))
    types = keys + tuple(spec.argument for spec in specs if spec.argument is not None)
    pools = [draw(st.lists(values(type_), min_size=1, max_size=4)) for type_ in types]
    rows = st.tuples(st.integers(0, 20), st.tuples(*(st.sampled_from(pool) for pool in pools)))
    window = Range(draw(st.integers(0, 12)), draw(st.integers(1, 6)))
    return Sliding(window, keys, specs, tuple(draw(st.lists(rows, max_size=14))))


class Machine:
    """The two operators, with all that they remember."""

    def __init__(self, sliding: Sliding, memory: Memory, dictionary: Dictionary) -> None:
        self.partials = PartialAggregates(memory, "p", sliding.window, sliding.keys, sliding.specs, dictionary)
        shape = self.partials.shape
        self.groups = AggregateOperator(memory, "a", sliding.keys, sliding.specs, dictionary, shape=shape)

    def step(self, ts: np.ndarray, rows: np.ndarray, until: int) -> Deltas:
        due = self.partials.step(ts, rows, until)
        out = self.groups.step(due, until, self.partials.spilt)
        self.partials.forget()
        return out


def run(
    sliding: Sliding, horizon: int, cuts: Sequence[int] = (), restore_at: int | None = None
) -> dict[int, Counter[Hashable]]:
    """All steps; a row arrives in any step before which its instant is not closed. Values are swept after each."""
    case = sliding.case(0)
    dictionary, memory = Dictionary(), Memory()
    machine = Machine(sliding, memory, dictionary)
    pages: dict[str, bytes] = {}
    result: dict[int, Counter[Hashable]] = {}
    before = 0
    for number, until in enumerate((*sorted(cuts), horizon)):
        pages |= memory.changes()
        if number == restore_at:
            memory = Memory()
            memory.restore(pages)
            machine = Machine(sliding, memory, dictionary)
        # Rows whose instant stays open for a while come now or later, by their number.
        now = [(ts, row) for n, (ts, row) in enumerate(sliding.rows) if before <= _arrives(n, ts, cuts) < until]
        rows = coded([row for _, row in now], case.input, dictionary)
        part = decoded(case, machine.step(np.array([ts for ts, _ in now], np.int64), rows, until), dictionary)
        assert all(ts < until for ts in part)
        assert not part.keys() & result.keys()
        result |= part
        before = until
        marks = dictionary.marks()
        machine.partials.mark(marks)
        machine.groups.mark(marks)
        dictionary.sweep(marks)
    return result


def _arrives(number: int, ts: int, cuts: Sequence[int]) -> int:
    """When a row arrives: at its instant, or ahead of it, at the start of a step."""
    starts = [0, *(cut for cut in sorted(cuts) if cut <= ts)]
    return ts if number % 2 else starts[number % len(starts)]


@given(slidings())
def test_results_are_those_of_the_reference(sliding: Sliding) -> None:
    assert run(sliding, 50) == expected(sliding.case(50))


@given(slidings(), st.lists(st.integers(0, 40), max_size=5), st.integers(0, 5))
def test_cuts_and_restores_do_not_show(sliding: Sliding, cuts: list[int], restore_at: int) -> None:
    assert run(sliding, 50, cuts, restore_at) == expected(sliding.case(50))


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.function.value}-{s.argument}-{'distinct' * s.distinct}")
def test_each_aggregate(spec: AggregationSpec) -> None:
    assert spec.argument is not None
    rows = tuple((3 * n % 17, (n % 2, value)) for n, value in enumerate(2 * SAMPLES[spec.argument]))
    sliding = Sliding(Range(6, 2), (INT,), (spec, COUNT_ROWS), rows)
    assert run(sliding, 40, range(0, 40, 7), 3) == expected(sliding.case(40))


def test_state_is_panes_and_groups_not_rows() -> None:
    specs = (COUNT_ROWS, *(spec for spec in SPECS if spec.argument in (DOUBLE, decimal(38, 10)) and not spec.distinct))
    machine = Machine(Sliding(Range(60, 10), (BIGINT,), specs, ()), memory := Memory(), dictionary := Dictionary())
    case = Case((BIGINT,), specs, ())
    sizes = set()
    for second in range(200):
        value = [SAMPLES[spec.argument][second % 5] for spec in specs if spec.argument is not None]
        rows = coded([(n % 5, *value) for n in range(50)], case.input, dictionary)
        machine.step(np.full(50, second), rows, second)
        if second >= 100:
            # Six panes and what is exactly on their ends, five groups each.
            assert machine.partials.state_rows() <= 2 * 8 * 5
            sizes.add(memory.nbytes())
    assert len(sizes) == 1
    machine.step(np.zeros(0, np.int64), rows[:0], 1000)
    assert machine.partials.state_rows() == machine.groups.state_rows() == 0

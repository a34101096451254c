"""The aggregate operator against the reference: all aggregates of all types, however the input is cut or restored."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.algebra.expressions import Column
from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.operators.blocks import together
from penstock.operators.groups.aggregate import AggregateOperator, AggregationSpec
from penstock.synopsis.codes import decode_column
from penstock.synopsis.deltas import Deltas, is_null, no_deltas
from penstock.synopsis.dictionary import Dictionary
from penstock.synopsis.memory import Memory
from penstock.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from tests.operators.columns import VALUES, coded, decimals, or_null, plain, scaled
from tests.reference.aggregates import aggregate
from tests.reference.values import Row, Value, identity

TYPES = (
    BOOLEAN, INT, BIGINT, DOUBLE, STRING, BINARY, TIMESTAMP, DATE,
    decimal(4, 2), decimal(12, 3), decimal(18, 6), decimal(38, 10), decimal(38, 0), decimal(38, 38),
)  # fmt: skip

SPECS = [
    AggregationSpec(function, type_, distinct)
    for type_ in TYPES
    for function in AggregateFunction
    for distinct in (False, True)
    if aggregate_type(function, type_) is not None
]
COUNT_ROWS = AggregationSpec(AggregateFunction.COUNT, None)


@dataclass(frozen=True, slots=True)
class Case:
    """Keys, aggregates, and changes: time, weight, row. No bag has a negative count at the end of an instant."""

    keys: tuple[Type, ...]
    specs: tuple[AggregationSpec, ...]
    changes: tuple[tuple[int, int, Row], ...]

    @property
    def input(self) -> tuple[Column, ...]:
        arguments = tuple(spec.argument for spec in self.specs if spec.argument is not None)
        return tuple(Column("t", f"c{n}", type_) for n, type_ in enumerate(self.keys + arguments))

    @property
    def output(self) -> tuple[Type, ...]:
        return self.keys + tuple(spec.result for spec in self.specs)

    def deltas(self, dictionary: Dictionary) -> Deltas:
        if not self.changes:
            return no_deltas(len(self.input))
        ts, weight, rows = zip(*self.changes, strict=True)
        return Deltas(np.array(ts), np.array(weight), coded(rows, self.input, dictionary))


def values(type_: Type) -> st.SearchStrategy:
    return or_null(VALUES[type_] if type_ in VALUES else decimals(type_))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    keys = tuple(draw(st.lists(st.sampled_from([INT, STRING, DOUBLE, BIGINT]), max_size=2)))
    specs = tuple(draw(st.lists(st.one_of(st.sampled_from(SPECS), st.just(COUNT_ROWS)), min_size=1, max_size=4)))
    types = keys + tuple(spec.argument for spec in specs if spec.argument is not None)
    # Few values per column, so that keys meet and values repeat.
    pools = [draw(st.lists(values(type_), min_size=1, max_size=4)) for type_ in types]
    rows = st.tuples(*(st.sampled_from(pool) for pool in pools))
    present: Counter[int] = Counter()
    known: list[Row] = []
    changes: list[tuple[int, int, Row]] = []
    instant = draw(st.integers(0, 3))
    for _ in range(draw(st.integers(0, 8))):
        now: list[tuple[int, int, Row]] = []
        for _ in range(draw(st.integers(1, 6))):
            there = [number for number, count in present.items() if count > 0]
            if there and draw(st.booleans()):
                number = draw(st.sampled_from(there))
                weight = -draw(st.integers(1, present[number]))
            else:
                known.append(draw(rows))
                number, weight = len(known) - 1, draw(st.sampled_from([1, 1, 1, 2, 5]))
            present[number] += weight
            now.append((instant, weight, known[number]))
        # Inside an instant a deletion may come before its insertion.
        changes += draw(st.permutations(now))
        instant += draw(st.integers(1, 3))
    return Case(keys, specs, tuple(changes))


def expected(case: Case) -> dict[int, Counter[Hashable]]:
    """The net changes of the result at each instant."""
    width = len(case.keys)
    bag: list[Row] = []
    shown: Counter[Hashable] = Counter()
    result = {}
    for instant in sorted({0} | {ts for ts, _, _ in case.changes}):
        now = [(weight, row) for ts, weight, row in case.changes if ts == instant]
        for weight, row in now:
            bag += [row] * weight
        for weight, row in now:
            for _ in range(-weight):
                bag.pop(next(i for i, other in enumerate(bag) if identity(other) == identity(row)))
        groups: dict[Hashable, list[Row]] = {} if width else {(): []}
        for row in bag:
            groups.setdefault(identity(row[:width]), []).append(row)
        fresh = Counter(identity(output_row(case, key, rows)) for key, rows in groups.items())
        change = Counter(fresh)
        change.subtract(shown)
        result[instant] = Counter({row: count for row, count in change.items() if count})
        shown = fresh
    return {instant: change for instant, change in result.items() if change}


def output_row(case: Case, key: Hashable, rows: list[Row]) -> Row:
    assert isinstance(key, tuple)
    columns = iter(range(len(case.keys), len(case.input)))
    results = []
    for spec in case.specs:
        arguments = [1] * len(rows)
        if spec.argument is not None:
            column = next(columns)
            arguments = [row[column] for row in rows]
        results.append(aggregate(spec.function, arguments, spec.distinct, spec.result))
    return (*key, *results)


def decoded(case: Case, deltas: Deltas, dictionary: Dictionary) -> dict[int, Counter[Hashable]]:
    width = len(case.output)
    columns = [
        plain(decode_column(deltas.rows[:, c], is_null(deltas.rows, c, width), type_, dictionary), type_)
        for c, type_ in enumerate(case.output)
    ]
    result: dict[int, Counter[Hashable]] = {}
    for ts, weight, *row in zip(deltas.ts.tolist(), deltas.weight.tolist(), *columns, strict=True):
        change = result.setdefault(ts, Counter())
        assert identity(tuple(row)) not in change, "a row that comes and goes at one instant does not show"
        change[identity(tuple(row))] = weight
    return result


def operator(case: Case, memory: Memory, dictionary: Dictionary, grows: bool = False) -> AggregateOperator:
    return AggregateOperator(memory, "a", case.keys, case.specs, dictionary, grows)


def run(
    case: Case, cuts: Sequence[int] = (), restore_at: int | None = None, grows: bool = False, block: int | None = None
) -> dict[int, Counter[Hashable]]:
    """The result of all steps; before one of them the operator may be made again from persisted pages.

    With `block` each step comes in blocks of so many deltas. After each step the dictionary forgets what the operator
    does not hold.
    """
    dictionary, memory = Dictionary(), Memory()
    machine = operator(case, memory, dictionary, grows)
    pages: dict[str, bytes] = {}
    result: dict[int, Counter[Hashable]] = {}
    start = 0
    for number, until in enumerate((*sorted(cuts), 10**6)):
        pages |= memory.changes()
        if number == restore_at:
            memory = Memory()
            memory.restore(pages)
            machine = operator(case, memory, dictionary, grows)
        now = tuple(change for change in case.changes if start <= change[0] < until)
        deltas = replace(case, changes=now).deltas(dictionary)
        size = block or max(1, len(deltas))
        blocks = [deltas.take(slice(at, at + size)) for at in range(0, max(1, len(deltas)), size)]
        part = decoded(case, together(machine.blocks(blocks, until)), dictionary)
        assert all(ts < until for ts in part)
        assert not part.keys() & result.keys()
        result |= part
        start = until
        marks = dictionary.marks()
        machine.mark(marks)
        dictionary.sweep(marks)
    return result


@given(cases())
def test_results_are_those_of_the_reference(case: Case) -> None:
    assert run(case) == expected(case)


@given(cases(), st.lists(st.integers(0, 30), max_size=5), st.integers(1, 3))
def test_instants_may_be_spread_over_blocks(case: Case, cuts: list[int], block: int) -> None:
    assert run(case, cuts, block=block) == run(case)


@given(cases(), st.lists(st.integers(0, 30), max_size=5), st.integers(0, 5))
def test_cuts_and_restores_do_not_show(case: Case, cuts: list[int], restore_at: int) -> None:
    assert run(case, cuts, restore_at) == run(case)


@given(cases(), st.lists(st.integers(0, 30), max_size=5), st.integers(0, 5))
def test_of_values_that_never_go_the_least_and_greatest_are_enough(
    case: Case, cuts: list[int], restore_at: int
) -> None:
    growing = replace(case, changes=tuple(change for change in case.changes if change[1] > 0))
    assert run(growing, cuts, restore_at, grows=True) == expected(growing)


SAMPLES: dict[Type, list[Value]] = {
    BOOLEAN: [True, False, True, None],
    INT: [2**31 - 1, 2**31 - 1, -(2**31), None],
    BIGINT: [2**63 - 1, 2**63 - 1, -(2**63), 1, None, -1],
    DOUBLE: [math.nan, math.inf, 0.0, 1e308, 1e308, 5e-324, -1e308, 0.1, 0.2, -math.inf, None, 0.1],
    STRING: ["b", "a", "ä", "", "b", None, "B"],
    BINARY: [b"b", b"", b"\xff", None, b"b"],
    TIMESTAMP: [5, -(2**63), 2**63 - 1, None],
    DATE: [3, -7, None, 19_000],
} | {
    type_: [None if n is None else scaled(n, type_) for n in (ten - 1, 1, None, ten - 1, 1 - ten, -2, 1)]
    for type_ in TYPES
    if type_.precision is not None and (ten := 10**type_.precision)
}


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.function.value}-{s.argument}-{'distinct' * s.distinct}")
def test_each_aggregate_of_values_that_come_and_go(spec: AggregationSpec) -> None:
    """Values come one by one, and go in the same order."""
    assert spec.argument is not None
    coming = [(ts, 1 + ts % 2, (ts % 2, value)) for ts, value in enumerate(SAMPLES[spec.argument])]
    going = [(ts + 20, -weight, row) for ts, weight, row in coming]
    case = Case((INT,), (spec, COUNT_ROWS), tuple(coming + going))
    assert run(case, range(0, 40, 7), 3) == expected(case)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_an_extreme_of_each_type_takes_no_row_of_its_own(type_: Type) -> None:
    specs = (AggregationSpec(AggregateFunction.MIN, type_), AggregationSpec(AggregateFunction.MAX, type_))
    coming = tuple((ts, 1, (ts % 2, value, value)) for ts, value in enumerate(SAMPLES[type_]))
    case = Case((INT,), specs, coming)
    assert run(case, range(0, 20, 3), 3, grows=True) == expected(case)
    machine = operator(case, Memory(), dictionary := Dictionary(), grows=True)
    machine.step(case.deltas(dictionary), 100)
    assert machine.state_rows() == 2


def test_without_keys_there_is_a_row_from_the_first_instant_on() -> None:
    specs = (COUNT_ROWS, AggregationSpec(AggregateFunction.SUM, decimal(38, 10)))
    case = Case((), specs, ())
    machine = operator(case, Memory(), dictionary := Dictionary())
    assert len(machine.step(case.deltas(dictionary), 0)) == 0
    assert decoded(case, machine.step(case.deltas(dictionary), 1), dictionary) == {0: Counter({(0, None): 1})}
    assert len(machine.step(case.deltas(dictionary), 5)) == 0


def test_more_than_63_columns() -> None:
    specs = (COUNT_ROWS,) + (AggregationSpec(AggregateFunction.MAX, INT),) * 70
    keys = (INT,) * 70
    one, other = (None,) * 70 + (1,) * 70, (None,) * 69 + (1,) + (None,) * 70
    case = Case(keys, specs, ((1, 1, one), (1, 2, other), (2, -1, one)))
    assert run(case) == expected(case)


def moving(rounds: range) -> Case:
    """A window over keys and values that never come again."""
    specs = (
        AggregationSpec(AggregateFunction.MIN, BIGINT),
        AggregationSpec(AggregateFunction.MAX, DOUBLE),
        AggregationSpec(AggregateFunction.COUNT, BIGINT, distinct=True),
        AggregationSpec(AggregateFunction.SUM, DOUBLE),
    )
    changes = []
    for ts in rounds:
        for number in range(40):
            row = (ts, number, number / 3, number % 7, 10.0 ** (number - 20))
            changes += [(ts, 1, row), (ts + 2, -1, row)]
    return Case((BIGINT,), specs, tuple(sorted(changes, key=lambda change: change[0])))


def test_what_is_gone_makes_room() -> None:
    memory, dictionary = Memory(), Dictionary()
    machine = operator(moving(range(0)), memory, dictionary)
    deltas = moving(range(300)).deltas(dictionary)
    sizes = set()
    for until in range(1, 310):
        machine.step(deltas.take(deltas.ts == until - 1), until)
        if 5 < until < 300:
            sizes.add((memory.nbytes(), machine.state_rows()))
    assert len(sizes) == 1
    assert machine.state_rows() == 0


def test_an_operator_is_picked_up_from_mapped_files(tmp_path: Path) -> None:
    case = moving(range(20))
    dictionary = Dictionary()
    deltas = case.deltas(dictionary)
    result: dict[int, Counter[Hashable]] = {}
    for until in range(1, 30):
        machine = operator(case, Memory(tmp_path), dictionary)
        result |= decoded(case, machine.step(deltas.take(deltas.ts == until - 1), until), dictionary)
    assert result == run(case)


def test_large_weights() -> None:
    specs = (AggregationSpec(AggregateFunction.SUM, BIGINT), AggregationSpec(AggregateFunction.AVG, BIGINT))
    case = Case((), (*specs, COUNT_ROWS), ((0, 2**61, (3, 3)), (1, 2**61, (1, 1)), (2, 1 - 2**61, (3, 3))))
    assert run(case) == {
        0: Counter({(3 * 2**61, 3.0, 2**61): 1}),
        1: Counter({(3 * 2**61, 3.0, 2**61): -1, (None, 2.0, 2**62): 1}),
        2: Counter({(None, 2.0, 2**62): -1, (2**61 + 3, 1.0, 2**61 + 1): 1}),
    }


def test_kernels_run_uncompiled() -> None:
    """As plain Python they do the same, for coverage and debuggers."""
    tests = ["tests/kernels", "tests/operators/test_aggregate.py"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *tests,
        "-k",
        "not uncompiled and not makes_room",
    ]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "default"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

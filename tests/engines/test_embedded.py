"""The embedded engine says what the reference says: whatever the cells, the cuts into batches, and the restarts."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.machine import Machine
from penstock.synopsis.memory import Memory
from tests.engines.comparing import Log, batches, bound, embedded, expected, logged, table
from tests.generators import Case, cases


@given(cases(), st.integers(0, 2**32))
def test_any_cut_gives_the_reference(case: Case, seed: int) -> None:
    query, catalog = bound(case)
    want = expected(case, query, catalog)
    for cuts in (0, 1, Random(seed)):
        assert embedded(case, query, catalog, 1, cuts) == want


@given(cases(), st.sampled_from([2, 5]), st.integers(0, 2**32))
def test_any_number_of_cells_gives_the_reference(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    assert embedded(case, query, catalog, cells, Random(seed)) == expected(case, query, catalog)


@given(cases(), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_a_machine_goes_on_from_its_pages(case: Case, cells: int, seed: int) -> None:
    query, catalog = bound(case)
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon)
    pages: dict[tuple[int, int], dict[str, bytes]] = {}
    log: Log = Log()
    for name, rows in batches(case, engine, catalog, Random(seed)):
        engine.push(name, rows)
        log += logged(engine.advance(), query)
        restart(engine, pages)
    assert log + logged(engine.finish(), query) == expected(case, query, catalog)


def restart(engine: EmbeddedEngine, pages: dict[tuple[int, int], dict[str, bytes]]) -> None:
    """Puts in place of each machine one that was made from what the old one had persisted."""
    for number, machines in enumerate(engine._machines):
        for cell, machine in enumerate(machines):
            saved = pages.setdefault((number, cell), {})
            saved.update(machine._memory.changes())
            memory = Memory()
            memory.restore(saved)
            folder = engine.spill_folder(number, cell)
            machines[cell] = Machine(engine.plan, machine.fragment, memory, engine._dictionary, spill=folder)

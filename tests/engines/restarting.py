"""Engines whose machines are made anew after each batch, from what the old ones had persisted."""

from __future__ import annotations

from random import Random

from penstock.algebra.relations import Query
from penstock.catalog import Catalog
from penstock.engines.embedded import EmbeddedEngine
from penstock.operators.machine import Machine
from penstock.plan.forgetting import EAGER, Forgetting
from penstock.synopsis.memory import Memory
from tests.engines.comparing import Log, batches, logged, table
from tests.generators import Case

#: By fragment and cell, what was persisted.
Pages = dict[tuple[int, int], dict[str, bytes]]


def restarted(
    case: Case, query: Query, catalog: Catalog, cells: int, cuts: Random | int, forgetting: Forgetting = EAGER
) -> Log:
    """What a run gives that is restarted after each batch."""
    tables = {t.name: table(t, case.data.get(t.name, ())) for t in catalog.tables}
    engine = EmbeddedEngine(query, catalog, tables, cells, case.horizon, forgetting=forgetting)
    pages: Pages = {}
    log: Log = Log()
    for name, rows in batches(case, engine, catalog, cuts):
        engine.push(name, rows)
        log += logged(engine.advance(), query)
        restart(engine, pages)
    return log + logged(engine.finish(), query)


def restart(engine: EmbeddedEngine, pages: Pages) -> None:
    """Puts in place of each machine one that was made from what the old one had persisted."""
    for number, machines in enumerate(engine._machines):
        for cell, machine in enumerate(machines):
            saved = pages.setdefault((number, cell), {})
            saved.update(machine._memory.changes())
            memory = Memory()
            memory.restore(saved)
            folder = engine.spill_folder(number, cell)
            tuning = None if engine.tuners is None else engine.tuners.within(f"{number}.{cell}")
            machines[cell] = Machine(
                engine.plan, machine.fragment, memory, engine._dictionary, spill=folder, tuning=tuning
            )

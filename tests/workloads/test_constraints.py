"""The k of generated data is what was asked for: by the definitions, with nested loops (`tests/profiling`)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from penstock.catalog import Clustered, Constraint, Ordered, Reference, StreamDef
from penstock.sql import bind_text
from penstock.workloads import constraints as data
from penstock.workloads.adherence import varying
from penstock.workloads.constraints import FORK, MEETING, PAIR, PAIR_OF_TWO, Graph, StreamTables
from tests.profiling.definitions import Row, required

Generate = Callable[[int, int, int], StreamTables]

#: A graph, its data for (rows, k, seed), and what then holds of it.
CASES: dict[str, tuple[Graph, Generate, Callable[[str], dict[str, list[str]]]]] = {
    "RIDS": (FORK, data.rids_data, lambda within: data.with_rids(FORK, within)),
    "CA": (MEETING, data.ca_data, lambda within: data.with_ca(MEETING, within)),
    "OAP": (MEETING, data.oap_data, lambda within: data.with_oap(MEETING, within)),
    "OAC": (PAIR, data.oac_data, lambda within: data.with_oac(PAIR, within)),
    "OAC beside CA": (FORK, data.ca_oac_data, lambda within: data.with_oac(FORK, within, "s3")),
    "RIDS beside CA": (
        PAIR_OF_TWO,
        lambda rows, k, seed: data.ca_rids_data(rows, k, 12, seed),
        lambda within: data.with_rids(PAIR_OF_TWO, within),
    ),
    "CA beside RIDS": (
        PAIR_OF_TWO,
        lambda rows, k, seed: data.ca_rids_data(rows, 9, k, seed),
        lambda within: data.with_ca(PAIR_OF_TWO, within),
    ),
}


def rows_of(table: pa.Table) -> list[Row]:
    return [(row["ts"], row) for row in table.to_pylist()]


def needed(graph: Graph, tables: StreamTables, declared: dict[str, list[str]]) -> list[int]:
    """The least k of each constraint but keys."""
    streams = {name: rows_of(table) for name, table in tables.items()}
    found = []
    for definition in bind_text(graph.ddl(declared)).checked().catalog.streams:
        for constraint in k_constraints(definition):
            ks = [k[0] for k in required(constraint, definition.name, streams) if k is not None]
            found.append(max(ks, default=0))
    return found


def k_constraints(definition: StreamDef) -> list[Constraint]:
    return [one for one in definition.constraints if isinstance(one, Clustered | Ordered | Reference)]


@pytest.mark.parametrize("k", [0, 1, 4, 25])
@pytest.mark.parametrize("name", CASES)
def test_k_is_what_was_asked_for(name: str, k: int) -> None:
    graph, generate, declared = CASES[name]
    for seed in range(3):
        found = needed(graph, generate(600, k, seed), declared(f"WITHIN {k} ROWS"))
        assert found
        assert set(found) == {k}, seed


@pytest.mark.parametrize("name", ["CA", "OAP"])
def test_children_come_before_their_parents(name: str) -> None:
    graph, generate, _ = CASES[name]
    assert needed(graph, generate(600, 25, 0), data.with_rids(graph, "WITHIN 0 ROWS")) == [0, 0]


@pytest.mark.parametrize("generate", [data.rids_data, data.ca_data, data.oap_data, data.oac_data])
def test_each_row_has_an_instant_of_its_own(generate: Callable[[int, int], StreamTables]) -> None:
    times = [ts for table in generate(700, 5).values() for ts in table["ts"].to_pylist()]
    assert len(set(times)) == len(times)


@pytest.mark.parametrize("name", ["RIDS", "CA", "OAP", "OAC"])
def test_a_k_that_varies_is_not_passed(name: str) -> None:
    """What a row requires is at most the k of its time, or of when its value began."""
    graph, _, declared = CASES[name]
    vary: dict[str, Callable[[int, tuple[int, int]], StreamTables]] = {
        "RIDS": data.rids_data,
        "CA": data.ca_data,
        "OAP": data.oap_data,
        "OAC": data.oac_data,
    }
    tables = vary[name](1200, (3, 30))
    streams = {name: rows_of(table) for name, table in tables.items()}
    most = 0
    for definition in bind_text(graph.ddl(declared("WITHIN 30 ROWS"))).checked().catalog.streams:
        for constraint in k_constraints(definition):
            ks = required(constraint, definition.name, streams)
            allowed = varying(len(ks), 3, 30)
            for place, k in enumerate(ks):
                # The row that began it came up to 35 rows before.
                assert k is None or k[0] <= allowed[max(0, place - 40) : place + 40].max()
                most = max(most, 0 if k is None else k[0])
    assert most == 30


def test_multiplicities_and_selectivities_are_those_of_the_thesis() -> None:
    tables = data.rids_data(70_000, 100)
    assert tables["s1"].num_rows == 5 * tables["s2"].num_rows
    passing = sum(v < data.SELECTIVITY for v in tables["s2"]["v"].to_pylist()) / tables["s2"].num_rows
    assert 0.48 < passing < 0.52
    known = set(tables["s2"]["a"].to_pylist())
    assert sum(a in known for a in tables["s1"]["a"].to_pylist()) > 0.98 * tables["s1"].num_rows


def test_a_quarter_finds_no_child_beside_ca() -> None:
    tables = data.ca_oac_data(70_000, 100)
    known = set(tables["s3"]["b"].to_pylist())
    missing = sum(b not in known for b in tables["s1"]["b"].to_pylist()) / tables["s1"].num_rows
    assert 0.24 < missing < 0.27

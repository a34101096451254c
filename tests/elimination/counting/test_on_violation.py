"""ON VIOLATION of assertions: count, stop, or do not watch."""

from __future__ import annotations

import pytest

from penstock.elimination.running import running, with_plan
from penstock.errors import PenstockError, SqlErrors
from penstock.sql import bind_text
from tests.elimination.counting.querying import declared
from tests.elimination.counting.simulating import Flows
from tests.engines.comparing import bound, embedded
from tests.generators import Case

FLOWS = Flows(100, 0, (5,), (False,), ((), ()))
QUERY = "SELECT s0.ts / 100 AS tb, COUNT(*) AS n FROM s0, s1 WHERE s0.id = s1.id GROUP BY s0.ts / 100 APPROXIMATE"
DATA = {"s0": [(10, 1, 0, 0), (11, 2, 0, 0)], "s1": [(12, 1, 0, 0), (13, 3, 0, 0)]}


def case(on_violation: str) -> Case:
    ddl = declared(FLOWS).replace("<= 5;", f"<= 5 ON VIOLATION {on_violation};")
    return Case(ddl, QUERY, DATA, None, "")


def test_error_stops_the_run_and_names_the_assertion() -> None:
    query, catalog = bound(case("ERROR"))
    with pytest.raises(PenstockError, match="a row at 13 breaks follows1: each s1 follows a s0 within 5"):
        embedded(case("ERROR"), with_plan(query, None, one_in=1), catalog, 1, 0)


def test_what_is_ignored_is_not_watched() -> None:
    query, catalog = bound(case("IGNORE"))
    log = embedded(case("IGNORE"), with_plan(query, None, one_in=1), catalog, 1, 0)
    assert all(change[-1] == ("boolean", True) for change in log)
    warned, catalog = bound(case("WARN"))
    log = embedded(case("WARN"), with_plan(warned, None, one_in=1), catalog, 1, 0)
    assert any(change[-1] == ("boolean", False) for change in log)


def test_an_assertion_that_is_ignored_altogether_is_not_read_for_watching() -> None:
    ddl = declared(FLOWS).replace(";", " ON VIOLATION IGNORE;").replace("BY ts ON VIOLATION IGNORE;", "BY ts;")
    query, catalog = bound(Case(ddl, QUERY, DATA, None, ""))
    counts = running(query, catalog).counts
    assert counts is not None
    assert counts.monitors == ()


def test_an_assertion_has_no_k_to_widen() -> None:
    with pytest.raises(SqlErrors, match="an assertion has no k that could grow"):
        bind_text(case("WIDEN").script).checked()

"""Gives each test of the storm a ledger, and prints all ledgers as one table at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator

import pytest

from tests.engines.spark.storm.ledger import NOTE, PROPERTY, Entry, Ledger, table


@pytest.fixture
def ledger(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Ledger:
    return Ledger(record_property, request.node.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test of the storm fails if its ledger is wrong, after all that it tries has been tried."""
    done = yield
    ledger = pyfuncitem.funcargs.get("ledger")
    if isinstance(ledger, Ledger):
        ledger.check()
    return done


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    properties = [
        entered
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for entered in report.user_properties
    ]
    entries = [Entry(**json.loads(str(value))) for name, value in properties if name == PROPERTY]
    notes = [str(value) for name, value in properties if name == NOTE]
    if entries or notes:
        terminalreporter.section("the storm")
        for line in [*table(entries), *notes]:
            terminalreporter.write_line(line)

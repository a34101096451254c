"""The Prometheus endpoint keeps to the exposition format, and serves nothing else."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from penstock import PenstockError
from penstock.closing.bounds import entries
from penstock.closing.proof import Proof
from penstock.engines.metrics import OperatorMetrics
from penstock.monitor.bounds import HeldState, LiveBound
from penstock.monitor.live import Live
from penstock.monitor.prometheus import FAMILIES, exposition
from penstock.monitor.prometheus_server import PrometheusServer
from penstock.plan.constraint_report import ConstraintReport
from penstock.register.states import State, StatefulOperator, Theory

SAMPLE = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*\{([a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)*\} -?[0-9.e+-]+')

LINES = [
    OperatorMetrics(1, 5_000_000, "q", "source", stream='s "1"', rows_in=5, late_rows=1, newest=7_500_000),
    OperatorMetrics(
        1,
        5_000_000,
        "q",
        "join2",
        fragment=0,
        cell=1,
        rows_in=4,
        rows_out=2,
        nanoseconds=1_500_000_000,
        state_rows=9,
        state_bytes=72,
        constraints=(ConstraintReport("s: CLUSTERED BY (a) WITHIN 5 ROWS", None, True, 3),),
        filter_order=("a > 1\\2", "b\n< 2"),
        evaluations=(10, 4),
    ),
]


def test_every_line_is_of_the_format_and_every_family_has_help_and_a_type() -> None:
    state = State(StatefulOperator.JOIN, None, entries(20, "row"), Theory.WINDOWS, Proof("20 rows"), "j")
    bounds = {"q": {(0, "join2"): LiveBound((HeldState(state, copies=2),))}}
    text = exposition(LINES, bounds, {"run": "r"})
    assert text.endswith("\n")
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            names.append(line.split()[2])
            assert line.split()[3] == ("counter" if names[-1].endswith("_total") else "gauge")
        elif not line.startswith("# HELP"):
            assert SAMPLE.fullmatch(line), line
            assert line.startswith(names[-1] + "{")
    assert len(names) == len(set(names))
    assert 'penstock_source_rows_total{run="r",query="q",stream="s \\"1\\""} 5' in text
    assert 'penstock_operator_seconds_total{run="r",query="q",operator="join2",fragment="0",cell="1"} 1.5' in text
    assert 'penstock_state_bound_rows{run="r",query="q",operator="join2",fragment="0",cell="1"} 20' in text
    assert 'penstock_source_lag_seconds{run="r",query="q",stream="s \\"1\\""} 2.5' in text


def test_names_are_by_convention() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"penstock_[a-z_]+", family.name)
        assert (family.type == "counter") == family.name.endswith("_total")


def test_counters_add_up_over_steps() -> None:
    live = Live()
    live.take(LINES)
    live.take(LINES)
    text = exposition(live.totals())
    assert 'penstock_source_rows_total{query="q",stream="s \\"1\\""} 10' in text
    assert live.picture()[0]["rows_in"] == 10
    assert live.picture()[0]["lag"] == 2.5


def test_the_server_gives_metrics_and_nothing_else() -> None:
    server = PrometheusServer(0, lambda: "penstock_steps_total 1\n")
    try:
        with urllib.request.urlopen(server.address) as answer:
            assert answer.read() == b"penstock_steps_total 1\n"
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        for address, headers, code in (
            (server.address.replace("/metrics", "/"), {}, 404),
            (server.address.replace("/metrics", "/../../etc/passwd"), {}, 404),
            (server.address, {"Host": "evil.example:80"}, 403),
        ):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(urllib.request.Request(address, headers=headers))
            assert error.value.code == code
            error.value.close()
        port = int(server.address.rpartition(":")[2].partition("/")[0])
        with pytest.raises(PenstockError, match="choose another port"):
            PrometheusServer(port, str)
    finally:
        server.close()

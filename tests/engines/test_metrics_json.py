"""Metrics as JSON are what `asdict` gives of them, without its copies."""

from __future__ import annotations

from dataclasses import asdict

from penstock.engines.metrics import OperatorMetrics
from penstock.plan.constraint_report import ConstraintReport


def test_metrics_as_json_have_all_fields_and_nested_ones_as_dictionaries() -> None:
    plain = OperatorMetrics(1, 2, "q", "o")
    report = ConstraintReport("key", 3, used=True, violations=2)
    nested = OperatorMetrics(1, 2, "q", "o", constraints=(report,), at=1.5, probes=((1, 2), (3,)))
    assert plain.as_json() == asdict(plain)
    assert nested.as_json() == asdict(nested)
    assert nested.as_json()["constraints"][0]["violations"] == 2

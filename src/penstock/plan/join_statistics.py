"""What is known of a join's data before it runs: rates, rows that are kept, and numbers of values (thesis 5.5.1).

What is given goes before what is declared, and that before a default. With nothing known all inputs are alike but for
their windows, and an equality finds one partner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.algebra.expressions import Column, Comparator, Compare, Expr
from penstock.algebra.relations import Range, Relation, Rows, Select, Window
from penstock.catalog import Catalog, StreamDef
from penstock.closing.contents import content, declared_rate, is_static, unique_keys
from penstock.types import SECOND

#: Rows per second of a stream, if neither RATE nor anything else says it.
RATE = 100.0
#: So many seconds a row is kept that no window lets go.
KEPT_SECONDS = 100.0
#: Rows of a table.
TABLE_ROWS = 1_000.0
#: Which part of rows, or of combinations, passes a predicate: an equality with a constant, or any other (System R).
OF_EQUALITY, OF_OTHERS = 1 / 10, 1 / 3


@dataclass(frozen=True, slots=True)
class JoinStatistics:
    """What is given, by the names of inputs, and of columns as `input.column`. Rows are those that pass the filters."""

    #: Rows per second.
    rates: Mapping[str, float] = field(default_factory=dict)
    #: Rows that are kept at a time.
    rows: Mapping[str, float] = field(default_factory=dict)
    #: Different values of a column among these.
    values: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def read(text: str) -> JoinStatistics:
        """
        >>> JoinStatistics.read('{"rates": {"bid": 500}, "values": {"bid.auction": 40}}').rates
        {'bid': 500.0}
        >>> JoinStatistics.read('{"rate": 5}')
        Traceback (most recent call last):
        ValueError: rate is none of rates, rows and values
        """
        found: dict[str, dict[str, float]] = {}
        given = json.loads(text)
        for kind, numbers in given.items() if isinstance(given, dict) else [(text.strip(), None)]:
            if kind not in ("rates", "rows", "values"):
                raise ValueError(f"{kind} is none of rates, rows and values")
            found[kind] = _numbers(kind, numbers)
        return JoinStatistics(**found)


NOTHING_GIVEN = JoinStatistics()


def _numbers(kind: str, given: Any) -> dict[str, float]:
    if not isinstance(given, dict):
        raise ValueError(f"{kind} are numbers by name")
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or number <= 0:
            raise ValueError(f"{kind} of {name} is no number above 0")
    return {name.lower(): float(number) for name, number in given.items()}


@dataclass(frozen=True, slots=True)
class InputStatistics:
    """What is known of one input: arrivals and changes per second, rows at a time, and different values by column."""

    arrivals: float
    #: Arrivals, and rows that leave their windows.
    changes: float
    rows: float
    values: Mapping[Column, float]

    def of(self, column: Column) -> float:
        """Different values of a column: as many as rows, if nothing is known."""
        return min(self.values.get(column, self.rows), self.rows)


def input_statistics(
    operand: Relation, name: str, catalog: Catalog, given: JoinStatistics = NOTHING_GIVEN
) -> InputStatistics:
    """What is known of an input of a join in normal form."""
    passing = _passing(operand)
    rate = given.rates.get(name.lower(), _declared_rate(operand, catalog) * passing)
    rows = given.rows.get(name.lower())
    if rows is None:
        rows = _rows(operand, catalog, rate, passing)
    values = {c: v for c in operand.schema if (v := given.values.get(f"{name}.{c.name}".lower())) is not None}
    values |= {column: rows for key in unique_keys(operand, catalog) if len(key) == 1 for column in key}
    arrivals = 0.0 if is_static(operand) else rate
    return InputStatistics(arrivals, arrivals * (2 if _leaves(operand) else 1), max(rows, 1.0), values)


def selectivity(predicate: Expr) -> float:
    """Which part passes a predicate that is not an equality of two columns."""
    return OF_EQUALITY if isinstance(predicate, Compare) and predicate.op is Comparator.EQ else OF_OTHERS


def _passing(operand: Relation) -> float:
    part = 1.0
    if isinstance(operand, Select):
        for predicate in operand.predicates:
            part *= selectivity(predicate)
    return part


def _window(operand: Relation) -> Window | None:
    below = operand.input if isinstance(operand, Select) else operand
    return below if isinstance(below, Window) else None


def _leaves(operand: Relation) -> bool:
    window = _window(operand)
    return window is not None and isinstance(window.spec, Range | Rows)


def _declared_rate(operand: Relation, catalog: Catalog) -> float:
    window = _window(operand)
    definition = catalog.get(window.stream.name) if window is not None else None
    rate = declared_rate(definition) if isinstance(definition, StreamDef) else None
    return RATE if rate is None or rate.most is None else rate.most * SECOND / rate.per


def _rows(operand: Relation, catalog: Catalog, rate: float, passing: float) -> float:
    window = _window(operand)
    if window is not None and isinstance(window.spec, Range):
        return rate * (window.spec.width + (window.spec.slide or 0)) / SECOND
    if window is not None and isinstance(window.spec, Rows):
        return window.spec.count * passing
    bound = content(operand, catalog)
    if bound.size is not None:
        return float(min(bound.size, 10**12)) * passing
    return TABLE_ROWS * passing if is_static(operand) else rate * KEPT_SECONDS

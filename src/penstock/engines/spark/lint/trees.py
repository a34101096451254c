"""Spark's analysed plan as a tree of plain values: class, fields and children of each node.

Spark writes a tree as a list of its nodes, parents first. Delays of watermarks are not written; they are read from the
plan itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.types import DAY, HOUR, MILLISECOND, MINUTE, SECOND


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of a plan or of an expression; `kind` is the last part of its class."""

    kind: str
    fields: Mapping[str, Any]
    children: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        yield self
        for child in self.children:
            yield from child.walk()

    def expressions(self, field: str) -> tuple[PlanNode, ...]:
        """Returns the expressions of a field: one, or a list of them."""
        value = self.fields.get(field) or []
        if value and isinstance(value[0], dict):
            return (tree(value),)
        return tuple(tree(each) for each in value)

    @property
    def identity(self) -> int:
        """Returns the number by which Spark identifies an attribute."""
        return int(self.fields["exprId"]["id"])


def analysed_plan(df: Any) -> PlanNode:
    """Returns the analysed plan of a DataFrame; each watermark has its delay in microseconds."""
    plan = df._jdf.queryExecution().analyzed()
    delays = iter([_microseconds(node.delay().toString()) for node in _nodes(plan) if _name(node) == _WATERMARK])
    return _with_delays(tree(json.loads(plan.toJSON())), delays)


_WATERMARK = "EventTimeWatermark"


def tree(nodes: list[dict[str, Any]]) -> PlanNode:
    """Returns the tree that a list of nodes stands for.

    >>> tree([{"class": "a.Not", "num-children": 1}, {"class": "a.Literal", "num-children": 0, "value": "1"}]).kind
    'Not'
    """
    found, rest = _read(nodes, 0)
    assert rest == len(nodes), "more nodes than a tree has"
    return found


def _read(nodes: list[dict[str, Any]], place: int) -> tuple[PlanNode, int]:
    node = nodes[place]
    place += 1
    children = []
    for _ in range(node["num-children"]):
        child, place = _read(nodes, place)
        children.append(child)
    return PlanNode(node["class"].rpartition(".")[2], node, tuple(children)), place


def _nodes(plan: Any) -> Iterator[Any]:
    """Yields the nodes of a plan in the JVM, parents first."""
    yield plan
    children = plan.children()
    for number in range(children.size()):
        yield from _nodes(children.apply(number))


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _with_delays(node: PlanNode, delays: Iterator[int]) -> PlanNode:
    fields = {**node.fields, "delay": next(delays)} if node.kind == _WATERMARK else node.fields
    return PlanNode(node.kind, fields, tuple(_with_delays(child, delays) for child in node.children))


_UNITS = {"day": DAY, "hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": MILLISECOND, "microsecond": 1}
_LONG_UNITS = {"month": 31 * DAY, "year": 366 * DAY, "week": 7 * DAY}


def _microseconds(interval: str) -> int:
    """Parses Spark's text of an interval.

    >>> _microseconds("1 hours 30 minutes"), _microseconds("0.5 seconds")
    (5400000000, 500000)
    """
    units = _UNITS | _LONG_UNITS
    return sum(round(float(n) * units[unit]) for n, unit in re.findall(r"(-?[\d.]+) (\w+?)s?\b", interval))

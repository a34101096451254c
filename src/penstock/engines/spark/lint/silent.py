"""What Spark does wrongly in silence, each seen on Spark: rows that a batch query gives, and the stream loses.

| warning | what Spark does |
| --- | --- |
| a range over a computed column | it evicts by the time of the watermark, not by the column of the range |
| a union with a watermark on its first side | rows of the other sides are late by the first one's time |
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engines.spark.lint.event_times import event_times
from penstock.engines.spark.lint.explained import Explained
from penstock.engines.spark.lint.expressions import conjuncts_of
from penstock.engines.spark.lint.names import Names
from penstock.engines.spark.lint.reading import Plans
from penstock.engines.spark.lint.trees import PlanNode, outputs


def warnings(plans: Plans) -> tuple[str, ...]:
    """Returns what a query may lose without a word of Spark's."""
    pairs = plans.paired()
    if pairs is None or plans.optimised is None or plans.analysed is None:
        return ()
    names = Names(plans.analysed, plans.optimised)
    unions = tuple(dict.fromkeys(_unions(plans.optimised)))
    joins = ((node, explained) for node, explained in pairs if node.kind == "Join")
    return (*unions, *dict.fromkeys(text for node, explained in joins for text in _join(node, explained, names)))


def _unions(plan: PlanNode) -> Iterator[str]:
    for node in plan.walk():
        if node.kind == "Union":
            first, *others = (event_times(child) for child in node.children)
            if first and not all(others):
                time = next(iter(first.values()))
                yield (
                    f"the watermark on {time} is that of the first side of the union alone: rows of the others that "
                    "are behind it are dropped as late. Set the watermark after the union, or on every side"
                )


def _join(node: PlanNode, explained: Explained, names: Names) -> Iterator[str]:
    for side, other, cleaned in zip(node.children, reversed(node.children), explained.cleaned, strict=True):
        if cleaned is not None and "value predicate" in cleaned:
            for condition in _ranges(node):
                yield from _computed_range(condition, side, other, names)


def _ranges(node: PlanNode) -> Iterator[PlanNode]:
    for condition in node.expressions("condition"):
        yield from (part for part in conjuncts_of(condition) if part.kind.startswith(("LessThan", "GreaterThan")))


def _computed_range(condition: PlanNode, side: PlanNode, other: PlanNode, names: Names) -> Iterator[str]:
    own, others = _by_number(side), event_times(other)
    read = {each.identity for each in condition.attributes}
    times = event_times(side)
    for number in sorted(read & own.keys() - times.keys()):
        if times and read & others.keys() and not _is_copy(number, side, times):
            time, column = next(iter(times.values())), own[number]
            yield (
                f"Spark removes rows of {names.stream(side, 'this side')} by {time}, not by {column}, which the range "
                f"is over: matches may be lost. Write the range over {time}"
            )


def _is_copy(number: int, side: PlanNode, times: dict[int, str]) -> bool:
    """Whether a column is an event time as a number of seconds."""
    for node in side.walk():
        for entry in outputs(node) if node.kind == "Project" else ():
            if entry.kind == "Alias" and entry.identity == number:
                computed = entry.children[0]
                while computed.kind == "Cast":
                    computed = computed.children[0]
                return computed.kind == "AttributeReference" and computed.identity in times
    return False


def _by_number(plan: PlanNode) -> dict[int, str]:
    return {each.identity: each.name for each in outputs(plan) if "exprId" in each.fields}

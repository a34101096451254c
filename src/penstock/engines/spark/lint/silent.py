"""What Spark does wrongly in silence, each seen on Spark: results that a batch query over the same rows has, and a stream loses.

| warning | what Spark does |
| --- | --- |
| a range over a computed column | it evicts by the time of the watermark, not by the column of the range |
| an interval that is written twice | it adds equal intervals of a condition only once |
"""

from __future__ import annotations

from collections import Counter
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
    joins = ((node, explained) for node, explained in pairs if node.kind == "Join")
    return tuple(dict.fromkeys(text for node, explained in joins for text in _join(node, explained, names)))


def _join(node: PlanNode, explained: Explained, names: Names) -> Iterator[str]:
    for side, other, cleaned in zip(node.children, reversed(node.children), explained.cleaned, strict=True):
        if cleaned is not None and "value predicate" in cleaned:
            for condition in _ranges(node):
                yield from _computed_range(condition, side, other, names)
                yield from _doubled_interval(condition)


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
                f"Spark removes rows of {names.stream(side, 'this side')} by {time}, not by {column}, which the range is over: "
                f"matches may be lost. Write the range over {time}"
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


def _doubled_interval(condition: PlanNode) -> Iterator[str]:
    signed = Counter(_intervals(condition.children[0], False)) + Counter(_intervals(condition.children[1], True))
    if any(number > 1 for number in signed.values()):
        yield "Spark adds equal intervals of a condition only once, and removes rows too early: write their sum as one interval"


def _intervals(node: PlanNode, negated: bool) -> Iterator[tuple[str, bool]]:
    """Yields the intervals that a sum adds, and whether each is subtracted once all stand on one side."""
    match node.kind:
        case "Literal" if "interval" in str(node.fields.get("dataType")):
            yield str(node.fields.get("value")), negated
        case "Subtract" | "TimeSub":
            yield from _intervals(node.children[0], negated)
            yield from _intervals(node.children[1], not negated)
        case "UnaryMinus":
            yield from _intervals(node.children[0], not negated)
        case _:
            for child in node.children:
                yield from _intervals(child, negated)


def _by_number(plan: PlanNode) -> dict[int, str]:
    return {each.identity: each.name for each in outputs(plan) if "exprId" in each.fields}

"""Which columns of a plan carry a watermark, for messages and warnings: Spark's explained plan decides what is removed.

A watermark is on an attribute, goes with it under other names, and from a time to the windows that are computed of it.
It does not survive any other computation. A watermark stands still, and Spark removes nothing in the whole query, if it
is set on a column with finitely many values, such as a constant or a column of a static table; or on a window, of which
Spark does not read the end.
"""

from __future__ import annotations

from penstock.engines.spark.lint.finite_values import finite_attributes
from penstock.engines.spark.lint.stateful import Standing
from penstock.engines.spark.lint.trees import PlanNode, outputs


def event_times(plan: PlanNode) -> dict[int, str]:
    """Returns the columns of a plan that have a watermark, by number."""
    marked = set(_marked(plan))
    return {each.identity: each.name for each in outputs(plan) if "exprId" in each.fields and each.identity in marked}


def standing(plan: PlanNode) -> Standing | None:
    """Returns the watermark of a plan that stands still, if it sets one."""
    for node in plan.walk():
        if node.kind == "EventTimeWatermark" and node.is_streaming:
            known = finite_attributes(node.children[0])
            for time in node.expressions("eventTime"):
                is_window = isinstance(time.fields.get("dataType"), dict)
                if is_window or str(time.identity) in known:
                    return Standing(time.name, is_window)
    return None


def _marked(plan: PlanNode) -> set[int]:
    found: set[int] = set()
    children = plan.children[:1] if plan.kind == "Union" else plan.children  # a union has the columns of its first side
    for child in children:
        found |= _marked(child)
    if plan.kind == "EventTimeWatermark":
        found |= {each.identity for each in plan.expressions("eventTime")}
    if plan.kind in ("Project", "Aggregate"):
        found |= {entry.identity for entry in outputs(plan) if entry.kind == "Alias" and _is_time(entry, found)}
    if plan.kind == "Expand":
        found |= {each.identity for each in plan.expressions("output") if each.name in ("window", "session_window")}
    return found


def _is_time(entry: PlanNode, marked: set[int]) -> bool:
    computed = entry.children[0]
    if computed.kind == "AttributeReference":
        return computed.identity in marked
    is_window = any(part.kind == "PreciseTimestampConversion" for part in computed.walk())
    return is_window and any(each.identity in marked for each in computed.attributes)

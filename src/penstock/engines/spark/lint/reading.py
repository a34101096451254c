"""Spark's plans as stateful operators: the optimised plan says what they compute, the explained one what Spark removes.

Both list the operators in one order, so that they are paired by their places. Where only the explained plan is there,
as with Spark Connect, names come from it and no column is known to take finitely many values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.algebra.expressions import Comparator
from penstock.algebra.predicates import ColumnDifference, classify
from penstock.closing.finite import Count, contradicts
from penstock.engines.spark.lint.event_times import event_times, standing
from penstock.engines.spark.lint.explained import Explained
from penstock.engines.spark.lint.expressions import conjuncts_of, predicates, result_type
from penstock.engines.spark.lint.finite_values import FiniteAttributes, finite_attributes, values
from penstock.engines.spark.lint.names import Names
from penstock.engines.spark.lint.stateful import (
    Deduplication,
    Grouping,
    Key,
    Limit,
    OwnState,
    Side,
    Standing,
    Stateful,
    StreamJoin,
    Times,
)
from penstock.engines.spark.lint.trees import PlanNode, object_name, outputs, tree
from penstock.types import TIMESTAMP

#: What each operator of an optimised plan is in an explained one.
_PHYSICAL = {
    "Join": ("StreamingSymmetricHashJoin",),
    "Aggregate": ("StateStoreSave", "SessionWindowStateStoreSave"),
    "Deduplicate": ("StreamingDeduplicate",),
    "DeduplicateWithinWatermark": ("StreamingDeduplicateWithinWatermark",),
    "GlobalLimit": ("StreamingGlobalLimit",),
    "FlatMapGroupsWithState": ("FlatMapGroupsWithState",),
    "FlatMapGroupsInPandasWithState": ("FlatMapGroupsInPandasWithState",),
    "TransformWithState": ("TransformWithState",),
    "TransformWithStateInPandas": ("TransformWithStateInPandas", "TransformWithStateInPySpark"),
    "TransformWithStateInPySpark": ("TransformWithStateInPySpark", "TransformWithStateInPandas"),
}
_OWN = {
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "TransformWithState": "transformWithState",
    "TransformWithStateInPandas": "transformWithStateInPandas",
    "TransformWithStateInPySpark": "transformWithState",
}
#: Aggregates that keep the values of a group; of the others each keeps one value, or a sketch.
_COLLECTING = {
    "CollectList": "collect_list",
    "CollectSet": "collect_set",
    "Percentile": "percentile",
    "PercentileCont": "percentile_cont",
    "PercentileDisc": "percentile_disc",
    "Median": "median",
    "Mode": "mode",
    "ListAgg": "listagg",
}
_SOME = Count(None)
_NAMED = re.compile(r"([^\s\[,(]+)#(\d+)L?(-T\d+ms)?(?=, |$)")


@dataclass(frozen=True, slots=True)
class Plans:
    """What Spark says of a query: its plan as written and as optimised, and the operators that it would run."""

    explained: tuple[Explained, ...]
    optimised: PlanNode | None = None
    analysed: PlanNode | None = None

    def paired(self) -> list[tuple[PlanNode, Explained]] | None:
        """Returns each operator of the optimised plan with the one that Spark would run; None where they differ."""
        if self.optimised is None:
            return None
        nodes = [node for node in self.optimised.walk() if _keeps_state(node)]
        if len(nodes) != len(self.explained):
            return None
        pairs = list(zip(nodes, self.explained, strict=True))
        return pairs if all(each.kind in _PHYSICAL[node.kind] for node, each in pairs) else None


def _keeps_state(node: PlanNode) -> bool:
    if node.kind not in _PHYSICAL:
        return False
    return all(child.is_streaming for child in (node.children if node.kind == "Join" else node.children[:1]))


def stateful(plans: Plans, finite: frozenset[str] = frozenset()) -> tuple[Stateful, ...]:
    """Returns the stateful operators of a query; `finite` names columns of which the user says that values are few."""
    pairs = plans.paired()
    if pairs is None or plans.optimised is None or plans.analysed is None:
        return tuple(_from_text(each, finite) for each in plans.explained)
    names = Names(plans.analysed, plans.optimised)
    # The optimised plan has a constant for the time of now, and the analysed one does not see through subqueries.
    still = standing(plans.optimised) and standing(plans.analysed)
    reader = _Reader(plans.optimised, names, finite, still)
    return tuple(reader.read(node, each) for node, each in pairs)


@dataclass(frozen=True, slots=True)
class _Reader:
    plan: PlanNode
    names: Names
    finite: frozenset[str]
    #: The watermark that stands still, if one does.
    standing: Standing | None

    def read(self, node: PlanNode, explained: Explained) -> Stateful:
        match node.kind:
            case "Join":
                return self._join(node, explained)
            case "Aggregate":
                return self._grouping(node, explained)
            case "Deduplicate" | "DeduplicateWithinWatermark":
                return self._deduplication(node, explained)
            case "GlobalLimit":
                return Limit()
        known = finite_attributes(node.children[0], self.finite)
        keys = node.expressions("groupingAttributes")
        return OwnState(_OWN[node.kind], self._keys(keys, set(), known))

    def _grouping(self, node: PlanNode, explained: Explained) -> Grouping:
        listed = node.expressions("groupingExpressions")
        known = finite_attributes(node.children[0], self.finite)
        keys = self._keys(listed, self._timed(listed, explained), known, _output_names(node))
        gathered = dict.fromkeys(self._collected(node, known))
        distinct = not any(part.kind == "AggregateExpression" for entry in outputs(node) for part in entry.walk())
        timeless = tuple(self._timeless(node.children[0], listed, keys, known))
        is_outer = bool(timeless) and all(_expand_of(node.children[0], key) is None for key in listed)
        return Grouping(keys, self._times(node), timeless, is_outer, tuple(gathered), distinct and bool(keys))

    def _deduplication(self, node: PlanNode, explained: Explained) -> Deduplication:
        listed = node.expressions("keys")
        known = finite_attributes(node.children[0], self.finite)
        keys = self._keys(listed, self._timed(listed, explained), known)
        timeless = tuple(self._timeless(node.children[0], listed, keys, known))
        return Deduplication(keys, self._times(node), timeless, node.kind == "DeduplicateWithinWatermark")

    def _timed(self, listed: tuple[PlanNode, ...], explained: Explained) -> set[int]:
        return set() if self.standing is not None else _timed(listed, explained)

    def _keys(
        self,
        listed: Iterable[PlanNode],
        timed: set[int],
        known: FiniteAttributes,
        output_names: Mapping[int, str] = MappingProxyType({}),
    ) -> tuple[Key, ...]:
        """Returns the keys, without the number by which Spark tells grouping sets apart."""
        found = []
        for place, key in enumerate(listed):
            name = self._key_name(key, output_names)
            if name != "spark_grouping_id":
                count = values(key, known, self.finite)
                declared = _SOME if name.lower() in self.finite else None
                found.append(Key(name, place in timed, declared if count is None else count))
        return tuple(found)

    def _key_name(self, key: PlanNode, output_names: Mapping[int, str]) -> str:
        if key.kind != "AttributeReference":
            return self.names.expression(key)
        shown = output_names.get(key.identity)
        return shown if shown is not None and key.name.startswith("_") else self.names.column(key)

    def _timeless(
        self, below: PlanNode, listed: tuple[PlanNode, ...], keys: tuple[Key, ...], known: FiniteAttributes
    ) -> Iterator[tuple[Key, ...]]:
        """Yields the keys of groups in which the event time is NULL, where the plan makes it NULL."""
        time = next((key for key, of in zip(listed, keys, strict=False) if of.has_watermark), None)
        if time is None or time.kind != "AttributeReference":
            return
        expand = _expand_of(below, time)
        if expand is not None:
            places = {out.identity: place for place, out in enumerate(expand.expressions("output"))}
            for row in expand.fields["projections"]:
                computed = [tree(each) for each in row]
                if _is_null(computed[places[time.identity]]):
                    present = [k for k in listed if k.identity in places and not _is_null(computed[places[k.identity]])]
                    yield tuple(key for key in self._keys(present, set(), known) if key.name)
        if time.identity in set(_null_supplied(below)):
            yield tuple(key for key in keys if not key.has_watermark)

    def _collected(self, node: PlanNode, known: FiniteAttributes) -> Iterator[str]:
        for call in (part for entry in outputs(node) for part in entry.walk() if part.kind == "AggregateExpression"):
            function = call.children[0]
            if function.kind in _COLLECTING:
                argument = function.children[0]
                is_list = function.kind in ("CollectList", "ListAgg")
                if is_list or values(argument, known, self.finite) is None:
                    yield f"{_COLLECTING[function.kind]}({self.names.expression(argument)})"

    def _times(self, node: PlanNode) -> Times:
        below = node.children[0]
        watermarked = tuple(event_times(below).values())
        above = _above(self.plan, node)
        is_set_above = not watermarked and any(each.kind == "EventTimeWatermark" for each in above)
        return Times(watermarked, _timestamps(below), self.standing, is_set_above, self._stream(below))

    def _stream(self, below: PlanNode) -> str | None:
        name = self.names.stream(below, "")
        return name if name and "(" not in name else None

    def _join(self, node: PlanNode, explained: Explained) -> StreamJoin:
        conditions = predicates(node)
        views = [view for view in map(classify, conditions) if isinstance(view, ColumnDifference)]
        names = ("the left side", "the right side")
        sides = []
        removed = explained.cleaned if self.standing is None else (None, None)
        for place, (side, cleaned) in enumerate(zip(node.children, removed, strict=True)):
            own = _numbers(side)
            watermarked = tuple(event_times(side).values())
            times = Times(watermarked, _timestamps(side), self.standing, False, self._stream(side))
            keys = tuple(self._key_columns(node, own))
            kept_for = None if cleaned is None else _kept_for(views, frozenset(map(str, own)))
            sides.append(Side(self.names.stream(side, names[place]), times, cleaned, kept_for, keys))
        ranges = any(part.kind.startswith(("Less", "Greater")) for part in _conjuncts(node))
        return StreamJoin(*_told_apart(*sides), contradicts(conditions), ranges)

    def _key_columns(self, node: PlanNode, own: frozenset[int]) -> Iterator[str]:
        for part in _conjuncts(node):
            if part.kind in ("EqualTo", "EqualNullSafe"):
                yield from (self.names.expression(each) for each in part.children if _reads(each) & own)


def _output_names(node: PlanNode) -> dict[int, str]:
    """Returns the names that an aggregate gives to its keys."""
    aliases = (entry for entry in outputs(node) if entry.kind == "Alias")
    return {a.children[0].identity: a.name for a in aliases if a.children[0].kind == "AttributeReference"}


def _told_apart(left: Side, right: Side) -> tuple[Side, Side]:
    """Returns the sides under different names: a stream that is joined with itself has one alias."""
    if left.name != right.name:
        return left, right
    sides = ((left, "left"), (right, "right"))
    first, second = (Side(f"{s.name} (the {where} one)", s.times, s.cleaned, s.kept_for, s.keys) for s, where in sides)
    return first, second


def _kept_for(views: list[ColumnDifference], own: frozenset[str]) -> int | None:
    """Returns how much later than a row its partners may be: `other - own <= kept_for`."""
    found = []
    for view in views:
        if view.left.type != TIMESTAMP:
            continue
        left, right = view.left.name, view.right.name
        if view.op in (Comparator.LE, Comparator.LT) and left not in own and right in own:
            found.append(view.constant)
        if view.op in (Comparator.GE, Comparator.GT) and left in own and right not in own:
            found.append(-view.constant)
    return max(found, default=None)


def _timed(listed: tuple[PlanNode, ...], explained: Explained) -> set[int]:
    """Returns the places of the keys with a watermark."""
    if explained.kind == "SessionWindowStateStoreSave":
        return {n for n, key in enumerate(listed) if explained.has_session_watermark and _is_session(key)}
    attributes = explained.keys
    return {place for place, (_, watermark) in enumerate(attributes) if watermark and len(attributes) == len(listed)}


def _is_session(key: PlanNode) -> bool:
    return key.kind == "AttributeReference" and isinstance(key.fields.get("dataType"), dict)


def _conjuncts(node: PlanNode) -> tuple[PlanNode, ...]:
    return tuple(part for condition in node.expressions("condition") for part in conjuncts_of(condition))


def _reads(node: PlanNode) -> frozenset[int]:
    return frozenset(each.identity for each in node.attributes)


def _numbers(node: PlanNode) -> frozenset[int]:
    return frozenset(each.identity for each in outputs(node) if "exprId" in each.fields)


def _timestamps(plan: PlanNode) -> tuple[str, ...]:
    """Returns the columns of type timestamp of a plan and of those below it, down to the next operator with state."""
    names = [each.name for each in outputs(plan) if "exprId" in each.fields and _is_timestamp(each)]
    if plan.kind not in _PHYSICAL:
        names += [name for child in plan.children for name in _timestamps(child)]
    return tuple(dict.fromkeys(name for name in names if not name.startswith("_")))


def _is_timestamp(entry: PlanNode) -> bool:
    return TIMESTAMP in (result_type(node) for node in (entry, *entry.children))


def _expand_of(below: PlanNode, time: PlanNode) -> PlanNode | None:
    """Returns the node that makes grouping sets, if the time comes from one."""
    node = below
    while node.kind in ("Project", "Filter") and node.children:
        node = node.children[0]
    made = node.kind == "Expand" and time.identity in {each.identity for each in node.expressions("output")}
    return node if made else None


def _is_null(expr: PlanNode) -> bool:
    return expr.kind == "Literal" and expr.fields.get("value") is None


def _null_supplied(plan: PlanNode) -> Iterator[int]:
    """Yields the attributes that outer joins fill with NULL."""
    for node in plan.walk():
        if node.kind == "Join":
            kind = object_name(node.fields["joinType"])
            if kind in ("LeftOuter", "FullOuter"):
                yield from _numbers(node.children[1])
            if kind in ("RightOuter", "FullOuter"):
                yield from _numbers(node.children[0])


def _above(plan: PlanNode, node: PlanNode) -> list[PlanNode]:
    """Returns the nodes from the top of a plan down to the parent of a node."""
    if plan is node:
        return []
    for child in plan.children:
        if child is node or any(part is node for part in child.walk()):
            return [plan, *_above(child, node)]
    return []


def _from_text(explained: Explained, finite: frozenset[str]) -> Stateful:
    """Returns an operator as the explained plan alone describes it."""
    named = {int(number): name for name, number, _ in _NAMED.findall(explained.text)}
    keys = tuple(
        Key(named.get(number, "a column"), watermark, _SOME if named.get(number, "").lower() in finite else None)
        for number, watermark in explained.keys
    )
    times = Times(tuple(key.name for key in keys if key.has_watermark))
    match explained.kind:
        case "StreamingSymmetricHashJoin":
            left, right = explained.cleaned
            return StreamJoin(Side("the left side", Times(), left), Side("the right side", Times(), right))
        case "SessionWindowStateStoreSave":
            return Grouping((*keys, Key("session_window", explained.has_session_watermark)), times)
        case "StateStoreSave":
            return Grouping(keys, times)
        case "StreamingDeduplicate" | "StreamingDeduplicateWithinWatermark":
            return Deduplication(keys, times, (), explained.kind.endswith("WithinWatermark"))
        case "StreamingGlobalLimit":
            return Limit()
    return OwnState(_OWN.get(explained.kind, explained.kind), keys)

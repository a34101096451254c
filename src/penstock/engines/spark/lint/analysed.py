"""Spark's analysed plan in our algebra: sources with their watermarks, and what is computed from them.

A source with a watermark is a stream timestamped by that column, with that delay. One without is timestamped by its
arrival, which no query sees. What an expression computes that we do not have is as good as a column of its source that
may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from penstock.algebra.expressions import Column, Expr, columns, conjuncts
from penstock.algebra.functions import AggregateFunction, aggregate_type
from penstock.algebra.predicates import ColumnEquality, classify
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    Distinct,
    Join,
    Output,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Stream,
    Table,
    Unbounded,
    Window,
    rewrite_relation,
    streams,
    walk_relations,
)
from penstock.catalog import Attribute, Catalog, StreamDef, TableDef
from penstock.closing.finite import count
from penstock.engines.spark.lint.expressions import bucket, event_window, expression, type_of
from penstock.engines.spark.lint.trees import PlanNode, tree
from penstock.errors import PenstockError
from penstock.types import BIGINT, TIMESTAMP, Type

#: The time column of a source without a watermark.
ARRIVAL = "arrival"

#: Nodes that neither hold state nor change a row.
_PASSED = {
    "SubqueryAlias",
    "View",
    "EventTimeWatermark",
    "ResolvedHint",
    "Repartition",
    "RepartitionByExpression",
    "RebalancePartitions",
    "Sort",
    "GlobalLimit",
    "LocalLimit",
    "WithCTE",
    "CollectMetrics",
    "MarkerWatermark",
}
#: Nodes that compute rows from rows, by a program of the user's.
_MAPPED = {"MapInPandas", "MapInArrow", "PythonMapInArrow", "MapPartitions", "SerializeFromObject", "Generate"}

_FUNCTIONS = {
    "Sum": AggregateFunction.SUM,
    "Average": AggregateFunction.AVG,
    "Min": AggregateFunction.MIN,
    "Max": AggregateFunction.MAX,
}
#: Aggregates that keep the values of a group.
_COLLECTING = {"CollectList", "CollectSet", "Percentile", "Mode", "ListAgg", "HistogramNumeric"}


def read_plan(plan: PlanNode, name: str) -> tuple[Query, Catalog]:
    """Returns the query that a plan computes, and the sources that it reads."""
    extras: dict[str, dict[str, Type]] = {}
    for _ in plan.walk():
        for _ in range(_MOST_COMPUTED):
            reader = _Reader(plan, extras)
            try:
                relation = reader.read(plan)
            except _NewColumn:
                continue
            return _sharing_watermarks(Query(name, relation), reader.catalog)
    raise PenstockError("this query computes too many columns to be judged", "check its parts")


#: How many computed columns a node of a plan may have on average.
_MOST_COMPUTED = 200


def _sharing_watermarks(query: Query, catalog: Catalog) -> tuple[Query, Catalog]:
    """Adds watermarks: Spark drops a join key that equals a time with a watermark on both sides."""
    delays = {stream.timestamp: catalog.get(stream.name) for stream in streams(query.relation)}
    bare = {stream.occurrence for stream in streams(query.relation) if stream.timestamp.name == ARRIVAL}
    for node in walk_relations(query.relation):
        for view in map(classify, node.on if isinstance(node, Join | SemiJoin) else ()):
            if isinstance(view, ColumnEquality):
                for time, key in ((view.left, view.right), (view.right, view.left)):
                    definition = delays.get(time)
                    if time.name != ARRIVAL and isinstance(definition, StreamDef) and key.scope in bare:
                        bare.discard(key.scope)
                        query, catalog = with_watermark(query, catalog, key, definition.delay)
    return query, catalog


def with_watermark(query: Query, catalog: Catalog, time: Column, delay: int) -> tuple[Query, Catalog]:
    """Returns the query with a watermark on a column of a source."""

    def rule(node: Relation) -> Relation:
        if isinstance(node, Window) and node.stream.occurrence == time.scope:
            return replace(node, stream=replace(node.stream, timestamp=time))
        return node

    definition = catalog.get(time.scope)
    assert isinstance(definition, StreamDef)
    timed = replace(definition, timestamp=time.name, delay=delay)
    return replace(query, root=rewrite_relation(query.relation, rule)), catalog.having(timed)


class _NewColumn(Exception):
    """Raised where a source has a column that was not known when it was built: the translation begins again."""


@dataclass
class _Reader:
    plan: PlanNode
    #: By source, columns that stand for what we cannot compute.
    extras: dict[str, dict[str, Type]]
    catalog: Catalog = field(default_factory=Catalog)
    #: What Spark's attributes are here.
    columns: dict[int, Column] = field(default_factory=dict)
    #: Attributes that are windows of time, and the length of these.
    windows: dict[int, int] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def read(self, node: PlanNode) -> Relation:
        if not _is_streaming(node):
            return self._table(node)
        if not node.children:
            return self._source(node, _attributes(node))
        match node.kind:
            case kind if kind in _PASSED:
                return self.read(node.children[-1])
            case kind if kind in _MAPPED:
                return self._mapped(node)
            case "Project" | "Expand":
                return self._project(node)
            case "Filter":
                return self._filter(node)
            case "Join":
                return self._join(node)
            case "Aggregate":
                return self._aggregate(node)
            case "Deduplicate" | "DeduplicateWithinWatermark":
                return self._deduplicate(node)
            case "Distinct":
                return Distinct(self.read(node.children[0]))
            case "Union":
                return self._union(node)
        message = f"the query has {node.kind}, whose state is the user's own and cannot be judged"
        raise PenstockError(message, "check the parts before and after it")

    def _source(self, node: PlanNode, attributes: list[PlanNode]) -> Relation:
        """Returns a stream: all that its source gives, and what stands for computed columns."""
        watermark = _watermark(self.plan, node)
        alias = _alias(self.plan, node) or str(node.fields.get("sourceName") or "stream")
        occurrence = self._fresh(alias)
        own = {attribute.identity: attribute for attribute in attributes}
        named = _distinct_names(own, _renamed(self.plan, node)[1])
        schema = [Column(occurrence, name, type_of(own[number].fields["dataType"])) for number, name in named.items()]
        self.columns.update(zip(own, schema, strict=True))
        schema += [Column(occurrence, name, type_) for name, type_ in self.extras.get(occurrence, {}).items()]
        timed = self.columns.get(watermark[0]) if watermark else None
        if timed is None or timed not in schema or timed.type not in (TIMESTAMP, BIGINT):
            timed = Column(occurrence, ARRIVAL, BIGINT)
            schema.append(timed)
        delay = watermark[1] if watermark and timed.name != ARRIVAL else 0
        declared = tuple(Attribute(column.name, column.type) for column in schema)
        self.catalog = self.catalog.having(StreamDef(occurrence, declared, timed.name, delay))
        return Window(Stream(occurrence, occurrence, tuple(schema), timed), Unbounded())

    def _table(self, node: PlanNode) -> Relation:
        attributes = _outputs(node)
        occurrence = self._fresh(_alias(self.plan, node) or "table")
        own = {attribute.identity: attribute for attribute in attributes}
        named = _distinct_names(own, {}).items()
        schema = tuple(Column(occurrence, name, _result_type(own[number])) for number, name in named)
        self.columns.update(zip(own, schema, strict=True))
        self.catalog = self.catalog.having(TableDef(occurrence, tuple(Attribute(c.name, c.type) for c in schema)))
        return Table(occurrence, occurrence, schema)

    def _mapped(self, node: PlanNode) -> Relation:
        """Returns the source that stands for the output of a user's program."""
        leaves = [leaf for leaf in node.walk() if not leaf.children]
        if len(leaves) != 1:
            raise PenstockError(f"{node.kind} over a join cannot be judged", "check the parts before and after it")
        return self._source(node, _attributes(node) or list(node.expressions("generatorOutput")))

    def _project(self, node: PlanNode) -> Relation:
        """Columns that are passed on keep their names; others are computed where they are used."""
        below = self.read(node.children[0])
        listed = node.expressions("projectList")
        if node.kind == "Expand":
            first = map(tree, node.fields["projections"][0])
            pairs = zip(node.expressions("output"), first, strict=True)
            listed = tuple(PlanNode("Alias", out.fields, (expr,)) for out, expr in pairs)
        for entry in listed:
            if entry.kind == "Alias":
                self._compute(entry, below)
        return below

    def _compute(self, entry: PlanNode, below: Relation) -> None:
        window = event_window(entry)
        if window is not None and window[0].identity in self.columns:
            self.columns[entry.identity] = self.columns[window[0].identity]
            self.windows[entry.identity] = window[1]
            return
        computed = expression(entry, self.columns)
        if isinstance(computed, Column):
            self.columns[entry.identity] = computed
        else:
            self.columns[entry.identity] = self._unknown(entry, below)

    def _unknown(self, entry: PlanNode, below: Relation) -> Column:
        """Returns a column that may hold anything, of a source that the expression reads."""
        numbers = [part.identity for part in entry.walk() if part.kind == "AttributeReference"]
        read = [self.columns[number].scope for number in numbers if number in self.columns]
        sources = {stream.occurrence: stream for stream in streams(below)}
        stream = sources[next((scope for scope in read if scope in sources), min(sources))]
        known = self.extras.setdefault(stream.occurrence, {})
        name, type_ = str(entry.fields["name"]), _result_type(entry)
        given = {column.name for column in stream.schema} - known.keys()
        if name in given or known.get(name, type_) != type_:
            name = f"{name}#{entry.identity}"
        if name not in known:
            known[name] = type_
            raise _NewColumn
        return Column(stream.occurrence, name, type_)

    def _filter(self, node: PlanNode) -> Relation:
        below = self.read(node.children[0])
        predicates = self._predicates(node, below)
        return Select(below, predicates) if predicates else below

    def _predicates(self, node: PlanNode, *below: Relation) -> tuple[Expr, ...]:
        """Returns the conjuncts of a condition that we have, over columns that are there."""
        schema = {column for relation in below for column in relation.schema}
        found = [expression(condition, self.columns) for condition in node.expressions("condition")]
        known = [part for expr in found if expr is not None for part in conjuncts(expr)]
        return tuple(part for part in known if columns(part) and columns(part) <= schema)

    def _join(self, node: PlanNode) -> Relation:
        left = self.read(node.children[0])
        given = {a.identity: self.columns[a.identity] for a in _outputs(node.children[0]) if a.identity in self.columns}
        right = self.read(node.children[1])
        self.columns.update(given)  # below a join with itself, Spark's attributes are the same on both sides
        on = self._predicates(node, left, right)
        kind = _object_name(node.fields["joinType"])
        if kind == "LeftSemi":
            return SemiJoin(left, right, on)
        return Join((left, right), on)  # an outer join keeps what an inner one keeps

    def _aggregate(self, node: PlanNode) -> Relation:
        below = self.read(node.children[0])
        scope = self._fresh("agg")
        grouping = node.expressions("groupingExpressions")
        computed = [self._key(key, below) for key in grouping]
        keys = [Output(Column(scope, f"key {number}", expr.type), expr) for number, expr in enumerate(computed)]
        aggregations = tuple(self._aggregations(node, scope))
        if not keys and not aggregations:
            return below
        for key, output in zip(grouping, keys, strict=True):
            if key.kind == "AttributeReference":
                self.columns[key.identity] = output.column
        for entry in node.expressions("aggregateExpressions"):
            if entry.kind == "Alias":
                self.columns[entry.identity] = aggregations[0].column if aggregations else keys[0].column
        return Aggregate(below, tuple(keys), aggregations)

    def _key(self, key: PlanNode, below: Relation) -> Expr:
        """Returns a key: a column, a window of time, finite values, or anything else, which Spark never purges."""
        if key.kind == "AttributeReference" and key.identity in self.windows:
            return bucket(self.columns[key.identity], self.windows[key.identity])
        found = expression(key, self.columns)
        if isinstance(found, Column) and found in below.schema:
            return found
        if found is not None and columns(found) <= frozenset(below.schema) and count(found, {}) is not None:
            return found
        read = [str(part.fields["name"]) for part in key.walk() if part.kind == "AttributeReference"]
        named = PlanNode("Alias", {"name": f"{key.kind}({', '.join(read)})", "exprId": {"id": 0}}, (key,))
        return self._unknown(named, below)

    def _aggregations(self, node: PlanNode, scope: str) -> Iterator[Aggregation]:
        listed = [part for entry in node.expressions("aggregateExpressions") for part in entry.walk()]
        calls = [part for part in listed if part.kind == "AggregateExpression"]
        for number, call in enumerate(calls):
            function = call.children[0]
            argument = expression(function.children[0], self.columns) if function.children else None
            distinct = bool(call.fields.get("isDistinct")) or function.kind in _COLLECTING
            wanted = _FUNCTIONS.get(function.kind, AggregateFunction.COUNT)
            if argument is None or not columns(argument) or aggregate_type(wanted, argument.type) is None:
                wanted, argument, distinct = AggregateFunction.COUNT, None, False
            type_ = aggregate_type(wanted, argument.type if argument is not None else None)
            assert type_ is not None
            yield Aggregation(Column(scope, f"aggregate {number}", type_), wanted, argument, distinct)

    def _deduplicate(self, node: PlanNode) -> Relation:
        """Returns one row per key, as groups whose other columns are any value; within the watermark per time, too."""
        below = self.read(node.children[0])
        keys = [self.columns[key.identity] for key in node.expressions("keys")]
        if node.kind == "DeduplicateWithinWatermark":
            keys += [stream.timestamp for stream in streams(below) if stream.timestamp.name != ARRIVAL]
        keys = [key for key in dict.fromkeys(keys) if key in below.schema]
        others = [column for column in below.schema if column not in keys]
        scope = self._fresh("dedup")
        outputs = tuple(Output(Column(scope, f"{key}", key.type), key) for key in keys)
        kept = tuple(Aggregation(Column(scope, f"{c}", c.type), AggregateFunction.MIN, c) for c in others)
        renamed = {output.expr: output.column for output in outputs} | {a.argument: a.column for a in kept}
        self.columns = {number: renamed.get(column, column) for number, column in self.columns.items()}
        return Aggregate(below, outputs, kept)

    def _union(self, node: PlanNode) -> Relation:
        sides = []
        for child in node.children:
            relation = self.read(child)
            outputs = [self.columns[attribute.identity] for attribute in _outputs(child)]
            sides.append((relation, outputs))
        attributes = _outputs(node)
        united, first = sides[0]
        for relation, outputs in sides[1:]:
            scope = self._fresh("union")
            schema = tuple(Column(scope, f"{c.name}#{n}", c.type) for n, c in enumerate(first))
            if [c.type for c in outputs] != [c.type for c in first]:
                raise PenstockError(
                    "this UNION widens its columns, which cannot be judged", "cast them before the union"
                )
            left, right = (self._projected(side, chosen) for side, chosen in ((united, first), (relation, outputs)))
            united, first = SetOp(SetOperator.UNION, True, left, right, schema), list(schema)
        self.columns.update({attribute.identity: column for attribute, column in zip(attributes, first, strict=True)})
        return united

    def _projected(self, relation: Relation, chosen: list[Column]) -> Relation:
        scope = self._fresh("side")
        return Project(relation, tuple(Output(Column(scope, f"{c.name}#{n}", c.type), c) for n, c in enumerate(chosen)))

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 1
        while name.lower() in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name.lower())
        return name


def _is_streaming(node: PlanNode) -> bool:
    leaves = (part for part in node.walk() if not part.children)
    return any("Streaming" in leaf.kind or leaf.fields.get("isStreaming") is True for leaf in leaves)


def _attributes(node: PlanNode) -> list[PlanNode]:
    return list(node.expressions("output"))


def _outputs(node: PlanNode) -> list[PlanNode]:
    """Returns the named expressions of a node."""
    match node.kind:
        case "Project":
            return list(node.expressions("projectList"))
        case "Aggregate":
            return list(node.expressions("aggregateExpressions"))
        case "Join":
            return [attribute for child in node.children for attribute in _outputs(child)]
    if node.fields.get("output"):
        return _attributes(node)
    return _outputs(node.children[0]) if node.children else []


def _watermark(plan: PlanNode, leaf: PlanNode) -> tuple[int, int] | None:
    """Returns the attribute of a source that has a watermark above it, and the delay of the outermost watermark."""
    renamed, _ = _renamed(plan, leaf)
    found = None
    for node in _own_path(plan, leaf):
        if node.kind == "EventTimeWatermark":
            (time,) = node.expressions("eventTime")
            if time.identity in renamed:
                found = renamed[time.identity], int(node.fields["delay"])
    return found


def _renamed(plan: PlanNode, leaf: PlanNode) -> tuple[dict[int, int], dict[int, str]]:
    """Returns the attributes that are those of a source under another name, and the last name of each of these."""
    sources = {attribute.identity: attribute.identity for attribute in _attributes(leaf)}
    names: dict[int, str] = {}
    for node in _own_path(plan, leaf):
        for entry in node.expressions("projectList") if node.kind == "Project" else ():
            if entry.kind == "Alias" and entry.children[0].kind == "AttributeReference":
                source = sources.get(entry.children[0].identity)
                if source is not None:
                    sources[entry.identity] = source
                    names[source] = str(entry.fields["name"])
    return sources, names


def _own_path(plan: PlanNode, leaf: PlanNode) -> Iterator[PlanNode]:
    """Yields the nodes from a leaf up to the first that holds state."""
    for node in reversed(_path(plan, leaf)):
        if len(node.children) > 1 or node.kind == "Aggregate":
            return
        yield node


def _path(plan: PlanNode, leaf: PlanNode) -> list[PlanNode]:
    """Returns the nodes from the top of the plan down to a leaf."""
    if plan is leaf:
        return [plan]
    for child in plan.children:
        below = _path(child, leaf)
        if below:
            return [plan, *below]
    return []


def _alias(plan: PlanNode, leaf: PlanNode) -> str | None:
    """Returns the name that the user gave to a source: the outermost alias that is about it alone."""
    found = None
    for node in _own_path(plan, leaf):
        if node.kind == "SubqueryAlias":
            found = str(node.fields["identifier"]["name"])
    return found


def _distinct_names(attributes: dict[int, PlanNode], renamed: dict[int, str]) -> dict[int, str]:
    names: dict[int, str] = {}
    for number, attribute in attributes.items():
        name = renamed.get(number, str(attribute.fields["name"]))
        names[number] = f"{name}#{number}" if name in names.values() else name
    return names


def _result_type(entry: PlanNode) -> Type:
    """Returns the type of an attribute, or of what an alias names."""
    typed = next((node for node in (entry, *entry.children) if "dataType" in node.fields), None)
    return type_of(typed.fields["dataType"] if typed is not None else "string")


def _object_name(value: object) -> str:
    text = str(value["object"] if isinstance(value, dict) and "object" in value else value)
    return text.rpartition(".")[2].rstrip("$'}")

"""Spark's logical plans and expressions as trees of plain values: class, fields and children of each node.

Spark writes a tree as a list of its nodes, parents first. The optimised plan is the one whose operators it runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of a plan or of an expression; `kind` is the last part of its class."""

    kind: str
    fields: Mapping[str, Any]
    children: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        """Yields the nodes of the tree, parents first."""
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

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def is_streaming(self) -> bool:
        """Whether a plan reads a stream."""
        leaves = (part for part in self.walk() if not part.children)
        return any("Streaming" in leaf.kind or leaf.fields.get("isStreaming") is True for leaf in leaves)

    @property
    def attributes(self) -> Iterator[PlanNode]:
        """Yields the attributes that an expression reads."""
        return (part for part in self.walk() if part.kind == "AttributeReference")


def analysed_plan(df: Any) -> PlanNode:
    """Returns the plan of a DataFrame as the user wrote it, with all names resolved."""
    return tree(json.loads(df._jdf.queryExecution().analyzed().toJSON()))


def optimised_plan(df: Any) -> PlanNode:
    """Returns the plan of a DataFrame as Spark optimises it before it runs."""
    optimizer = df.sparkSession._jsparkSession.sessionState().optimizer()
    return tree(json.loads(optimizer.execute(df._jdf.queryExecution().analyzed()).toJSON()))


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
    return PlanNode(node["class"].rpartition(".")[2].rstrip("$"), node, tuple(children)), place


def object_name(value: object) -> str:
    """Returns the last part of the class of one of Scala's objects.

    >>> object_name({"object": "org.apache.spark.sql.catalyst.plans.LeftOuter$"})
    'LeftOuter'
    """
    text = str(value["object"] if isinstance(value, dict) and "object" in value else value)
    return text.rpartition(".")[2].rstrip("$'}")


def outputs(node: PlanNode) -> tuple[PlanNode, ...]:
    """Returns the attributes and aliases that a plan gives, as far as its nodes list them."""
    match node.kind:
        case "Project":
            return node.expressions("projectList")
        case "Aggregate":
            return node.expressions("aggregateExpressions")
        case "Join":
            sides = node.children[:1] if _one_sided(node) else node.children
            return tuple(attribute for child in sides for attribute in outputs(child))
        case "Generate":
            below = tuple(each for each in outputs(node.children[0]))
            return (*below, *node.expressions("generatorOutput"))
    if node.fields.get("output"):
        return node.expressions("output")
    return outputs(node.children[0]) if node.children else ()


def _one_sided(join: PlanNode) -> bool:
    return object_name(join.fields["joinType"]) in ("LeftSemi", "LeftAnti")

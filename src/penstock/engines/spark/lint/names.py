"""Names that the user knows: aliases, views and columns, and expressions as they are written in a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.engines.spark.lint.trees import PlanNode, outputs

_SIGNS = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "IntegralDivide": "div",
    "Remainder": "%",
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "TimestampAddInterval": "+",
}
#: Spark's classes whose function has another name.
_FUNCTIONS = {
    "TruncTimestamp": "date_trunc",
    "TruncDate": "trunc",
    "DateFormatClass": "date_format",
    "GetTimestamp": "to_timestamp",
    "ParseToTimestamp": "to_timestamp",
    "ParseToDate": "to_date",
    "JsonToStructs": "from_json",
    "UnixTimestamp": "unix_timestamp",
    "SecondsToTimestamp": "timestamp_seconds",
}
_SHORT = 60


@dataclass(frozen=True)
class Names:
    """The names of the streams and columns of a query: of its plan as it was written, and as Spark optimised it."""

    analysed: PlanNode
    optimised: PlanNode
    _computed: dict[int, PlanNode] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for node in self.optimised.walk():
            entries = outputs(node) if node.kind in ("Project", "Aggregate") else ()
            self._computed.update({entry.identity: entry.children[0] for entry in entries if entry.kind == "Alias"})

    def column(self, attribute: PlanNode) -> str:
        """Returns the name of an attribute; what only Spark has named is written as what it computes."""
        computed = self._computed.get(attribute.identity)
        if computed is not None and attribute.name.startswith("_"):
            return self.expression(computed)
        return attribute.name

    def expression(self, node: PlanNode) -> str:
        """Returns an expression in one line, cut where it is long."""
        text = self._text(node)
        return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."

    def _text(self, node: PlanNode) -> str:
        parts = [self._text(child) for child in node.children]
        match node.kind:
            case "AttributeReference":
                return self.column(node)
            case "Literal":
                return str(node.fields.get("value"))
            case "Alias" | "Cast" | "KnownNullable" | "KnownNotNull":
                return parts[0]
            case "CaseWhen":
                return "CASE ..."
            case "PythonUDF" | "ScalaUDF":
                return f"{node.fields.get('name') or 'udf'}({', '.join(parts)})"
            case kind if kind in _SIGNS and len(parts) == 2:
                return f"{parts[0]} {_SIGNS[kind]} {parts[1]}"
        shown = [part for part, child in zip(parts, node.children, strict=True) if child.kind != "Literal"]
        return f"{_FUNCTIONS.get(node.kind, node.kind.lower())}({', '.join(shown)})"

    def stream(self, side: PlanNode, otherwise: str) -> str:
        """Returns the alias or view that the rows of a plan were read under.

        Aliases of one DataFrame read the same attributes, and then give the columns numbers of their own.
        """
        leaves, own = _leaves(side), _given(side)
        named = [node for node in self.analysed.walk() if node.kind == "SubqueryAlias" and _leaves(node) == leaves]
        if named:
            return str(max(named, key=lambda node: len(own & _given(node))).fields["identifier"]["name"])
        known = [each.name for each in outputs(side) if "exprId" in each.fields and not each.name.startswith("_")]
        shown = ", ".join(known[:3]) + (", ..." if len(known) > 3 else "")
        return f"{otherwise} ({shown})" if known else otherwise


def named(names: Iterable[str]) -> str:
    """Returns names in a sentence.

    >>> named(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _given(node: PlanNode) -> frozenset[int]:
    """Returns the numbers of the columns that a plan gives."""
    return frozenset(each.identity for each in outputs(node) if "exprId" in each.fields)


def _leaves(node: PlanNode) -> frozenset[int]:
    """Returns the attributes of the streams below a plan: two streams never share one."""
    leaves = (leaf for leaf in node.walk() if not leaf.children and leaf.is_streaming)
    return frozenset(each.identity for leaf in leaves for each in outputs(leaf))

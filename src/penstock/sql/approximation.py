"""APPROXIMATE: each count of a query that ends in GROUP BY comes with the ends of an interval that holds the exact one.

Here the query gets these columns with what they are if it runs exactly: the count itself, three times. Whether it runs
otherwise is decided by `elimination/`, and changes no column.
"""

from __future__ import annotations

from penstock.algebra.expressions import TRUE, Column
from penstock.algebra.functions import AggregateFunction
from penstock.algebra.relations import Aggregate, Output, Project, Relation, outermost_groups
from penstock.errors import Span
from penstock.sql.environment import Environment
from penstock.types import BOOLEAN

CERTIFIED = "_certified"

_HINT = "write SELECT ..., COUNT(*) AS n FROM ... GROUP BY ... APPROXIMATE"


def with_intervals(relation: Relation, env: Environment, place: Span) -> Relation:
    """The query with `n_low` and `n_high` behind each COUNT(*) that it names n, and `_certified` behind all."""
    found = outermost_groups(relation)
    if len(found) != 1 or not isinstance(relation, Project):
        env.diagnostics.fail("APPROXIMATE is of a query that ends in GROUP BY", _HINT, place)
    counts = set(_counts(found[0]))
    outputs: list[Output] = []
    for output in relation.outputs:
        outputs.append(output)
        if output.expr in counts:
            outputs += [_also(output, f"{output.column.name}_{end}") for end in ("low", "high")]
    if len(outputs) == len(relation.outputs):
        env.diagnostics.fail("APPROXIMATE is of a query that counts rows: it has no COUNT(*)", _HINT, place)
    outputs.append(Output(Column(outputs[0].column.scope, CERTIFIED, BOOLEAN), TRUE))
    _refuse_twice(outputs, env, place)
    return Project(relation.input, tuple(outputs))


def _counts(groups: Aggregate) -> list[Column]:
    return [a.column for a in groups.aggregations if a.function is AggregateFunction.COUNT and a.argument is None]


def _also(output: Output, name: str) -> Output:
    return Output(Column(output.column.scope, name, output.column.type), output.expr)


def _refuse_twice(outputs: list[Output], env: Environment, place: Span) -> None:
    names: set[str] = set()
    for output in outputs:
        name = output.column.name
        if name.lower() in names:
            env.diagnostics.fail(f"APPROXIMATE gives a column {name}, and so does the select list", "rename it", place)
        names.add(name.lower())

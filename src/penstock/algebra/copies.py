"""A relation once more, under other names: what a query reads in several of its cases stands in it several times.

Outer joins, conditions with EXISTS under OR, and windows that overlap are unions of cases over the same rows. Each case
has occurrences of its own, as if the user had written it out; the plan finds the windows that they can share. A copy of
`b` is named `b′2`, and every message calls it `b`, as the user did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from penstock.algebra.expressions import AlgebraError, Column, Expr, substitute
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Distinct,
    Join,
    OuterJoin,
    Output,
    PartitionRows,
    Project,
    Relation,
    Repeat,
    Schema,
    Select,
    SemiJoin,
    SetOp,
    SetOperator,
    Table,
    Window,
    walk_relations,
)

Renaming = dict[Column, Column]

#: What stands between the name of what was copied and the number of the copy.
MARK = "′"
_NUMBER = re.compile(rf"{MARK}(\d+)")


def written(text: str) -> str:
    """A text in which copies have the names that the user wrote.

    >>> written("1 HOUR of b′2 + 5 rows of c′13")
    '1 HOUR of b + 5 rows of c'
    """
    return _NUMBER.sub("", text) if MARK in text else text


class CopyNames:
    """Gives out names of copies that no other scope has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._last = max((int(found[1]) for name in taken for found in _NUMBER.finditer(name)), default=1)

    @classmethod
    def beside(cls, relation: Relation) -> CopyNames:
        """Names that no scope of a relation has."""
        return cls(scope for node in walk_relations(relation) for scope in scopes(node))

    def fresh(self, scope: str) -> str:
        self._last += 1
        return f"{written(scope)}{MARK}{self._last}"


def copied(relation: Relation, fresh: Callable[[str], str]) -> tuple[Relation, Renaming]:
    """The relation with other scopes throughout, which `fresh` makes of the old ones, and its columns by the old."""
    names = {scope: fresh(scope) for node in walk_relations(relation) for scope in scopes(node)}
    copy = _copied(relation, names)
    return copy, dict(zip(relation.schema, copy.schema, strict=True))


def scopes(node: Relation) -> tuple[str, ...]:
    """The scopes that a node gives to its columns, each once."""
    return tuple(dict.fromkeys(column.scope for column in node.schema))


def renamed(exprs: tuple[Expr, ...], renaming: Renaming) -> tuple[Expr, ...]:
    return tuple(substitute(expr, renaming) for expr in exprs)


def _copied(node: Relation, names: dict[str, str]) -> Relation:
    inputs = tuple(_copied(below, names) for below in node.inputs)
    inside = {
        old: new
        for before, after in zip(node.inputs, inputs, strict=True)
        for old, new in zip(before.schema, after.schema, strict=True)
    }

    def column(old: Column) -> Column:
        return Column(names[old.scope], old.name, old.type)

    def columns(schema: Schema) -> Schema:
        return tuple(map(column, schema))

    match node:
        case Window(stream, spec):
            if isinstance(spec, PartitionRows):
                spec = replace(spec, by=columns(spec.by))
            occurrence = names[stream.occurrence]
            schema, timestamp = columns(stream.schema), column(stream.timestamp)
            return Window(replace(stream, occurrence=occurrence, schema=schema, timestamp=timestamp), spec)
        case Table(name, occurrence, schema):
            return Table(name, names[occurrence], columns(schema))
        case Select(predicates=predicates):
            return Select(inputs[0], renamed(predicates, inside))
        case Project(outputs=outputs):
            return Project(inputs[0], tuple(Output(column(o.column), substitute(o.expr, inside)) for o in outputs))
        case Join(on=on):
            return Join(inputs, renamed(on, inside))
        case SemiJoin(on=on) | AntiJoin(on=on):
            return replace(node, left=inputs[0], right=inputs[1], on=renamed(on, inside))
        case OuterJoin(on=on):
            return replace(node, left=inputs[0], right=inputs[1], on=renamed(on, inside))
        case Aggregate(keys=keys, aggregations=aggregations):
            return Aggregate(
                inputs[0],
                tuple(Output(column(key.column), substitute(key.expr, inside)) for key in keys),
                tuple(
                    replace(a, column=column(a.column), argument=a.argument and substitute(a.argument, inside))
                    for a in aggregations
                ),
            )
        case Repeat(times=times):
            return Repeat(inputs[0], inside[times])
        case Distinct():
            return Distinct(*inputs)
        case SetOp(op, all_, schema=schema):
            return SetOp(op, all_, inputs[0], inputs[1], columns(schema))
    raise AlgebraError(f"no copy of {type(node).__name__}")


def union_all(cases: Sequence[Relation], columns: Schema, names: CopyNames) -> Relation:
    """The rows of all cases, which have columns of the same types, under the columns that are given."""
    union = cases[0]
    for number, case in enumerate(cases[1:], 2):
        schema = columns if number == len(cases) else numbered(columns, names.fresh("case"))
        union = SetOp(SetOperator.UNION, True, union, case, schema)
    return union


def numbered(columns: Schema, label: str) -> Schema:
    """Columns like these in one scope, where their names may repeat."""
    uses = Counter(column.name.lower() for column in columns)
    return tuple(
        Column(label, column.name if uses[column.name.lower()] == 1 else f"{column.name}_{place}", column.type)
        for place, column in enumerate(columns, 1)
    )

"""What a relation holds at an instant, by nested loops over bags. Each node is a function of its inputs' bags."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.algebra.expressions import Column, Expr
from penstock.algebra.relations import (
    Aggregate,
    Aggregation,
    AntiJoin,
    Distinct,
    Join,
    OuterJoin,
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
)
from penstock.catalog import Attribute
from tests.reference.aggregates import aggregate
from tests.reference.scalar import evaluate, holds
from tests.reference.values import Bag, Row, Value, canonical, distinct, identity, minus
from tests.reference.windows import Element, window_at


@dataclass(frozen=True, slots=True)
class Input:
    """The rows of a declared stream or table, which have one value per attribute; a table's timestamps mean nothing."""

    attributes: tuple[Attribute, ...]
    elements: tuple[Element, ...]

    def seen_as(self, schema: Schema) -> list[Element]:
        """The elements with their values in the order of `schema`."""
        names = [attribute.name for attribute in self.attributes]
        places = [names.index(column.name) for column in schema]
        return [Element(e.ts, e.arrival, tuple(e.row[place] for place in places)) for e in self.elements]


Inputs = Mapping[str, Input]


def relation_at(relation: Relation, inputs: Inputs, t: int) -> Bag:
    """The bag of rows, each with the columns of the relation's schema, at instant t."""
    bags = [relation_at(node, inputs, t) for node in relation.inputs]
    match relation:
        case Window(stream, spec):
            return window_at(inputs[stream.name.lower()].seen_as(stream.schema), stream.schema, spec, t)
        case Table(name, _, columns):
            return [element.row for element in inputs[name.lower()].seen_as(columns)]
        case Select(below, predicates):
            return [row for row in bags[0] if holds(predicates, _named(below.schema, row))]
        case Project(below, outputs):
            return [_computed([o.expr for o in outputs], _named(below.schema, row)) for row in bags[0]]
        case Join(_, on):
            combined = (tuple(itertools.chain(*rows)) for rows in itertools.product(*bags))
            return [row for row in combined if holds(on, _named(relation.schema, row))]
        case SemiJoin():
            return [row for row in bags[0] if _has_partner(relation, row, bags[1])]
        case AntiJoin():
            return [row for row in bags[0] if not _has_partner(relation, row, bags[1])]
        case OuterJoin():
            return _outer_join(relation, *bags)
        case Aggregate():
            return _groups(relation, bags[0])
        case Repeat(below, times):
            place = below.schema.index(times)
            return [row for row in bags[0] for _ in range(int(row[place]))]  # type: ignore[arg-type]
        case Distinct():
            return distinct(bags[0])
        case SetOp(op, all_, _, _, _):
            return _set_operation(op, bags[0], bags[1]) if all_ else _of_sets(op, bags[0], bags[1])
    raise AssertionError(f"no relation: {relation!r}")


def _named(schema: Schema, row: Row) -> dict[Column, Value]:
    return dict(zip(schema, row, strict=True))


def _computed(exprs: Sequence[Expr], row: Mapping[Column, Value]) -> Row:
    return tuple(evaluate(expr, row) for expr in exprs)


def _has_partner(join: SemiJoin | AntiJoin, row: Row, others: Bag) -> bool:
    schema = join.left.schema + join.right.schema
    return any(holds(join.on, _named(schema, row + other)) for other in others)


def _outer_join(node: OuterJoin, left: Bag, right: Bag) -> Bag:
    """SQL's definition: the pairs for which the condition is true, and rows of a kept side that are in no pair."""
    found: Bag = []
    paired: set[int] = set()
    for one in left:
        partners = [place for place, other in enumerate(right) if holds(node.on, _named(node.schema, one + other))]
        paired.update(partners)
        found += [one + right[place] for place in partners]
        if node.keeps_left and not partners:
            found.append(one + (None,) * len(node.right.schema))
    if node.keeps_right:
        alone = (None,) * len(node.left.schema)
        found += [alone + other for place, other in enumerate(right) if place not in paired]
    return found


def _groups(node: Aggregate, rows: Bag) -> Bag:
    groups: dict[object, tuple[Row, list[dict[Column, Value]]]] = {}
    if not node.keys:
        groups[()] = (), []
    for row in rows:
        named = _named(node.input.schema, row)
        key = tuple(map(canonical, _computed([output.expr for output in node.keys], named)))
        groups.setdefault(identity(key), (key, []))[1].append(named)
    return [key + tuple(_aggregated(a, members) for a in node.aggregations) for key, members in groups.values()]


def _aggregated(aggregation: Aggregation, members: Sequence[Mapping[Column, Value]]) -> Value:
    if aggregation.argument is None:
        return len(members)
    values = [evaluate(aggregation.argument, member) for member in members]
    return aggregate(aggregation.function, values, aggregation.distinct, aggregation.column.type)


def _set_operation(op: SetOperator, left: Bag, right: Bag) -> Bag:
    match op:
        case SetOperator.UNION:
            return left + right
        case SetOperator.EXCEPT:
            return minus(left, right)
        case SetOperator.INTERSECT:
            return minus(left, minus(left, right))


def _of_sets(op: SetOperator, left: Bag, right: Bag) -> Bag:
    return distinct(_set_operation(op, distinct(left), distinct(right)))

"""Trees of relations: to walk them, and to rewrite them node by node."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from penstock.algebra.relations.operators import Aggregate, Project, Repeat, Select, SetOp, SetOperator, Shared
from penstock.algebra.relations.relation import Relation
from penstock.algebra.relations.streams import Stream, Window
from penstock.effort import spend


def walk_relations(relation: Relation) -> Iterator[Relation]:
    """The node and all below it, topmost first. What is below a relation that is shared comes once."""
    pending = [relation]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        spend()
        yield node
        if isinstance(node, Shared):
            if id(node.input) in seen:
                continue
            seen.add(id(node.input))
        pending += reversed(node.inputs)


def outermost_groups(relation: Relation) -> tuple[Aggregate, ...]:
    """The groups that a query ends in, below its HAVING and its select list: of UNION ALL those of each side."""
    while isinstance(relation, Select | Project | Repeat):
        relation = relation.input
    if isinstance(relation, SetOp) and relation.op is SetOperator.UNION and relation.all:
        return tuple(groups for side in relation.inputs for groups in outermost_groups(side))
    return (relation,) if isinstance(relation, Aggregate) else ()


def rewrite_relation(relation: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """The tree with `rule` applied to each node, lowest first. What stays as it is stays the very same object."""
    return _rewritten(relation, rule, {})


def _rewritten(relation: Relation, rule: Callable[[Relation], Relation], shared: dict[int, Relation]) -> Relation:
    """`shared`: what has become of relations that are read several times, by their identity."""
    spend()
    if isinstance(relation, Shared):
        if id(relation.input) not in shared:
            shared[id(relation.input)] = _rewritten(relation.input, rule, shared)
        inputs: tuple[Relation, ...] = (shared[id(relation.input)],)
    else:
        inputs = tuple([_rewritten(node, rule, shared) for node in relation.inputs])
    node = relation if all(map(operator.is_, inputs, relation.inputs)) else relation.with_inputs(inputs)
    rewritten = rule(node)
    return node if rewritten == node else rewritten


def streams(relation: Relation) -> tuple[Stream, ...]:
    """The occurrences of streams below a node, from left to right."""
    return tuple(node.stream for node in walk_relations(relation) if isinstance(node, Window))

"""A join as a tree: inner nodes are subresults, with the predicates that the whole implies on them (004, 4.1.2).

    a.k = b.k AND b.k = c.k AND a.m < c.m        as ((a ⋈ c) ⋈ b)

    Join on a.k = b.k
    ├─ Materialised: Join on a.m < c.m AND a.k = c.k
    └─ b

A predicate stands at the lowest node that has all that it reads. Equalities are transitive, so columns of one class are
equal in every node, whichever of them are compared in the text. A subresult is an input like any other: what is kept of
it follows from its streams, by the derivation that serves all computed inputs (`row_endings.py`, `contents.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.algebra.expressions import Column, Comparator, Compare, Expr, columns
from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf
from penstock.algebra.named_joins import input_names, named_alike
from penstock.algebra.physical import Keep, Scan
from penstock.algebra.relations import (
    Join,
    Materialised,
    Output,
    Project,
    Relation,
    Select,
    Window,
    rewrite_relation,
)
from penstock.algebra.rewrites import normal_form
from penstock.closing.join_variables import join_classes
from penstock.closing.physical_join import JoinKind, PhysicalJoin


def in_trees(relation: Relation, trees: Sequence[JoinTree]) -> Relation:
    """The relation in normal form, with each join that a tree names as that tree.

    >>> from penstock.algebra.join_trees import parsed
    >>> from penstock.algebra.printing import plan_text
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM b (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM c (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT a.m FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND a.m < c.m
    ... ''').queries[0]
    >>> print(plan_text(in_trees(normalise(query).relation, [parsed("((a c) b)")])))
    Project a.m
    └─ Join on a.k = b.k AND c.k = b.k
       ├─ Materialised
       │  └─ Join on a.m < c.m AND a.k = c.k
       │     ├─ a [UNBOUNDED]
       │     └─ c [UNBOUNDED]
       └─ b [UNBOUNDED]
    """
    if not trees:
        return relation
    rewritten = rewrite_relation(relation, lambda node: _as_named(node, trees) if isinstance(node, Join) else node)
    return relation if rewritten is relation else normal_form(rewritten)


def _as_named(join: Join, trees: Sequence[JoinTree]) -> Relation:
    names = input_names(join)
    own = next((found for tree in trees if names and (found := named_alike(tree, names)) is not None), None)
    if not isinstance(own, TreeJoin) or own.is_flat:
        return join
    made = in_tree(join, own)
    return made if made.schema == join.schema else Project(made, tuple(Output(c, c) for c in join.schema))


def in_tree(join: Join, tree: TreeJoin) -> Join:
    """The join as a tree of its inputs, by their names."""
    names = input_names(join)
    assert names is not None and set(names) == set(tree.streams), f"{tree} is not of the inputs {names}"
    operands = dict(zip(names, join.operands, strict=True))
    classes = join_classes(join)

    def built(node: JoinTree) -> Relation:
        if isinstance(node, TreeLeaf):
            return operands[node.stream]
        return Materialised.of(joined(node))

    def joined(node: TreeJoin) -> Join:
        inputs = tuple(map(built, node.inputs))
        on = [predicate for predicate in join.on if _stands_here(predicate, inputs, is_top=node is tree)]
        return Join(inputs, (*on, *_implied(on, inputs, classes)))

    return joined(tree)


def _stands_here(predicate: Expr, inputs: Sequence[Relation], *, is_top: bool) -> bool:
    """Whether a node is the lowest that has all columns of a predicate; one without columns stands at the top."""
    read = columns(predicate)
    held = [frozenset(each.schema) for each in inputs]
    if not read:
        return is_top
    return read <= frozenset[Column]().union(*held) and not any(read <= own for own in held)


def _implied(on: Iterable[Expr], inputs: Sequence[Relation], classes: Iterable[set[Column]]) -> Iterator[Compare]:
    """Equalities between inputs of a node that no predicate says there, and that the others of the join imply."""
    said = [p for p in on if isinstance(p, Compare) and p.op is Comparator.EQ]
    for same in classes:
        held = [next((column for column in each.schema if column in same), None) for each in inputs]
        groups = [{number} for number, column in enumerate(held) if column is not None]
        for equality in said:
            if set(equality.parts) <= same:
                meeting = {n for n, each in enumerate(inputs) if frozenset(each.schema) & set(equality.parts)}
                joined = [group for group in groups if group & meeting]
                groups = [group for group in groups if not group & meeting] + [set[int]().union(*joined)]
        first, *others = (held[min(group)] for group in sorted(groups, key=min)) if groups else (None,)
        for other in others:
            assert first is not None and other is not None
            yield Compare(Comparator.EQ, first, other)


def input_scope(relation: Relation) -> str:
    """What an input of a join is known by: the scope of its rows, and of a subresult the scopes of all its inputs.

    It is the same of the normal form and of the physical form, in which columns that nobody reads are gone.
    """
    match relation:
        case Scan(stream) | Window(stream):
            return stream.occurrence
        case Join(operands) | PhysicalJoin(JoinKind.JOIN, operands):
            return f"({' ⋈ '.join(map(input_scope, operands))})"
        case Select(below) | Keep(below) | Project(below) if is_subresult(below):
            return input_scope(below)
    return relation.schema[0].scope if relation.schema else ""


def is_subresult(relation: Relation) -> bool:
    """Whether rows of an input of a join are combinations of a join below it, in normal form or in physical form."""
    match relation:
        case Join() | PhysicalJoin(JoinKind.JOIN):
            return True
        case Select(below) | Keep(below) | Project(below):
            return is_subresult(below)
    return False

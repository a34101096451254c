"""Joins by the names of their inputs: which join of a query a tree is about.

A tree names inputs as the user wrote them: by the occurrence of a stream or table, or by the name of what is computed.
Copies of a join, such as the cases of an outer join, have the same names, and run by the same tree.
"""

from __future__ import annotations

from penstock.algebra.copies import written
from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf, restricted
from penstock.algebra.relations import Join, Query, Relation, Table, Window, walk_relations
from penstock.algebra.rewrites import normalise


def input_names(join: Join) -> tuple[str, ...] | None:
    """What the inputs of a join are called, as the user wrote it; None if two of them have one name."""
    names = tuple(_input_name(operand) for operand in join.operands)
    return names if len({name.lower() for name in names}) == len(names) else None


def _input_name(operand: Relation) -> str:
    """The occurrence whose rows an input has, or the name of what is computed."""
    match operand:
        case Window(stream):
            return written(stream.occurrence)
        case Table(occurrence=occurrence):
            return written(occurrence)
    return written(operand.schema[0].scope)


def joins_of(relation: Relation) -> dict[tuple[str, ...], Join]:
    """The joins of a relation in normal form that a tree can name, by the names of their inputs.

    Of copies, which have the same names, one.
    """
    found: dict[tuple[str, ...], Join] = {}
    for node in walk_relations(relation):
        if isinstance(node, Join) and (names := input_names(node)) is not None:
            found.setdefault(names, node)
    return found


def no_join_of(tree: TreeJoin, query: Query) -> tuple[str, str] | None:
    """What is wrong with a tree of which a query has no join, and what could be named instead; None if it has one."""
    joins = joins_of(normalise(query).relation)
    named = {leaf.lower() for leaf in tree.streams}
    if any(named == {name.lower() for name in names} for names in joins):
        return None
    known = "; or ".join(", ".join(names) for names in joins)
    hint = f"name all inputs of one join: {known}" if joins else "leave the plan out"
    return f"the query has no join of {', '.join(tree.streams)}", hint


def named_alike(tree: JoinTree, names: tuple[str, ...]) -> JoinTree | None:
    """The tree with a join's own names of its leaves, whose case does not matter; None if it is of another join.

    What the join does not have is left out, as join elimination may have done, unless nothing of it is left.
    """
    own = {name.lower(): name for name in names}
    if not own.keys() <= {leaf.lower() for leaf in tree.streams}:
        return None
    return restricted(_renamed(tree, own), frozenset(names))


def _renamed(tree: JoinTree, own: dict[str, str]) -> JoinTree:
    if isinstance(tree, TreeLeaf):
        return TreeLeaf(own.get(tree.stream.lower(), tree.stream))
    return TreeJoin(tuple(_renamed(each, own) for each in tree.inputs))

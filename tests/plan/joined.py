"""Random joins as plain data, their texts, and trees over them that are built in another way than the plan's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf
from penstock.algebra.named_joins import joins_of
from penstock.algebra.relations import Query
from penstock.algebra.rewrites import normalise

Edge = tuple[int, str, int, str]


def all_trees(names: Sequence[str]) -> Iterator[JoinTree]:
    """All trees: the last leaf is put into each place of each tree of the others."""
    *others, last = names
    if not others:
        yield TreeLeaf(last)
        return
    for tree in all_trees(others):
        yield from _with(tree, TreeLeaf(last))


def _with(tree: JoinTree, leaf: TreeLeaf) -> Iterator[JoinTree]:
    yield TreeJoin((tree, leaf))
    if isinstance(tree, TreeJoin):
        yield TreeJoin((*tree.inputs, leaf))
        for i, below in enumerate(tree.inputs):
            for changed in _with(below, leaf):
                yield TreeJoin((*tree.inputs[:i], changed, *tree.inputs[i + 1 :]))


def shape(tree: JoinTree) -> object:
    """A tree without the order of its inputs."""
    return tree.stream if isinstance(tree, TreeLeaf) else frozenset(map(shape, tree.inputs))


def random_tree(random: Random, names: Sequence[str]) -> TreeJoin:
    """A tree over three inputs or more that has a subresult, whether or not anything connects its inputs."""
    trees: list[JoinTree] = [TreeLeaf(name) for name in names]
    while len(trees) > 1:
        most = len(trees) - (len(trees) == len(names))
        picked = random.sample(trees, random.choice((2, 2, min(3, most), most)))
        trees = [tree for tree in trees if tree not in picked] + [TreeJoin(tuple(picked))]
    (whole,) = trees
    assert isinstance(whole, TreeJoin)
    return whole


def with_random_trees(random: Random, query: Query) -> Query:
    """The query with a tree of each of its joins of three inputs or more."""
    names = [each for each in joins_of(normalise(query).relation) if len(each) > 2]
    return replace(query, trees=tuple(random_tree(random, each) for each in names))

"""The trees of a join are those that brute force finds, and their predicates are those of the join."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from penstock.algebra.expressions import Column, Comparator, Compare, columns
from penstock.algebra.join_trees import JoinTree, TreeJoin, nodes, parsed, tree_text
from penstock.algebra.named_joins import joins_of
from penstock.algebra.relations import Join, Materialised
from penstock.algebra.rewrites import normalise
from penstock.closing.join_trees import in_tree
from penstock.closing.join_variables import join_classes
from penstock.plan.join_trees import MOST_INPUTS, join_trees
from penstock.sql import bind_text
from tests.plan.joined import Edge, all_trees, random_tree, shape

COLUMNS = ("a", "b")


def join_over(count: int, where: list[str]) -> Join:
    """The join of so many streams s0, s1, ... on some conditions."""
    streams = "\n".join(f"CREATE STREAM s{n} (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts;" for n in range(count))
    listed = ", ".join(f"s{n} [ROWS 9]" for n in range(count))
    conditions = f" WHERE {' AND '.join(where)}" if where else ""
    query = bind_text(f"{streams}\nSELECT s0.a FROM {listed}{conditions}").checked().queries[0]
    (join,) = joins_of(normalise(query).relation).values()
    return join


def random_edges(random: Random, count: int) -> list[Edge]:
    pairs = [pair for pair in combinations(range(count), 2) if random.random() < 0.45]
    return [(one, random.choice(COLUMNS), other, random.choice(COLUMNS)) for one, other in pairs]


def written(edges: list[Edge]) -> list[str]:
    return [f"s{one}.{column} = s{other}.{theirs}" for one, column, other, theirs in edges]


def has_no_avoidable_product(tree: JoinTree, count: int, edges: list[Edge]) -> bool:
    """By definition: the inputs of each node are connected by equalities that follow, or nothing else joins them."""
    equal = {((o, c), (p, d)) for o, c, p, d in edges} | {((p, d), (o, c)) for o, c, p, d in edges}
    while more := {(x, z) for x, y in equal for v, z in equal if v == y and x != z} - equal:
        equal |= more
    meet = {(x[0], z[0]) for x, z in equal}
    meet |= {(one, other) for one, _, other, _ in edges} | {(other, one) for one, _, other, _ in edges}

    def reached(start: int, inside: set[int]) -> set[int]:
        found = {start}
        while more := {z for x, z in meet if x in found and z in inside} - found:
            found |= more
        return found

    everything = set(range(count))
    for node in nodes(tree):
        own = {int(name[1:]) for name in node.streams}
        is_connected = reached(min(own), own) == own
        is_whole = all(reached(each, everything) <= own for each in own)
        if not is_connected and not is_whole:
            return False
    return True


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_trees_are_those_without_avoidable_products(count: int) -> None:
    for seed in range(12 if count < 5 else 5):
        edges = random_edges(Random(seed), count)
        names = [f"s{n}" for n in range(count)]
        found = [shape(tree) for tree in join_trees(join_over(count, written(edges)))]
        expected = {shape(tree) for tree in all_trees(names) if has_no_avoidable_product(tree, count, edges)}
        assert len(found) == len(set(found)), seed
        assert set(found) == expected, (seed, edges)


def test_the_mjoin_of_all_comes_first_and_is_the_only_one_of_many() -> None:
    chain = [f"s{n}.a = s{n + 1}.a" for n in range(MOST_INPUTS)]
    trees = list(join_trees(join_over(MOST_INPUTS, chain[:-1])))
    assert trees[0].is_flat
    assert len(trees) == 2752
    (only,) = join_trees(join_over(MOST_INPUTS + 1, chain))
    assert only.is_flat


def test_a_comparison_connects_as_an_equality_does() -> None:
    found = [str(tree) for tree in join_trees(join_over(3, ["s0.a < s1.a", "s1.b = s2.b"]))]
    assert found == ["(s0 ⋈ s1 ⋈ s2)", "((s0 ⋈ s1) ⋈ s2)", "(s0 ⋈ (s1 ⋈ s2))"]


@pytest.mark.parametrize("seed", range(20))
def test_each_predicate_stands_once_in_a_tree_and_classes_are_equal_in_every_node(seed: int) -> None:
    random = Random(seed)
    count = random.randint(3, 5)
    edges = random_edges(random, count)
    where = [*written(edges), "s0.a + 1 >= s1.b", "s0.b + s1.a < s2.b"]
    join = join_over(count, where)
    made = in_tree(join, random_tree(random, [f"s{n}" for n in range(count)]))
    said = [predicate for node in joins_in(made) for predicate in node.on]
    assert all(said.count(predicate) == 1 for predicate in join.on)
    for node in joins_in(made):
        inside = [frozenset(each.schema) for each in node.inputs]
        assert all(not any(columns(predicate) <= own for own in inside) for predicate in node.on)
        for same in join_classes(join):
            assert meet_on(node, same), (seed, same)


def meet_on(node: Join, same: set[Column]) -> bool:
    """Whether equalities of a node connect all of its inputs that have columns of a class."""
    having = [{n} for n, each in enumerate(node.inputs) if same & set(each.schema)]
    for predicate in node.on:
        if isinstance(predicate, Compare) and predicate.op is Comparator.EQ and set(predicate.parts) <= same:
            ends = {n for n, each in enumerate(node.inputs) if set(predicate.parts) & set(each.schema)}
            having = [g for g in having if not g & ends] + [set[int]().union(*(g for g in having if g & ends))]
    return len(having) < 2


def joins_in(join: Join) -> list[Join]:
    found = [join]
    for each in join.operands:
        if isinstance(each, Materialised):
            assert isinstance(each.input, Join)
            found += joins_in(each.input)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_what_is_written_of_a_tree_is_read_again(seed: int) -> None:
    tree = random_tree(Random(seed), ["a", "B", "c d", "é"])
    assert parsed(tree_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "a tree of joins has two inputs or more"),
        ("a", "a tree of joins has two inputs or more"),
        ("((a))", "a tree of joins has two inputs or more"),
        ("(a ())", "a tree of joins has two inputs or more"),
        ("(a b", "a ( is not closed"),
        ("a b)", "a ) closes nothing"),
        ("((a b) A)", "a stands twice in it"),
        ("(a `b)", "`b) is no tree of joins"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace("(", r"\(").replace(")", r"\)")):
        parsed(text)


def test_a_tree_has_each_input_once() -> None:
    with pytest.raises(ValueError, match="no join"):
        TreeJoin((parsed("a b"), parsed("b c")))

"""A plan is safe iff brute force finds no future for any state of any of its joins."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from penstock.closing.punctuation import (
    JoinTree,
    Scheme,
    TreeJoin,
    TreeLeaf,
    check_plan,
    safe_plans,
)
from tests.reference.punctuation import is_safe
from tests.register.punctuation.futures import Instance, Values, holds, random_instance


def closed(instance: Instance) -> Instance:
    """With all equalities that follow, so that they hold between the streams of a lower join as well."""
    pairs = {pair for x, y in instance.equal for pair in [(x, y), (y, x)]}
    while more := {(x, z) for x, y in pairs for v, z in pairs if y == v and x != z} - pairs:
        pairs |= more
    return Instance(instance.streams, sorted(pairs), schemes=instance.schemes)


def trees(streams: Sequence[str]) -> Iterator[JoinTree]:
    """All plans over the streams, in another way than the theory's: put the last stream into a plan of the others."""
    *others, last = streams
    if not others:
        yield TreeLeaf(last)
        return
    for tree in trees(others):
        yield from insertions(tree, TreeLeaf(last))


def insertions(tree: JoinTree, leaf: TreeLeaf) -> Iterator[JoinTree]:
    yield TreeJoin((tree, leaf))
    if isinstance(tree, TreeJoin):
        yield TreeJoin((*tree.inputs, leaf))
        for i, below in enumerate(tree.inputs):
            for changed in insertions(below, leaf):
                yield TreeJoin((*tree.inputs[:i], changed, *tree.inputs[i + 1 :]))


def shape(plan: JoinTree) -> object:
    return plan.stream if isinstance(plan, TreeLeaf) else frozenset(map(shape, plan.inputs))


def joins(plan: JoinTree) -> Iterator[TreeJoin]:
    if isinstance(plan, TreeJoin):
        yield plan
        for each in plan.inputs:
            yield from joins(each)


def state_has_future(instance: Instance, join: TreeJoin, kept: JoinTree) -> bool:
    """A row of one input, all 0: do results of the others still come that join it?

    All punctuations on 0 came, and the joins below, being safe, have purged their rows with 0. So an input either gives
    the result with 0 everywhere that the join has stored, or one made of new rows alone, each with a new value where a
    punctuation wants one.
    """
    zeros = {stream: dict.fromkeys(names, 0) for stream, names in instance.streams.items()}

    def new_rows(stream: str) -> list[Values]:
        names = instance.streams[stream]
        rows = [dict(zip(names, values, strict=True)) for values in product([0, 1], repeat=len(names))]
        schemes = [by_value for name, by_value, _ in instance.schemes if name == stream]
        return [row for row in rows if all(any(row[name] for name in by_value) for by_value in schemes)]

    def search(rows: dict[str, Values], left: list[JoinTree], new: bool) -> bool:
        if not left:
            return new
        first, *rest = left
        stored = {**rows, **{stream: zeros[stream] for stream in first.streams}}
        if holds(instance, stored) and search(stored, rest, new):
            return True
        for fresh in product(*map(new_rows, first.streams)):
            more = {**rows, **dict(zip(first.streams, fresh, strict=True))}
            if holds(instance, more) and search(more, rest, True):
                return True
        return False

    others = [each for each in join.inputs if each is not kept]
    return search({stream: zeros[stream] for stream in kept.streams}, others, False)


def brute_force_safe(instance: Instance, plan: JoinTree) -> bool:
    """Lower joins first: what is asked of the upper ones supposes that these are safe."""
    return all(
        not state_has_future(instance, join, kept) for join in reversed(list(joins(plan))) for kept in join.inputs
    )


@pytest.mark.parametrize("block", range(4))
def test_a_plan_is_safe_iff_no_state_of_it_has_a_future(block: int) -> None:
    """And those enumerated are just the safe ones; and if any is, the MJoin is (theorem 4)."""
    for seed in range(block * 40, block * 40 + 40):
        instance = closed(random_instance(random.Random(seed), streams=4, attributes=2))
        instance.schemes += [(stream, (names[0],), None) for stream, names in instance.streams.items() if seed % 2]
        query, schemes = instance.query, instance.scheme_set
        expected = {shape(plan): brute_force_safe(instance, plan) for plan in trees(list(instance.streams))}
        for plan in trees(list(instance.streams)):
            assert check_plan(query, schemes, plan).safe is expected[shape(plan)], (seed, str(plan), instance)
        found = [shape(plan) for plan in safe_plans(query, schemes)]
        assert len(found) == len(set(found))
        assert set(found) == {plan for plan, safe in expected.items() if safe}, (seed, instance)
        assert any(expected.values()) is is_safe(query, schemes)


def test_all_plans_are_counted_once() -> None:
    """A000311: trees with labelled leaves and no node with a single child."""
    for size, count in [(2, 1), (3, 4), (4, 26), (5, 236)]:
        streams = {f"s{i}": ("k",) for i in range(size)}
        equal = [(f"s{i}.k", f"s{i + 1}.k") for i in range(size - 1)]
        everything = Instance(streams, equal, schemes=[(name, ("k",), None) for name in streams])
        assert len({shape(plan) for plan in safe_plans(everything.query, everything.scheme_set)}) == count
        assert len({shape(plan) for plan in trees(list(streams))}) == count


def test_a_table_may_be_joined_below_but_does_not_end_the_results() -> None:
    """t is a table. (s join t) join u: u's rows need punctuations of s, not only the end of t."""
    streams = {"s": ("k", "x"), "t": ("x",), "u": ("k",)}
    equal = [("s.k", "u.k"), ("s.x", "t.x")]
    s, t, u = map(TreeLeaf, streams)
    plan = TreeJoin((TreeJoin((s, t)), u))
    table, closed_u = Scheme("t", ()), Scheme("u", ("k",))
    query = Instance(streams, equal).query
    assert not check_plan(query, [table, closed_u], plan).safe
    assert check_plan(query, [table, closed_u, Scheme("s", ("k",))], plan).safe


def test_no_stream_is_joined_twice() -> None:
    with pytest.raises(ValueError, match="no join"):
        TreeJoin((TreeLeaf("s"), TreeLeaf("s")))
    with pytest.raises(ValueError, match="no join"):
        TreeJoin((TreeLeaf("s"),))

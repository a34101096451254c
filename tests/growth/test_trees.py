"""Safe means flat, of trees too: what is kept of a subresult that the register calls safe does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from random import Random

import pytest

from penstock.elimination import verdict_of
from penstock.plan.tree_plans import plans_of
from penstock.sql import Script
from tests.growth.process import Nulls, declarations
from tests.growth.promises import bound, growth_of, is_promised
from tests.growth.queries import WINDOWS, Growing

#: Joins per test, so that processes share them evenly.
PART = 3
#: Far more than are tried for one part.
SEEDS = 100_000


def joined_query(seed: int) -> Growing:
    """A join of three or four streams: on keys with punctuations, in time, or of windows."""
    random = Random(f"tree {seed}")
    nulls = random.choice((Nulls.NONE, Nulls.NONE, Nulls.OPEN))
    wanted = ("PUNCTUATED BY (k) WHEN ends = 1", "PUNCTUATED BY (s) WHEN ends = 1")
    share = random.choice((0.5, 0.9, 1.0))
    chosen = [one for one in declarations(nulls) if one.text in wanted and random.random() < share]
    chosen += [one for one in declarations(nulls) if one not in chosen and random.random() < 0.12]
    names = [f"r{n}" for n in range(random.choice((3, 3, 4)))]
    windows = random.choice((0.0, 0.0, 0.3, 1.0))
    read = [f"{random.choice('abc')}{random.choice(WINDOWS) if random.random() < windows else ''} {r}" for r in names]
    where = []
    for number, name in enumerate(names[1:], start=1):
        other = random.choice(names[:number])
        key = random.choice("kkks")
        where.append(f"{name}.{key} = {other}.{key}")
        if random.random() < 0.25:
            where.append(f"{name}.ts BETWEEN {other}.ts - 1000 AND {other}.ts + 2000")
    listed = ", ".join(f"{name}.x AS c{n}" for n, name in enumerate(names))
    select = f"SELECT {listed} FROM {', '.join(read)} WHERE {' AND '.join(where)}"
    return Growing(seed, nulls, tuple(chosen), (), select)


def promised(seeds: Iterator[int]) -> Iterator[tuple[Growing, Script]]:
    """Trees with subresults that should be flat, one of each query."""
    for seed in seeds:
        query = joined_query(seed)
        script = bound(query.chosen, query.select)
        for found in plans_of(script.queries[0], script.catalog):
            safe = [plan.tree for plan in found.plans if plan.safe and not plan.tree.is_flat]
            if safe:
                treed = replace(script.queries[0], trees=(Random(seed).choice(safe),))
                verdict = verdict_of(treed, script.catalog)
                if is_promised(verdict, query.nulls):
                    yield query, replace(script, queries=(treed,))


@pytest.mark.parametrize("part", range(4))
def test_a_safe_tree_is_flat(part: int) -> None:
    for query, script in islice(promised(count(part * SEEDS)), PART):
        for cells in (1, 3):
            grown = growth_of(script, query.nulls, cells)
            said = f"in {cells} cells by {script.queries[0].trees[0]} of {query}"
            assert not grown, f"{said}\ngrew: {'; '.join(map(str, grown))}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10, 110))
def test_many_safe_trees_are_flat(part: int) -> None:
    test_a_safe_tree_is_flat(part)

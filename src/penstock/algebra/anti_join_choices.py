"""Anti-joins without OR: no row makes (A or B) true just when none makes A true and none makes B true.

So an anti-join whose predicate is a choice is a chain of anti-joins, of which each can have an index of its own. The
pass assumes the normal form; it leaves alone the anti-joins that keep buckets, which have few rows to examine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from penstock.algebra.expressions import Or
from penstock.algebra.relations import AntiJoin, Relation, rewrite_relation


def without_choices(relation: Relation, is_kept: Callable[[AntiJoin], bool] = lambda _: False) -> Relation:
    """The relation in which no anti-join has an OR among its predicates, but for those that are kept as they are.

    >>> from penstock.algebra.expressions import Column, Comparator, Compare
    >>> from penstock.algebra.relations import Table
    >>> from penstock.types import BIGINT
    >>> a, b, c = (Column(name, "x", BIGINT) for name in "abc")
    >>> choice = Or((Compare(Comparator.EQ, a, b), Compare(Comparator.LT, a, b)))
    >>> chain = without_choices(AntiJoin(Table("a", "a", (a,)), Table("b", "b", (b,)), (choice,)))
    >>> isinstance(chain.left, AntiJoin), chain.on == choice.args[1:], chain.left.on == choice.args[:1]
    (True, True, True)
    """
    return rewrite_relation(relation, lambda node: _chain(node) if _is_choice(node) and not is_kept(node) else node)


def _is_choice(node: Relation) -> TypeGuard[AntiJoin]:
    return isinstance(node, AntiJoin) and any(isinstance(predicate, Or) for predicate in node.on)


def _chain(join: AntiJoin) -> Relation:
    choice = next((predicate for predicate in join.on if isinstance(predicate, Or)), None)
    if choice is None:
        return join
    rest = tuple(predicate for predicate in join.on if predicate is not choice)
    left = join.left
    for arm in choice.args:
        left = _chain(AntiJoin(left, join.right, (*rest, arm)))
    return left

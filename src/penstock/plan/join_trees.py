"""The trees of a join: all ways to put its inputs together without products that could be avoided (004, 5.2).

A set of inputs makes a subresult if predicates connect it. Equalities count with all that follow from them: where
a.k = b.k AND b.k = c.k, a and c are connected. Parts of a join that nothing connects are products in every tree, so
they may be put together, too, but only whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, product

from penstock.algebra.expressions import columns
from penstock.algebra.join_trees import JoinTree, TreeJoin, TreeLeaf, flat
from penstock.algebra.named_joins import input_names
from penstock.algebra.relations import Join
from penstock.closing.join_variables import join_classes
from penstock.effort import spend

#: Of joins with more inputs only the MJoin of all is a plan, unless a query names another. Of six inputs there are up
#: to 2,752 trees, of seven 39,208.
MOST_INPUTS = 6

#: Numbers of inputs.
_Inputs = tuple[int, ...]


def join_trees(join: Join) -> Iterator[TreeJoin]:
    """The trees of a join, the MJoin of all inputs first. Inputs stand in the order of the query.

    >>> from penstock.algebra.named_joins import joins_of
    >>> from penstock.algebra.rewrites import normalise
    >>> from penstock.sql import bind_text
    >>> query = bind_text('''
    ...     CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM b (k BIGINT, m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     CREATE STREAM c (m BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;
    ...     SELECT ISTREAM * FROM a, b, c WHERE a.k = b.k AND b.m = c.m
    ... ''').queries[0]
    >>> (join,) = joins_of(normalise(query).relation).values()
    >>> for tree in join_trees(join):
    ...     print(tree)
    (a ⋈ b ⋈ c)
    ((a ⋈ b) ⋈ c)
    (a ⋈ (b ⋈ c))
    """
    names = input_names(join)
    if names is None:
        return
    if len(names) > MOST_INPUTS:
        yield flat(names)
        return
    connected = JoinGraph(join)

    @cache
    def trees(inputs: _Inputs) -> tuple[JoinTree, ...]:
        if len(inputs) == 1:
            assert names is not None
            return (TreeLeaf(names[inputs[0]]),)
        found: list[JoinTree] = []
        for parts in sorted(_cut(inputs), key=len, reverse=True):
            if len(parts) > 1 and all(map(connected.makes_subresult, parts)):
                spend()
                found += (TreeJoin(below) for below in product(*map(trees, parts)))
        return tuple(found)

    for tree in trees(tuple(range(len(names)))):
        assert isinstance(tree, TreeJoin)
        yield tree


class JoinGraph:
    """Which inputs of a join its predicates connect."""

    def __init__(self, join: Join) -> None:
        own = [frozenset(operand.schema) for operand in join.operands]
        read = [columns(predicate) for predicate in join.on]
        meeting = [frozenset(n for n, schema in enumerate(own) if each & schema) for each in read]
        for same in join_classes(join):
            with_same = [n for n, schema in enumerate(own) if same & schema]
            meeting += map(frozenset, combinations(with_same, 2))
        self._edges = {inputs for inputs in meeting if len(inputs) > 1}
        self._whole = self._components(frozenset(range(len(own))))

    def makes_subresult(self, inputs: Iterable[int]) -> bool:
        """Whether inputs may be joined by themselves: they are connected, or whole components of the join."""
        own = frozenset(inputs)
        return len(self._components(own)) == 1 or all(part <= own or not part & own for part in self._whole)

    def _components(self, inputs: frozenset[int]) -> list[frozenset[int]]:
        parts = [frozenset({number}) for number in inputs]
        for edge in self._edges:
            if edge <= inputs:
                meeting = frozenset[int]().union(*(part for part in parts if part & edge))
                parts = [part for part in parts if not part & edge] + [meeting]
        return parts


def _cut(inputs: _Inputs) -> Iterator[tuple[_Inputs, ...]]:
    """Cuts a set into parts in all ways."""
    if not inputs:
        yield ()
        return
    first, rest = inputs[:1], inputs[1:]
    for parts in _cut(rest):
        yield (first, *parts)
        yield from ((first + part, *parts[:i], *parts[i + 1 :]) for i, part in enumerate(parts))

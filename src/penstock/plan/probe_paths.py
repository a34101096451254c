"""Probe paths: for each input of a join, in which order its rows probe the others (MJoin, thesis 5.2).

    FROM a, b, c WHERE a.k = b.k AND b.m = c.m

    a: b by k ──▶ c by m          a row of a that comes finds those of b with its k, and each of them those of c
    b: a by k ──▶ c by m
    c: b by m ──▶ a by k

A path is a value: it can be printed, compared and replaced between two steps; the join only executes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.algebra.expressions import Comparator, Compare, Expr, columns
from penstock.algebra.relations import Schema
from penstock.closing.join_variables import join_variables
from penstock.closing.physical_join import COMBINATIONS, PhysicalJoin
from penstock.closing.rules import ByKey

#: The size of a block.
BLOCK = COMBINATIONS


class ProbeKind(Enum):
    """How many rows a probe finds: one at most, those with the same values, or all."""

    KEY = "key"
    EQUALITY = "equality"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a path: which input is probed, and by which join variables, whose values are bound before."""

    target: int
    variables: tuple[int, ...]
    kind: ProbeKind


#: The stages of one input's path, and the paths of all inputs.
Path = tuple[Stage, ...]
Paths = tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A stage in terms of stored rows: by which columns of the target, with values from which inputs' columns."""

    target: int
    columns: tuple[int, ...]
    sources: tuple[tuple[int, int], ...]


#: By input of a join, and by depth of its path.
ByDepth = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ProbeCounts:
    """What was found along the paths of a join: how many combinations probed at each stage, and the rows they matched.

    >>> ProbeCounts(((9, 5),), ((5, 3),)).since(ProbeCounts(((2, 1),), ((1, 0),)))
    ProbeCounts(probes=((7, 4),), matches=((4, 3),))
    """

    probes: ByDepth = ()
    matches: ByDepth = ()

    def since(self, before: ProbeCounts) -> ProbeCounts:
        """What was counted after `before`."""
        return ProbeCounts(_difference(self.probes, before.probes), _difference(self.matches, before.matches))


def _difference(now: ByDepth, before: ByDepth) -> ByDepth:
    if not before:  # nothing was counted yet
        return now
    lines = zip(now, before, strict=True)
    return tuple(tuple(n - b for n, b in zip(*line, strict=True)) for line in lines)


#: For each join variable the column of an input that holds it, or None.
Variables = tuple[int | None, ...]
#: An input, and variables of which no two of its rows have the same values.
Key = tuple[int, tuple[int, ...]]


def probe_paths(variables: Sequence[Variables], keys: Iterable[Key] = ()) -> Paths:
    """For each input an order in which the others are probed: those that share a variable with what is bound first.

    Of these, inputs that are probed by a key come before all others. They have a match or none; so of what is
    probed after them there is less, and not more.

    >>> for path in probe_paths([(0, None), (0, 1), (None, 0)]):
    ...     print([(stage.target, stage.variables) for stage in path])
    [(1, (0,)), (2, (1,))]
    [(0, (0,)), (2, (1,))]
    [(1, (1,)), (0, (0,))]
    """
    known = list(keys)

    def chosen(left: Sequence[int], shared: dict[int, tuple[int, ...]]) -> int:
        return max(left, key=lambda i: (_is_keyed(i, shared[i], known), len(shared[i]), -i))

    return tuple(_path(start, variables, known, chosen) for start in range(len(variables)))


def paths_of(join: PhysicalJoin) -> Paths:
    """The paths of a join, as far as nothing is known of its data but keys that are declared."""
    return probe_paths(variables_of(join), keys_of(join))


def keys_of(join: PhysicalJoin) -> list[Key]:
    """The keys of a join's inputs that are declared."""
    return [(rule.target, rule.variables) for rule in join.rules if isinstance(rule, ByKey)]


def variables_of(join: PhysicalJoin) -> list[Variables]:
    """Of each input the place of the column that holds each join variable."""
    own = zip(*join_variables(join), strict=True) if join_variables(join) else ((),) * len(join.operands)
    return [
        tuple(None if column is None else operand.schema.index(column) for column in columns)
        for operand, columns in zip(join.operands, own, strict=True)
    ]


def paths_in_order(variables: Sequence[Variables], orders: Sequence[Sequence[int]], keys: Iterable[Key] = ()) -> Paths:
    """For each input the path that probes the others in a given order.

    >>> paths_in_order([(0,), (0,), (0,)], [(2, 1), (2, 0), (1, 0)])[0][0]
    Stage(target=2, variables=(0,), kind=<ProbeKind.EQUALITY: 'equality'>)
    """
    known = list(keys)

    def following(order: Sequence[int]) -> _Choice:
        return lambda left, _: next(i for i in order if i in left)

    return tuple(_path(start, variables, known, following(order)) for start, order in enumerate(orders))


def located(paths: Paths, variables: Sequence[Variables]) -> tuple[tuple[Probe, ...], ...]:
    """The stages of paths in terms of columns. A value comes from the first input on the path that has its variable.

    A stage takes all variables that are bound, so that no equality is left to be tested.
    """
    return tuple(tuple(_probes(start, path, variables)) for start, path in enumerate(paths))


def _probes(start: int, path: Path, variables: Sequence[Variables]) -> Iterable[Probe]:
    bound = {v: (start, column) for v, column in enumerate(variables[start]) if column is not None}
    for stage in path:
        own = {v: column for v, column in enumerate(variables[stage.target]) if column is not None}
        assert set(stage.variables) == own.keys() & bound.keys(), f"{stage} leaves an equality out"
        yield Probe(stage.target, tuple(own[v] for v in stage.variables), tuple(bound[v] for v in stage.variables))
        for v, column in own.items():
            bound.setdefault(v, (stage.target, column))


def residual_of(join: PhysicalJoin) -> tuple[Expr, ...]:
    """The predicates of a join that no index evaluates: not an equality of columns by which inputs are joined."""
    variables = join_variables(join)

    def is_indexed(expr: Expr) -> bool:
        is_equality = isinstance(expr, Compare) and expr.op is Comparator.EQ
        return is_equality and any(set(expr.parts) <= set(variable) for variable in variables)

    return tuple(expr for expr in join.on if not is_indexed(expr))


def inputs_read(exprs: Iterable[Expr], schemas: Sequence[Schema]) -> tuple[frozenset[int], ...]:
    """By expression the inputs whose columns it reads."""
    own = [frozenset(schema) for schema in schemas]
    return tuple(frozenset(n for n, schema in enumerate(own) if columns(expr) & schema) for expr in exprs)


def tests_along(start: int, path: Path, reads: Sequence[frozenset[int]]) -> tuple[tuple[int, ...], ...]:
    """By depth of an input's path, which of the predicates that read these inputs are tested behind it: once, as soon
    as all that a predicate reads is bound.

    >>> path = (Stage(1, (0,), ProbeKind.EQUALITY), Stage(2, (1,), ProbeKind.EQUALITY))
    >>> tests_along(0, path, [frozenset({0, 1}), frozenset({0, 2}), frozenset({1})])
    ((0, 2), (1,))
    """
    bound, found = {start}, []
    left = list(range(len(reads)))
    for stage in path:
        bound.add(stage.target)
        found.append(tuple(number for number in left if reads[number] <= bound))
        left = [number for number in left if not reads[number] <= bound]
    return tuple(found)


#: Which of the inputs that are left is probed next; given are the variables that each shares with what is bound.
_Choice = Callable[[Sequence[int], dict[int, tuple[int, ...]]], int]


def _path(start: int, variables: Sequence[Variables], keys: Sequence[Key], choice: _Choice) -> Path:
    bound = {v for v, column in enumerate(variables[start]) if column is not None}
    left = [i for i in range(len(variables)) if i != start]
    stages: list[Stage] = []
    while left:
        own = {i: {v for v, column in enumerate(variables[i]) if column is not None} for i in left}
        shared = {i: tuple(sorted(own[i] & bound)) for i in left}
        target = choice(left, shared)
        keyed = _is_keyed(target, shared[target], keys)
        kind = ProbeKind.KEY if keyed else ProbeKind.EQUALITY if shared[target] else ProbeKind.PRODUCT
        stages.append(Stage(target, shared[target], kind))
        bound |= own[target]
        left.remove(target)
    return tuple(stages)


def _is_keyed(number: int, shared: tuple[int, ...], keys: Sequence[Key]) -> bool:
    return any(i == number and set(key) <= set(shared) for i, key in keys)

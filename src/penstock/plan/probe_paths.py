"""Probe paths: for each input of a join, in which order its rows probe the others (MJoin, thesis 5.2).

A path is a value: it can be printed, compared and replaced between two steps; the join only executes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Probe:
    """A stage of a probe path: which input is probed, by which of its columns, with values from where."""

    target: int
    columns: tuple[int, ...]
    sources: tuple[tuple[int, int], ...]


#: For each join variable the column of an input that holds it, or None.
Variables = tuple[int | None, ...]
#: An input, and variables of which no two of its rows have the same values.
Key = tuple[int, tuple[int, ...]]


def probe_paths(variables: Sequence[Variables], keys: Iterable[Key] = ()) -> tuple[tuple[Probe, ...], ...]:
    """For each input an order in which the others are probed: those that share a variable with what is bound first.

    Of these, inputs that are probed by a key come before all others. They have a match or none; so of what is
    probed after them there is less, and not more.
    """
    return tuple(_path(start, variables, list(keys)) for start in range(len(variables)))


def _path(start: int, variables: Sequence[Variables], keys: Sequence[Key]) -> tuple[Probe, ...]:
    bound = {v: (start, c) for v, c in enumerate(variables[start]) if c is not None}
    left = [i for i in range(len(variables)) if i != start]
    probes: list[Probe] = []
    while left:
        shared = {i: [v for v, c in enumerate(variables[i]) if c is not None and v in bound] for i in left}
        keyed = {i for i, key in keys if i in left and set(key) <= set(shared[i])}
        target = max(left, key=lambda i: (i in keyed, len(shared[i]), -i))
        own = variables[target]
        key = [(column, bound[v]) for v in shared[target] if (column := own[v]) is not None]
        probes.append(Probe(target, tuple(c for c, _ in key), tuple(source for _, source in key)))
        for v, column in enumerate(own):
            if column is not None:
                bound.setdefault(v, (target, column))
        left.remove(target)
    return tuple(probes)

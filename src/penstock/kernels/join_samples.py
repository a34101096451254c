"""Samples of a join: for some of the events that probe, how many combinations they have with every set of other inputs.

The sets are the nodes of a tree (`plan.join_sets`), which is searched depth first: each match in the input of a node is
a combination of that set, with which its children are probed. A set may have very many. So of one event only a few
combinations of a set are followed, and the larger set is estimated by how many matches each of these had.

    est(S + t) = est(S) * matches of t / probes of t

A node that no index serves passes over the rows of its input, or over a section of them if they are many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import first, following
from penstock.kernels.jit import lean
from penstock.kernels.mjoin import ABSENT, COLUMNS, HEADS, LINKS, MASK, ROWS, VISIBILITY, WIDTH, is_visible
from penstock.kernels.pointers import peek, peek_int32

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Columns of the table of nodes: the input that is probed and by which index (-1: none), the node's first child, its
#: next sibling and its parent (-1: there is none), and how many columns have to agree.
TARGET, INDEX, CHILD, SIBLING, PARENT, CHECKS = range(6)

#: Combinations of a set that are followed; fewer where the next set is found without an index. Slots of a section.
FOLLOWED, FOLLOWED_SLOWLY = 8, 1
SECTION = 1 << 13
#: So many rows are passed over in the time that it takes to find one by an index.
SCANNED = 16
#: Rows that are examined for one event at most.
MOST_EXAMINED = 1 << 15


class SetTrees(NamedTuple):
    """The trees of all inputs: input i has the nodes from `starts[i]` up to `starts[i + 1]`.

    `columns[node]` are those of the probed input that have to agree, the ones of the index first, with the values of
    `key_inputs[node]`, `key_columns[node]`.
    """

    starts: Ints
    nodes: Ints
    columns: Ints
    key_inputs: Ints
    key_columns: Ints


class Scratch(NamedTuple):
    """Room for what is in work: by depth the node, the next candidate and the key; the combination; counts by node."""

    at: Ints
    cursor: Ints
    key: Ints
    bound: Ints
    probes: Ints
    matches: Ints


@lean
def sample_sets(
    sources: Ints,
    slots: Ints,
    numbers: Ints,
    inputs: Ints,
    capacities: Ints,
    indexes: Ints,
    since: Ints,
    trees: SetTrees,
    scratch: Scratch,
    estimates: Floats,
    walks: Ints,
) -> int:
    """Estimates for each event, by node of its input's tree, how many combinations it has. Gives the rows examined.

    `walks[i, t]` counts how often events of input i probed input t by an index, and the rows that they walked over.
    """
    starts, nodes, columns, key_inputs, key_columns = trees
    at, cursor, key, bound, probes, matches = scratch
    all_examined = scanned = 0
    for s in range(len(slots)):
        source, event = sources[s], numbers[s]
        start, end = starts[source], starts[source + 1]
        for own in range(end - start):
            probes[own] = matches[own] = 0
        bound[source] = slots[s]
        at[0], depth, entering, examined = start, 0, True, 0
        while depth >= 0:
            node = at[depth]
            own = node - start
            target, index, checks = nodes[node, TARGET], nodes[node, INDEX], nodes[node, CHECKS]
            candidate = -1
            if not entering:
                candidate = cursor[depth]
            elif probes[own] < (FOLLOWED if index >= 0 else FOLLOWED_SLOWLY) and examined < MOST_EXAMINED:
                probes[own] += 1
                for c in range(checks):
                    origin = key_inputs[node, c]
                    word = bound[origin] * inputs[origin, WIDTH] + key_columns[node, c]
                    key[depth, c] = peek(inputs[origin, ROWS] + 8 * word)
                if index >= 0:
                    walks[source, target, 0] += 1
                    hashed = prefix_hash(key, depth, indexes[index, COLUMNS])
                    candidate = first(indexes[index, HEADS], indexes[index, MASK], hashed)
                elif capacities[target] > 0:
                    candidate = _section(slots[s], capacities[target])
            descends = False
            while candidate >= 0 and not descends:
                found = candidate
                if index >= 0:
                    walks[source, target, 1] += 1
                    examined += 1
                    candidate = following(indexes[index, LINKS], found)
                else:
                    candidate = _next_of_section(found, slots[s], capacities[target])
                    scanned += 1
                visibility = peek_int32(inputs[target, VISIBILITY] + 4 * found)
                if visibility != ABSENT and is_visible(visibility, event, since):
                    row = inputs[target, ROWS] + 8 * found * inputs[target, WIDTH]
                    agree = True
                    for c in range(checks):
                        agree = agree and peek(row + 8 * columns[node, c]) == key[depth, c]
                    if agree:
                        matches[own] += 1
                        descends = nodes[node, CHILD] >= 0 and matches[own] <= FOLLOWED
                        bound[target] = found
                if examined >= MOST_EXAMINED:
                    candidate = -1
            if descends:
                cursor[depth] = candidate
                depth += 1
                at[depth], entering = nodes[node, CHILD], True
            elif nodes[node, SIBLING] >= 0:
                at[depth], entering = nodes[node, SIBLING], True
            else:
                depth, entering = depth - 1, False
        _estimate(start, end, nodes, capacities, probes, matches, estimates, s)
        all_examined += examined + (end - start)
    return all_examined + scanned // SCANNED


@lean
def _section(seed: int, capacity: int) -> int:
    """The slot at which a section begins."""
    return 0 if capacity <= SECTION else (seed * 7919) % capacity


@lean
def _next_of_section(slot: int, seed: int, capacity: int) -> int:
    """The next slot of a section, or -1."""
    begin = _section(seed, capacity)
    here = slot + 1 if slot + 1 < capacity else 0
    done = here - begin if here >= begin else here - begin + capacity
    return -1 if done >= min(capacity, SECTION) or here == begin else here


@lean
def _estimate(
    start: int, end: int, nodes: Ints, capacities: Ints, probes: Ints, matches: Ints, estimates: Floats, s: int
) -> None:
    for own in range(end - start):
        node = start + own
        parent = nodes[node, PARENT]
        before = 1.0 if parent < 0 else estimates[s, parent - start]
        capacity = capacities[nodes[node, TARGET]]
        scale = capacity / SECTION if nodes[node, INDEX] < 0 and capacity > SECTION else 1.0
        # A set that was not reached, though the smaller one has combinations, is taken for as large as that.
        estimates[s, own] = before * scale * matches[own] / probes[own] if probes[own] > 0 else before

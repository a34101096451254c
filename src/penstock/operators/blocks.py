"""Blocks: what an operator gives in a step, piece by piece, so that no step holds all results of a join at once.

    join ──▶ ▒▒▒▒ ──▶ ▒▒▒▒ ──▶ ▒▒ ──▶ aggregate, which has worked a block in before the next one is made
             t=1 1 1 2   2 2 2 2   2 3

Blocks come in the order of time, and there is at least one, which may be empty. An instant may be spread over several
of them: who works on an instant as a whole asks for `whole_instants`. Then what is held is what one instant has, as a
bag. All blocks have to be taken: an operator ends its step behind the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from penstock.operators.netting import netted
from penstock.plan.probe_paths import BLOCK
from penstock.synopsis.deltas import Deltas, one_after_the_other

Blocks = Iterator[Deltas]


def whole_instants(blocks: Iterable[Deltas]) -> Blocks:
    """The same changes in blocks that end with an instant. Of a long one, changes that cancel out are left out.

    >>> def block(*ts: int) -> Deltas:
    ...     return Deltas(np.array(ts), np.ones(len(ts), np.int64), np.zeros((len(ts), 1), np.int64))
    >>> [each.ts.tolist() for each in whole_instants([block(1, 1, 2), block(2), block(2, 3), block(4)])]
    [[1, 1], [2, 2, 2, 3], [4]]
    """
    instant = _Instant()
    held: Deltas | None = None
    for block in blocks:
        if held is None or not len(held):
            held = block
        elif len(block):
            last = held.ts[-1]
            if block.ts[0] != last:
                yield instant.all_with(held)
                held = block
                continue
            cut = int(np.searchsorted(held.ts, last, side="left"))
            if cut:
                yield instant.all_with(held.take(slice(0, cut)))
            instant.hold(held.take(slice(cut, None)))
            held = block
    if held is not None:
        yield instant.all_with(held)


class _Instant:
    """What has come of an instant that is not over."""

    def __init__(self) -> None:
        self._parts: list[Deltas] = []
        self._size, self._limit = 0, 2 * BLOCK

    def hold(self, part: Deltas) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            self._parts = [netted(one_after_the_other(self._parts))]
            self._size = len(self._parts[0])
            # Doubling keeps the work in proportion to what comes.
            self._limit = 2 * max(BLOCK, self._size)

    def all_with(self, rest: Deltas) -> Deltas:
        """What was held, and what comes behind it; then nothing is held."""
        if not self._parts:
            return rest
        parts, self._parts, self._size, self._limit = self._parts, [], 0, 2 * BLOCK
        return one_after_the_other([*parts, rest])


def gathered(blocks: Iterable[Deltas], least: int) -> Blocks:
    """The changes in blocks of at least so many, but for the last, without empty ones: a block has a cost of its own.

    >>> def block(*ts: int) -> Deltas:
    ...     return Deltas(np.array(ts), np.ones(len(ts), np.int64), np.zeros((len(ts), 1), np.int64))
    >>> [each.ts.tolist() for each in gathered([block(1), block(), block(2, 3), block(4)], 3)]
    [[1, 2, 3], [4]]
    """
    held: list[Deltas] = []
    count = 0
    for block in blocks:
        if len(block):
            held.append(block)
            count += len(block)
        if count >= least:
            yield one_after_the_other(held)
            held, count = [], 0
    if held:
        yield one_after_the_other(held)


def together(blocks: Iterable[Deltas]) -> Deltas:
    """All blocks as one."""
    parts = list(blocks)
    return one_after_the_other([part for part in parts if len(part)] or parts[:1])


def in_step(sides: Sequence[Iterable[Deltas]]) -> Iterator[list[Deltas]]:
    """Blocks of several relations, cut at the same instants: one of each, which end with an instant."""
    rest = [whole_instants(side) for side in sides]
    heads = [next(side) for side in rest]
    is_over = [False] * len(rest)
    is_first = True
    while True:
        for number, side in enumerate(rest):
            while not len(heads[number]) and not is_over[number]:
                following = next(side, None)
                is_over[number] = following is None
                heads[number] = heads[number] if following is None else following
        ends = [int(head.ts[-1]) for head in heads if len(head)]
        if not ends and not is_first:
            return
        is_first = False
        cuts = [int(np.searchsorted(head.ts, min(ends, default=0), side="right")) for head in heads]
        yield [head.take(slice(0, cut)) for head, cut in zip(heads, cuts, strict=True)]
        heads = [head.take(slice(cut, None)) for head, cut in zip(heads, cuts, strict=True)]

"""Shares: how many cells each dimension of a fragment has (HyperCube: Afrati and Ullman 2010, Beame et al. 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from penstock.effort import spend

#: To multiply so many shares takes about as long as a step of other work.
_PRODUCTS_PER_STEP = 20


def choose_shares(inputs: list[list[bool]], cells: int) -> tuple[int, ...]:
    """Cells per variable, so that rows are copied as little as can be and as many cells as can be are used.

    `inputs[i][v]` says whether input i has variable v. An input is copied along the variables that it lacks. Of the
    variables that the same inputs have, only the last gets more than one: which of them it is makes no difference.

    >>> choose_shares([[True, False], [True, True], [False, True]], 4)
    (2, 2)
    >>> choose_shares([[True], [True], [True]], 4)
    (4,)
    """
    held_by = list(zip(*inputs, strict=True))
    last = sorted({inputs_with: variable for variable, inputs_with in enumerate(held_by)}.values())
    best: tuple[float, int, tuple[int, ...]] | None = None
    for shares in _grids(len(last), cells):
        spend(1 + len(last) * len(inputs) // _PRODUCTS_PER_STEP)
        used = prod(shares)
        copies = sum(prod(s for s, v in zip(shares, last, strict=True) if not own[v]) for own in inputs)
        # What a cell gets: copies spread over the cells that are used.
        load = (copies / used, copies, shares)
        if best is None or (load[0], load[1]) < (best[0], best[1]):
            best = load
    chosen = dict(zip(last, best[2], strict=True)) if best else {}
    return tuple(chosen.get(variable, 1) for variable in range(len(held_by)))


def _grids(dimensions: int, cells: int) -> Iterator[tuple[int, ...]]:
    """All grids of so many dimensions and at most so many cells."""
    if dimensions == 0:
        yield ()
        return
    for share in range(1, cells + 1):
        yield from ((share, *rest) for rest in _grids(dimensions - 1, cells // share))

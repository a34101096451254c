"""Routing: a row belongs to the cells of a fragment at the coordinates that its values hash to."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from penstock.algebra.relations import Schema
from penstock.kernels.hashing import row_hash
from penstock.kernels.jit import kernel
from penstock.operators.projection import projection
from penstock.plan.fragments import Fragment, Route
from penstock.synopsis.codes import is_interned
from penstock.synopsis.deltas import is_null
from penstock.synopsis.dictionary import Dictionary, stable_hash
from penstock.synopsis.memory import Ints


class Router:
    """Finds the cells of a leaf's rows. `schema` is that of the rows that are routed."""

    def __init__(self, fragment: Fragment, route: Route, schema: Schema) -> None:
        shares = fragment.shares
        strides = [prod(shares[dimension + 1 :]) for dimension in range(len(shares))]
        self._parts = [
            (projection(dimension, schema), [is_interned(expr.type) for expr in dimension], share, stride)
            for dimension, share, stride in zip(route.dimensions, shares, strides, strict=True)
            if dimension is not None and share > 1
        ]
        spread = [
            [stride * i for i in range(share)]
            for dimension, share, stride in zip(route.dimensions, shares, strides, strict=True)
            if dimension is None
        ]
        #: The cells that a row is copied to, relative to its own coordinates.
        self._offsets = np.array([sum(choice) for choice in product(*spread)], np.int64)

    @property
    def is_trivial(self) -> bool:
        """Returns whether there is one cell, which takes every row."""
        return not self._parts and len(self._offsets) == 1

    def cells(self, rows: Ints, dictionary: Dictionary) -> tuple[Ints, Ints]:
        """Returns pairs of a row's number and a cell that receives it."""
        base = np.zeros(len(rows), np.int64)
        for project, interned, share, stride in self._parts:
            base += stride * (_hashes(project(rows, dictionary), interned, dictionary) % share)
        copies = len(self._offsets)
        if copies == 1:
            return np.arange(len(rows)), base + self._offsets[0]
        return np.repeat(np.arange(len(rows)), copies), np.repeat(base, copies) + np.tile(self._offsets, len(rows))


def _hashes(rows: Ints, interned: list[bool], dictionary: Dictionary) -> Ints:
    """Returns hashes that are the same in every process: codes of a dictionary differ, so their values are hashed."""
    for column, is_number in enumerate(interned):
        if is_number:
            # A NULL has no value, and its code is that of some other value in each process.
            live = ~is_null(rows, column, len(interned))
            codes, places = np.unique(rows[live, column], return_inverse=True)
            values = [stable_hash(dictionary.value(int(code))) for code in codes]
            rows[live, column] = np.array(values, np.int64)[places]
    return _row_hashes(rows)


@kernel
def _row_hashes(rows: Ints) -> Ints:
    columns = np.arange(rows.shape[1])
    hashes = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        # Buckets inside a cell use the low bits of the same hash, so cells use the high ones.
        hashes[i] = row_hash(rows, i, columns) >> 20
    return hashes

"""CASE and COALESCE whose parts call user functions: a part is computed on the rows that take it only.

All other parts may be computed on all rows, since they never fail. So the rows are not cut: user functions get
the rows on which they are called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.operators.scalars.vectors import Batch, Evaluate, Mask, Vector, VectorRule


def case(parts: Sequence[Evaluate], branches: int, rule: VectorRule) -> Evaluate:
    """CASE by a rule of all its parts: conditions, as many values, and the value where no condition is true."""

    def evaluate(batch: Batch) -> Vector:
        left: Mask = np.ones(len(batch), np.bool_)
        conditions, values = [], []
        for condition, value in zip(parts[:branches], parts[branches:-1], strict=True):
            with batch.calls.only(left):
                conditions.append(condition(batch))
            takes = _is_true(conditions[-1])
            with batch.calls.only(left & takes):
                values.append(value(batch))
            left = left & ~takes
        with batch.calls.only(left):
            otherwise = parts[-1](batch)
        return rule(batch, [*conditions, *values, otherwise])

    return evaluate


def coalesce(parts: Sequence[Evaluate], rule: VectorRule) -> Evaluate:
    """COALESCE by a rule of all its parts."""

    def evaluate(batch: Batch) -> Vector:
        left: Mask = np.ones(len(batch), np.bool_)
        values = []
        for part in parts:
            with batch.calls.only(left):
                values.append(part(batch))
            nulls = values[-1].nulls
            left = left & (np.zeros(1, np.bool_) if nulls is None else nulls)
        return rule(batch, values)

    return evaluate


def _is_true(vector: Vector) -> Mask:
    return vector.data if vector.nulls is None else vector.data & ~vector.nulls

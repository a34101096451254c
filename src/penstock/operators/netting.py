"""i-stream, d-stream, and the change log: what is left of an instant's changes as bags."""

from __future__ import annotations

from penstock.kernels.netting import net
from penstock.synopsis.deltas import Deltas


def netted(deltas: Deltas) -> Deltas:
    """One delta per instant and row, with the sum of its weights, where that is not 0."""
    kept, sums = net(deltas.ts, deltas.weight, deltas.rows)
    return Deltas(deltas.ts[kept], sums, deltas.rows[kept])


def inserted(deltas: Deltas) -> Deltas:
    """ISTREAM: what came."""
    came = deltas.weight > 0
    return deltas if came.all() else deltas.take(came)


def deleted(deltas: Deltas) -> Deltas:
    """DSTREAM: what went, as a stream, which has insertions only."""
    gone = deltas.take(deltas.weight < 0)
    return Deltas(gone.ts, -gone.weight, gone.rows)

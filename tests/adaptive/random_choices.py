"""Runs whose tuners change every order of filters and every choice of joins at random, after every few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from penstock.adaptive.tuners import Tuners
from penstock.plan.adaptivity import Adaptive


@contextmanager
def random_choices() -> Iterator[None]:
    """Joins change all their probe paths after every part of a step, which are of three rows."""

    def at_random(settings: Adaptive) -> Tuners:
        return Tuners(Adaptive(strategy="random"))

    with (
        patch("penstock.engines.embedded.tuners_of", at_random),
        patch("penstock.engines.spark.state_recovery.tuners_of", at_random),
        patch.multiple("penstock.operators.machine", SMALLEST_PART=3, SLICE=3, SMALLEST_SLICE=3),
    ):
        yield

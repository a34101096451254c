"""What of a run can be changed while it runs, between two steps (thesis 2.4). Only the wait timeout changes results.

Settings are a value: a run is given new ones at the boundary of a step, on Spark in a micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.forgetting import EAGER, Forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSizes:
    """How many rows the embedded engine reads at a time."""

    #: Rows that are pushed at least; the cost of a step does not pay for fewer.
    least: int = 1 << 15
    #: Rows that are pushed at most before a step where filters let few of them through.
    most: int = 1 << 19
    #: Rows of a stream that a step takes at most; None: as many as come.
    read_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    #: How often a purge comes, and the wait timeout. What is spilled cannot be changed.
    forgetting: Forgetting = EAGER
    #: Whether rows are purged by an inferred k, and the k above which it is of no use; None: as declared.
    uses_inferred: bool = True
    threshold: int | None = None
    adaptive: Adaptive = FULL
    #: Orders of filters that are pinned, by the names of the filters.
    orders: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    steps: StepSizes = StepSizes()
    #: Bytes that rows may take, kept and on their way; None: as many as they take.
    memory: int | None = None
    #: What runs next where input is pushed and rows wait: 'chain', 'greedy' or 'fifo' (thesis 2.3.2).
    scheduling: str = "chain"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of_json(given: Mapping[str, Any]) -> Settings:
        """Returns the settings that `as_json` gave.

        >>> some = Settings(uses_inferred=False, orders={"s 0.s": (1, 0)})
        >>> Settings.of_json(some.as_json()) == some
        True
        """
        return Settings(
            forgetting=Forgetting(**given["forgetting"]),
            uses_inferred=given["uses_inferred"],
            threshold=given["threshold"],
            adaptive=Adaptive(**given["adaptive"]),
            orders={name: tuple(order) for name, order in given["orders"].items()},
            steps=StepSizes(**given["steps"]),
            memory=given["memory"],
            scheduling=given["scheduling"],
        )

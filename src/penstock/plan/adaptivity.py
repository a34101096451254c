"""How far a query adapts to its data while it runs. No result depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from penstock.algebra.relations import ADAPTIVE_MODES
from penstock.errors import PenstockError


class Strategy(Enum):
    """How filters are ordered (thesis, table 4.3)."""

    #: A-Greedy; Sweep, where nothing changes and a full profile is too dear.
    AUTO = "auto"
    A_GREEDY = "a-greedy"
    SWEEP = "sweep"
    INDEPENDENT = "independent"
    LOCAL_SWAPS = "local-swaps"
    #: Another order after every chunk, for tests that no result depends on it.
    RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """How far a run adapts to its data. Results do not depend on it.

    >>> import penstock
    >>> penstock.Adaptive(mode="orders").strategy
    'auto'
    >>> penstock.Adaptive(mode="some")
    Traceback (most recent call last):
    ...
    penstock.errors.PenstockError: some is not a mode of adaptivity
      hint: choose one of off, orders, full
    """

    #: What may change: nothing, with 'off' (filters are evaluated as they are written, cheap ones first); with 'orders'
    #: the orders of filters and joins; with 'full' all that can be tuned.
    mode: str = "full"
    #: How filters are ordered: 'auto', 'a-greedy', 'sweep', 'independent' or 'local-swaps'.
    strategy: str = Strategy.AUTO.value
    #: The part of the rows that are profiled: evaluated by all filters.
    drop_profiling_probability: float = 0.01
    #: Profile tuples on which a decision rests.
    profile_window: int = 1000
    #: Two filters are exchanged only if the ratio of their ranks is below this, so that similar ones stay in place.
    thrash_avoidance: float = 0.9
    #: The part of the time of filters that profiles may take.
    profiling_budget: float = 0.03
    #: A new order is adopted if it is better by so many standard errors of what was measured.
    confidence: float = 0.5
    #: Decisions that the plan log keeps.
    plan_log: int = 64
    #: Bytes that the subresult caches of a join may take; None is half of what its rows take, and 256 KiB at least.
    cache_memory: int | None = None

    def __post_init__(self) -> None:
        _require_one_of("mode of adaptivity", self.mode, ADAPTIVE_MODES)
        _require_one_of("strategy", self.strategy, [each.value for each in Strategy])
        _require_between("drop_profiling_probability", self.drop_profiling_probability, 0, 1)
        _require_between("profile_window", self.profile_window, 64, 100_000, whole=True)
        _require_between("thrash_avoidance", self.thrash_avoidance, 0, 1, low_open=True)
        _require_between("profiling_budget", self.profiling_budget, 0, 1)
        _require_between("confidence", self.confidence, 0, 10)
        _require_between("plan_log", self.plan_log, 1, 10_000, whole=True)
        if self.cache_memory is not None:
            _require_between("cache_memory", self.cache_memory, 0, 1 << 40, whole=True)

    @property
    def orders(self) -> bool:
        """Returns whether orders may change."""
        return self.mode != "off"

    @property
    def caches(self) -> bool:
        """Returns whether joins may use subresult caches."""
        return self.mode == "full" and self.cache_memory != 0


def _require_one_of(what: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise PenstockError(f"{given} is not a {what}", f"choose one of {', '.join(known)}")


def _require_between(
    name: str, given: float, low: float, high: float, *, whole: bool = False, low_open: bool = False
) -> None:
    kinds = (int,) if whole else (int, float)
    is_number = isinstance(given, kinds) and not isinstance(given, bool)
    if not is_number or not low <= given <= high or (low_open and given == low):
        number = "a whole number" if whole else "a number"
        above = "above" if low_open else "from"
        raise PenstockError(f"{name} is {given}", f"give {number} {above} {low} to {high}")


FULL = Adaptive()
OFF = Adaptive(mode="off")

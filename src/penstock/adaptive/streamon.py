"""StreaMon (thesis 3.1, figure 3.1): an Executor runs a plan, a Profiler measures, a Re-optimizer chooses.

        Executor ── profile() ──▶ Profiler ── statistics ──▶ Re-optimizer
           ▲                                                      │
           └───────────────────── use(choice) ────────────────────┘

An Executor is whatever can be tuned: it shows what it measured, and takes a choice, which is a value. The loop goes
round between two parts of its work, and knows nothing else of it. Each choice goes to the plan log (7.1).
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

ProfileT = TypeVar("ProfileT")
ProfileT_co = TypeVar("ProfileT_co", covariant=True)
ProfileT_contra = TypeVar("ProfileT_contra", contravariant=True)
StatisticsT = TypeVar("StatisticsT")
StatisticsT_co = TypeVar("StatisticsT_co", covariant=True)
StatisticsT_contra = TypeVar("StatisticsT_contra", contravariant=True)
ChoiceT = TypeVar("ChoiceT")
ChoiceT_co = TypeVar("ChoiceT_co", covariant=True)
ChoiceT_contra = TypeVar("ChoiceT_contra", contravariant=True)


class Executor(Protocol[ProfileT_co, ChoiceT_contra]):
    """What can be tuned."""

    def profile(self) -> ProfileT_co:
        """Returns what was measured since the last call."""

    def use(self, choice: ChoiceT_contra, /) -> None:
        """Works by this choice from now on. No result depends on it."""


class Profiler(Protocol[ProfileT_contra, StatisticsT_co]):
    """Keeps statistics of what was measured."""

    def observe(self, profile: ProfileT_contra, /) -> StatisticsT_co | None:
        """Takes a profile, and returns the statistics if they may have changed enough to ask for another choice."""


class Reoptimizer(Protocol[StatisticsT_contra, ChoiceT_co]):
    """Chooses by statistics."""

    def choose(self, statistics: StatisticsT_contra, /) -> ChoiceT_co | None:
        """Returns what is to be used from now on; None leaves it as it is."""


class StreaMon(Generic[ProfileT, StatisticsT, ChoiceT]):
    """The loop."""

    def __init__(
        self, profiler: Profiler[ProfileT, StatisticsT], reoptimizer: Reoptimizer[StatisticsT, ChoiceT]
    ) -> None:
        self.profiler = profiler
        self.reoptimizer = reoptimizer

    def decide(self, profile: ProfileT) -> ChoiceT | None:
        """Returns what is to be used after what was measured; None leaves it as it is."""
        statistics = self.profiler.observe(profile)
        return None if statistics is None else self.reoptimizer.choose(statistics)

    def tune(self, executor: Executor[ProfileT, ChoiceT]) -> None:
        """Goes round once, between two parts of the executor's work."""
        choice = self.decide(executor.profile())
        if choice is not None:
            executor.use(choice)

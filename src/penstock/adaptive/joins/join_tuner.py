"""The tuner of a join: StreaMon's loop over its Profiler and its Re-optimizer, between two parts of a step."""

from __future__ import annotations

from dataclasses import replace

from penstock.adaptive.joins.join_profiler import JoinProfiler
from penstock.adaptive.joins.join_reoptimizer import JoinLog, JoinReoptimizer
from penstock.adaptive.plan_log import PlanLog
from penstock.adaptive.streamon import StreaMon
from penstock.operators.joins.mjoin import JoinCore
from penstock.plan.adaptivity import FULL, Adaptive
from penstock.plan.join_choice import Orders
from penstock.plan.join_sets import variable_sets

#: Events below which a part is not examined by itself.
FEW_EVENTS = 1 << 10


class AdaptiveJoinTuner:
    """Orders the probe paths of one join; `inputs` are the names of its inputs."""

    def __init__(self, inputs: tuple[str, ...], settings: Adaptive = FULL) -> None:
        self.inputs, self._settings = inputs, settings
        self.log: JoinLog = PlanLog(settings.plan_log)
        self.profiler = JoinProfiler(len(inputs), settings.profile_window)
        #: The orders as written.
        self.written: Orders = ()
        #: Decisions that have been reported; the latest is reported again as long as it is used.
        self.reported = 0

    def adopt(self, join: JoinCore) -> None:
        """Takes over a join that was just built, whose choice is the one of its state. Profiles begin anew."""
        self.written = join.first_orders
        self.profiler = JoinProfiler(len(self.inputs), self._settings.profile_window, self.profiler.rows)
        own = variable_sets([source.variables for source in join.inputs])
        reoptimizer = JoinReoptimizer(own, self.profiler, self.log, self._settings)
        self._streamon = StreaMon(self.profiler, reoptimizer)
        join.wanted_samples = self.profiler.wanted

    def between(self, join: JoinCore) -> None:
        """Goes round StreaMon's loop once, if enough has happened."""
        if self.profiler.rows_before + join.event_count - self.profiler.rows < FEW_EVENTS or self.profiler.is_idle():
            return
        orders = self._streamon.decide(join.profile())
        if orders is not None:
            join.use(replace(join.choice, paths=join.in_order(orders).paths))
        join.wanted_samples = self.profiler.wanted

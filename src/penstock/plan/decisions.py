"""Decisions, as users see them: what was chosen when, on which statistics, and what it earned (thesis 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """An order of filters, and the statistics on which it was chosen. Costs are nanoseconds for a row."""

    #: Where the filters are: a stream's scan, or an operator of a fragment and cell.
    place: str
    #: Its number at that place, and how many rows had come before.
    number: int
    at: int
    reason: str
    #: The filters in their order; of each the part of all rows that it drops, and its time for a row.
    filters: tuple[str, ...]
    drops: tuple[float, ...]
    nanoseconds: tuple[float, ...]
    #: The profile tuples that say so.
    samples: int
    #: The rows for which it was used, the cost of a row, and what that would have been in the order as written.
    rows: int
    cost: float
    as_written: float
    #: What a row would have cost in the one order that is best for all decisions of the log together.
    best_single: float

    @property
    def earned(self) -> float:
        """Returns the nanoseconds that it saved against the order as written, by its own statistics."""
        return self.rows * (self.as_written - self.cost)

    @property
    def choice(self) -> str:
        """Returns what was chosen, in one line."""
        return " AND ".join(self.filters)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> FilterDecision:
        lists = {name: tuple(given[name]) for name in ("filters", "drops", "nanoseconds")}
        return cls(**{**given, **lists})


@dataclass(frozen=True, slots=True)
class JoinDecision:
    """The probe paths of a join, and the statistics on which they were chosen. Costs are in probes, for an event."""

    #: Where the join is: the fragment and cell, and the operator.
    place: str
    #: Its number at that place, and how many insertions and deletions had come before.
    number: int
    at: int
    reason: str
    #: Of each input its name, and those of the inputs that its rows probe, in this order.
    paths: tuple[tuple[str, ...], ...]
    #: Of each input by depth of its path how many combinations a row has; none where nothing was known of it.
    combinations: tuple[tuple[float, ...], ...]
    #: The events that were sampled.
    samples: int
    #: The events for which it was used, the cost of one, and what that would have been along the paths as written.
    rows: int
    cost: float
    as_written: float
    #: What an event would have cost along the paths that are best for all decisions of the log together.
    best_single: float

    @property
    def earned(self) -> float:
        """Returns the probes that it saved against the paths as written, by its own statistics."""
        return self.rows * (self.as_written - self.cost)

    @property
    def choice(self) -> str:
        """Returns what was chosen, in one line."""
        return "; ".join(f"{start}: {', '.join(others)}" for start, *others in self.paths)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> JoinDecision:
        lists = {name: tuple(map(tuple, given[name])) for name in ("paths", "combinations")}
        return cls(**{**given, **lists})


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """That a query runs by another plan from an instant on."""

    #: The fragment and cell, and the operator.
    place: str
    number: int
    #: The instant, in microseconds.
    at: int
    reason: str
    plan: str

    @property
    def choice(self) -> str:
        """Returns what was chosen, in one line."""
        return self.plan

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> PlanDecision:
        return cls(**given)


Decision = FilterDecision | JoinDecision | PlanDecision


def decision_of_json(given: Mapping[str, Any]) -> Decision:
    """Returns a decision as metrics report it."""
    if "plan" in given:
        return PlanDecision.of_json(given)
    return JoinDecision.of_json(given) if "paths" in given else FilterDecision.of_json(given)


def latest_decisions(lines: Iterable[Mapping[str, Any]]) -> list[Decision]:
    """Returns the decisions that lines of metrics report, each as it was reported last, by query, place and number."""
    found: dict[tuple[str, str, int], Decision] = {}
    for line in lines:
        for each in line.get("decisions", ()):
            decision = decision_of_json(each)
            found[line["query"], decision.place, decision.number] = decision
    return [found[key] for key in sorted(found)]


def decisions_text(decisions: Iterable[Decision]) -> str:
    """Returns decisions as a person reads them, place by place."""
    lines: list[str] = []
    place = None
    total = 0.0
    for decision in decisions:
        if decision.place != place:
            place = decision.place
            lines.append(place)
        if isinstance(decision, JoinDecision):
            lines += _join_lines(decision)
        elif isinstance(decision, PlanDecision):
            lines.append(f"  {_REASONS[decision.reason]}: {decision.plan}")
        else:
            lines += _filter_lines(decision)
            total += decision.earned / 1e6
    if not lines:
        return "no order was changed"
    return "\n".join([*lines, f"all filters together {total:,.1f} ms {'saved' if total >= 0 else 'lost'}"])


def _filter_lines(decision: FilterDecision) -> Iterator[str]:
    yield f"  after {decision.at:,} rows, {_REASONS[decision.reason]}, on {decision.samples:,} samples:"
    for text, drops, time in zip(decision.filters, decision.drops, decision.nanoseconds, strict=True):
        yield f"    {text}  drops {drops:.1%}, {time:,.0f} ns a row"
    saved = decision.earned / 1e6
    yield (
        f"    used for {decision.rows:,} rows at {decision.cost:,.0f} ns each; as written "
        f"{decision.as_written:,.0f} ns, in the best single order {decision.best_single:,.0f} ns: "
        f"{saved:,.1f} ms {'saved' if saved >= 0 else 'lost'}"
    )


def _join_lines(decision: JoinDecision) -> Iterator[str]:
    yield f"  after {decision.at:,} events, {_REASONS[decision.reason]}, on {decision.samples:,} samples:"
    for (source, *targets), sizes in zip(decision.paths, decision.combinations, strict=True):
        shown = [f"{target} ({size:,.2f})" for target, size in zip(targets, sizes, strict=False)] or targets
        yield f"    {source}: {', '.join(shown)}"
    gain = 1 - decision.cost / decision.as_written if decision.as_written else 0.0
    yield (
        f"    used for {decision.rows:,} events at {decision.cost:,.1f} probes each; as written "
        f"{decision.as_written:,.1f}, along the best single paths {decision.best_single:,.1f}: "
        f"{abs(gain):.0%} {'saved' if gain >= 0 else 'lost'}"
    )


_REASONS = {
    "start": "the first choice",
    "violation": "another order is better",
    "drift": "rows pass at other rates, so all is measured anew",
    "wide": "an interval was wider than WITHIN allows",
    "recalled": "rates are as they were before, and so is the order",
}

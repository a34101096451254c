"""Decisions, as users see them: which order was chosen when, on which statistics, and what it earned (thesis 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    @property
    def earned(self) -> float:
        """Returns the nanoseconds that it saved against the order as written, by its own statistics."""
        return self.rows * (self.as_written - self.cost)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, given: Mapping[str, Any]) -> FilterDecision:
        lists = {name: tuple(given[name]) for name in ("filters", "drops", "nanoseconds")}
        return cls(**{**given, **lists})


def latest_decisions(lines: Iterable[Mapping[str, Any]]) -> list[FilterDecision]:
    """Returns the decisions that lines of metrics report, each as it was reported last, by query, place and number."""
    found: dict[tuple[str, str, int], FilterDecision] = {}
    for line in lines:
        for each in line.get("decisions", ()):
            decision = FilterDecision.of_json(each)
            found[line["query"], decision.place, decision.number] = decision
    return [found[key] for key in sorted(found)]


def decisions_text(decisions: Iterable[FilterDecision]) -> str:
    """Returns decisions as a person reads them, place by place."""
    lines: list[str] = []
    place = None
    total = 0.0
    for decision in decisions:
        if decision.place != place:
            place = decision.place
            lines.append(place)
        lines.append(f"  after {decision.at:,} rows, {_REASONS[decision.reason]}, on {decision.samples:,} samples:")
        shown = zip(decision.filters, decision.drops, decision.nanoseconds, strict=True)
        lines += [f"    {text}  drops {drops:.1%}, {time:,.0f} ns a row" for text, drops, time in shown]
        saved = decision.earned / 1e6
        total += saved
        lines.append(
            f"    used for {decision.rows:,} rows at {decision.cost:,.0f} ns each; as written "
            f"{decision.as_written:,.0f} ns: {saved:,.1f} ms {'saved' if saved >= 0 else 'lost'}"
        )
    if not lines:
        return "no order was changed"
    return "\n".join([*lines, f"all together {total:,.1f} ms {'saved' if total >= 0 else 'lost'}"])


_REASONS = {
    "start": "the first choice",
    "violation": "another order is better",
    "drift": "rows pass at other rates, so all is measured anew",
    "recalled": "rates are as they were before, and so is the order",
}

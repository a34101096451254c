"""The figures of thesis chapter 4: adaptive orders of pipelined filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from filter_runs import COMPONENTS, Clairvoyant, Costs, FilterRun, OwnTuner, ThesisTuner, Tuner, run_filters
from svg import Chart, Line

from penstock.adaptive.filters.a_greedy import AGreedy
from penstock.adaptive.filters.independent import Independent
from penstock.adaptive.filters.local_swaps import LocalSwaps
from penstock.adaptive.filters.sweep import STAGE, Sweep
from penstock.workloads import filters as data
from penstock.workloads.filters import CorrelatedFilters

#: Table 4.1.
PROBABILITY, HIGH_PROBABILITY, WINDOW = 0.01, 0.05, 1000
#: Rows of an experiment on convergence, and those before which orders need not have converged.
ROWS, CONVERGED = 160_000, 80_000
REPEATS = 5
NUMBERS = (2, 4, 6, 8, 10)
#: Selectivities of the four pairs of filters that change places.
DIFFERENT = (0.2, 0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 0.8)
CHANGING_ROWS = 1_000_000
TIMELINE_ROWS, CHANGED_AT = 1_000_000, 600_000

Runs = Mapping[str, FilterRun]


def tuner(name: str, words: data.Ints, costs: Costs, period: int) -> Tuner:
    match name:
        case "A-Greedy":
            return ThesisTuner(AGreedy(), costs, WINDOW)
        case "Independent":
            return ThesisTuner(Independent(), costs, WINDOW)
        case "Sweep":
            return ThesisTuner(Sweep(), costs, STAGE)
        case "LocalSwaps":
            return ThesisTuner(LocalSwaps(), costs, WINDOW)
        case "Penstock":
            return OwnTuner(costs)
    return Clairvoyant(words, period, costs)


def converged(
    names: Sequence[str], model: CorrelatedFilters, costs: Costs | None = None, probability: float = PROBABILITY
) -> dict[str, FilterRun]:
    """What strategies cost once nothing changes any more, over several runs: some orders are found by chance."""
    given = costs or (1.0,) * model.count
    found = {name: FilterRun() for name in names}
    for seed in range(REPEATS):
        words = model.words(ROWS, np.random.default_rng((model.count, seed)))
        for name in names:
            found[name].add(_run(name, words, given, probability, len(words), CONVERGED))
    for name, total in found.items():
        print(f"  {name:12} {total.probes_per_row:8.3f} probes a row", flush=True)
    return found


def _runs(names: Sequence[str], words: data.Ints, costs: Costs, period: int) -> dict[str, FilterRun]:
    """What strategies cost while selectivities change places after each period."""
    found = {}
    for name in names:
        found[name] = _run(name, words, costs, PROBABILITY, period)
        print(f"  {name:12} {found[name].probes_per_row:8.3f} probes a row", flush=True)
    return found


def _run(
    name: str, words: data.Ints, costs: Costs, probability: float, period: int, measured_from: int = 0
) -> FilterRun:
    profiled = 0.0 if name == "Optimal" else probability
    return run_filters(words, costs, tuner(name, words, costs, period), profiled, measured_from)


def equal(count: int, correlation: int = 2, selectivity: float = 0.5) -> CorrelatedFilters:
    return CorrelatedFilters((selectivity,) * count, correlation)


CONVERGING = ("Optimal", "A-Greedy", "Independent")
ALL = ("Optimal", "A-Greedy", "Sweep", "LocalSwaps", "Independent")
PROBES = "probes per row"


def of_models(title: str, x: str, models: Mapping[float, CorrelatedFilters]) -> Chart:
    found = {}
    for at, model in models.items():
        print(f"  {x}: {at:g}", flush=True)
        found[at] = converged(CONVERGING, model)
    return Chart(title, x, PROBES, _lines(CONVERGING, found, lambda each: each.probes_per_row))


def _lines(names: Sequence[str], found: Mapping[float, Runs], y: Callable[[FilterRun], float]) -> list[Line]:
    return [Line(name, [(at, y(runs[name])) for at, runs in found.items()]) for name in names]


@cache
def by_number() -> dict[float, Runs]:
    """Figures 4.15 and 4.16, with a drop-profiling probability of 0.05."""
    return {float(n): converged(ALL, equal(n), probability=HIGH_PROBABILITY) for n in NUMBERS}


@cache
def by_cost() -> dict[float, Runs]:
    """Figures 4.17 and 4.18: of eight filters every other one costs c."""
    return {
        float(c): converged(ALL, equal(8), (1.0, float(c)) * 4, probability=HIGH_PROBABILITY) for c in (1, 10, 50, 100)
    }


def figure_4_15() -> Chart:
    lines = _lines(ALL, by_number(), lambda each: each.rows_per_second / 1e6)
    return Chart("All algorithms", "filters", "million rows per CPU second", lines)


def of_overhead(title: str, x: str, found: dict[float, Runs]) -> Chart:
    return Chart(title, x, "% of probes for profiles", _lines(ALL[1:], found, overhead))


def overhead(run: FilterRun) -> float:
    return 100 * run.profiling / run.probes


def changing(rows: int, period: int, seed: int = 3) -> data.Ints:
    """Words of filters whose selectivities change places at random after each period."""
    random = np.random.default_rng(seed)
    words = CorrelatedFilters(DIFFERENT).words(rows, random)
    for start in range(0, rows, period):
        piece = slice(start, start + period)
        words[piece] = data.permuted(words[piece], random.permutation(len(DIFFERENT)).tolist())
    return words


@cache
def timelines() -> Runs:
    """One change, after 600,000 rows, which turns the selectivities round."""
    words = CorrelatedFilters(DIFFERENT).words(TIMELINE_ROWS, np.random.default_rng(5))
    words[CHANGED_AT:] = data.permuted(words[CHANGED_AT:], tuple(reversed(range(len(DIFFERENT)))))
    return _runs((*ALL, "Penstock"), words, (1.0,) * len(DIFFERENT), CHANGED_AT)


def figure_of_timelines(*names: str) -> Chart:
    """From shortly before the change."""
    lines = []
    for name in ("Optimal", "A-Greedy", *names):
        points = [(at, y) for at, y in timelines()[name].timeline if at > CHANGED_AT - 100_000]
        lines.append(Line("Clairvoyant" if name == "Optimal" else name, points))
    return Chart(f"Adaptivity of A-Greedy and {names[0]}", "rows so far", PROBES, lines, x_from=CHANGED_AT - 100_000)


CHANGING = ("Optimal", "A-Greedy", "Sweep", "Independent", "LocalSwaps", "Penstock")


def over_clairvoyant(found: Mapping[float, Runs], title: str, x: str, is_logarithmic: bool = False) -> Chart:
    lines = [
        Line(name, [(at, runs[name].probes / runs["Optimal"].probes) for at, runs in found.items()])
        for name in CHANGING[1:]
    ]
    return Chart(title, x, "probes over the clairvoyant's", lines, x_is_logarithmic=is_logarithmic)


def figure_4_22() -> Chart:
    costs = (1.0, 10.0) * 4
    found: dict[float, Runs] = {}
    for period in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        print(f"  period {period:,}", flush=True)
        words = changing(max(CHANGING_ROWS, 2 * period), period)
        found[float(period)] = _runs(CHANGING, words, costs, period)
    return over_clairvoyant(found, "Varying the rate of change", "rows between changes", is_logarithmic=True)


def of_changing_costs(title: str, rows: int, period: int) -> Chart:
    words, found = changing(rows, period), {}
    for cost in (1, 10, 50, 100):
        print(f"  cost {cost}", flush=True)
        found[float(cost)] = _runs(CHANGING, words, (1.0, float(cost)) * 4, period)
    return over_clairvoyant(found, title, "cost of every other filter")


def table_4_2() -> None:
    """The share of each component in the CPU time of A-Greedy."""
    for count, probability in ((3, 0.01), (3, 0.05), (8, 0.01), (8, 0.05)):
        run = converged(("A-Greedy",), equal(count), probability=probability)["A-Greedy"]
        total, judged = sum(run.seconds.values()), run.seconds[COMPONENTS[0]]
        profiles = judged * run.profiling / run.probes
        shares = {"rows": judged - profiles, "profile tuples": profiles} | {
            name: run.seconds[name] for name in COMPONENTS[1:]
        }
        text = ", ".join(f"{name} {100 * spent / total:.2f}%" for name, spent in shares.items())
        print(f"table 4.2: n = {count}, p = {probability}: {text}", flush=True)


FILTER_FIGURES: dict[str, Callable[[], Chart]] = {
    "4.11": lambda: of_models("The number of filters", "filters", {n: equal(n) for n in NUMBERS}),
    "4.12": lambda: of_models(
        "Selectivity", "selectivity", {s: equal(8, selectivity=s) for s in (0.15, 0.3, 0.45, 0.6, 0.75, 0.85)}
    ),
    "4.13": lambda: of_models("Correlation, 3 filters", "Γ", {g: equal(3, g) for g in (1, 2, 3)}),
    "4.14": lambda: of_models("Correlation, 8 filters", "Γ", {g: equal(8, g) for g in (1, 2, 3, 4, 6, 8)}),
    "4.15": figure_4_15,
    "4.16": lambda: of_overhead("Overhead, p = 0.05", "filters", by_number()),
    "4.17": lambda: Chart(
        "Costs of filters",
        "cost of every other filter",
        PROBES,
        _lines(ALL, by_cost(), lambda each: each.probes_per_row),
    ),
    "4.18": lambda: of_overhead("Overhead, p = 0.05, n = 8", "cost of every other filter", by_cost()),
    "4.19": lambda: figure_of_timelines("Sweep"),
    "4.20": lambda: figure_of_timelines("LocalSwaps"),
    "4.21": lambda: figure_of_timelines("Independent", "Penstock"),
    "4.22": figure_4_22,
    "4.23": lambda: of_changing_costs("A change every 100,000 rows", CHANGING_ROWS, 100_000),
    "4.24": lambda: of_changing_costs("A change every 1,000,000 rows", 2_000_000, 1_000_000),
}

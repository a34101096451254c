"""Controls: what of a running query can be changed, by name, and how it is written (thesis 2.4).

A change is checked at once and takes effect at the boundary of the next step. It is recorded: metrics and `sysstream`
say what was changed. No result depends on any of them but `wait_timeout`, which says what is lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from penstock.algebra.relations import ADAPTIVE_MODES
from penstock.errors import PenstockError
from penstock.plan.adaptivity import Adaptive, Strategy
from penstock.plan.setting_change import SettingChange
from penstock.plan.settings import Settings
from penstock.sql.diagnostics import did_you_mean, listed
from penstock.types import duration_text, parsed_bytes, parsed_duration

#: What a run that stays says of itself, and says less of where its level is higher.
LOG = logging.getLogger("penstock")

_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Setting:
    """A property of a run that can be set, as users see it."""

    name: str
    #: How values are written.
    type: str
    value: str
    help: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


class Adjustable(Protocol):
    """A query that takes settings over between two steps."""

    @property
    def settings(self) -> Settings:
        """Returns the settings that it has."""

    @property
    def not_adjustable(self) -> Mapping[str, str]:
        """Returns the settings that it has no use for, each with what to do instead."""

    def adjust(self, settings: Settings, changes: Sequence[SettingChange] = ()) -> None:
        """Takes settings over. The changes are recorded with the metrics of the next step."""

    def filter_orders(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        """Returns by the names of filters that are ordered their texts, as written, and the current order."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting as a part of `Settings`: how it is read, and what a text makes of it."""

    name: str
    type: str
    help: str
    read: Callable[[Settings], str]
    changed: Callable[[Settings, str], Settings]


class Controls:
    """The settings of the queries of one run, from any thread. The run calls `apply` between two steps."""

    def __init__(self, queries: Sequence[Adjustable]) -> None:
        self._queries = queries
        #: The settings that all queries of the run have.
        self._knobs = {
            knob.name: knob for knob in KNOBS if not any(knob.name in query.not_adjustable for query in queries)
        }
        self._lock = threading.Lock()
        #: Changes that have been checked and wait for the boundary of a step.
        self._pending: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[Setting]:
        """Yields all settings, with the values that they have or are about to have."""
        with self._lock:
            settings = self._expected()
        for knob in self._knobs.values():
            values = dict.fromkeys(knob.read(own) for own in settings)
            yield Setting(knob.name, knob.type, " | ".join(values), knob.help)
        for name, (texts, order) in self._orders().items():
            pinned = any(_filters_of(name) in own.orders for own in settings)
            written = "; ".join(f"{number}: {text}" for number, text in enumerate(texts))
            value = " ".join(map(str, _pinned(settings, name) or order)) if pinned else "auto"
            yield Setting(name, f"auto | the numbers 0 to {len(texts) - 1} in an order", value, f"filters {written}")

    def set(self, name: str, value: str) -> Setting:
        """Sets a property for all queries of the run, from the next step on; refuses what it cannot be."""
        value = str(value).strip()
        with self._lock:
            for own in self._expected():
                self._changed(own, name, value)
            self._pending.append((name, value))
        return next(each for each in self if each.name == name)

    def apply(self) -> None:
        """Gives the queries what was set since the last step."""
        if not self._pending:
            return
        with self._lock:
            pending, self._pending = self._pending, []
            for query in self._queries:
                settings, changes = query.settings, []
                for name, value in pending:
                    before = self._read(settings, name)
                    settings = self._changed(settings, name, value)
                    changes.append(SettingChange(name, before, self._read(settings, name)))
                query.adjust(settings, changes)
        for name, value in pending:
            LOG.info("%s is now %s", name, value)

    def _expected(self) -> list[Settings]:
        """Returns the settings of each query after what is pending."""
        found = []
        for query in self._queries:
            settings = query.settings
            for name, value in self._pending:
                settings = self._changed(settings, name, value)
            found.append(settings)
        return found

    def _read(self, settings: Settings, name: str) -> str:
        if name in self._knobs:
            return self._knobs[name].read(settings)
        pinned = settings.orders.get(_filters_of(name))
        return "auto" if pinned is None else " ".join(map(str, pinned))

    def _changed(self, settings: Settings, name: str, value: str) -> Settings:
        if name in self._knobs:
            return self._knobs[name].changed(settings, value)
        orders = self._orders()
        if name not in orders:
            known = [*self._knobs, *orders]
            for query in self._queries:
                if name in query.not_adjustable:
                    raise PenstockError(f"{name} cannot be changed while it runs", query.not_adjustable[name])
            hint = did_you_mean(name, known) or f"there are {listed(known)}"
            raise PenstockError(f"there is no setting {name}", hint)
        others = {key: order for key, order in settings.orders.items() if key != _filters_of(name)}
        if value == "auto":
            return replace(settings, orders=others)
        return replace(settings, orders={**others, _filters_of(name): _order(value, len(orders[name][0]))})

    def _orders(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        return {
            f"{_ORDER}{name.replace(' ', '/')}": found
            for query in self._queries
            for name, found in query.filter_orders().items()
        }


#: How the settings that pin orders of filters begin.
_ORDER = "filter_order."


def _filters_of(name: str) -> str:
    return name.removeprefix(_ORDER).replace("/", " ")


def _pinned(settings: Sequence[Settings], name: str) -> tuple[int, ...] | None:
    return next((own.orders[_filters_of(name)] for own in settings if _filters_of(name) in own.orders), None)


def _order(value: str, count: int) -> tuple[int, ...]:
    numbers = value.replace(",", " ").split()
    if sorted(numbers) != sorted(map(str, range(count))):
        hint = f"give each of the numbers 0 to {count - 1} once, as in '{' '.join(map(str, range(count)))}', or auto"
        raise PenstockError(f"{value} is not an order of {count} filters", hint)
    return tuple(map(int, numbers))


def _purge_every(settings: Settings, value: str) -> Settings:
    rows = int(value) if value.isdecimal() and int(value) else None
    time = None if value == "eager" or rows is not None else parsed_duration(value)
    if value != "eager" and rows is None and time is None:
        raise PenstockError(f"{value} is neither a number of rows nor a time", "write 10000, '5 SECONDS' or eager")
    return replace(settings, forgetting=replace(settings.forgetting, rows=rows, time=time))


def _shown_purge(settings: Settings) -> str:
    forgetting = settings.forgetting
    if forgetting.rows is not None:
        return str(forgetting.rows)
    return "eager" if forgetting.time is None else duration_text(forgetting.time)


def _wait_timeout(settings: Settings, value: str) -> Settings:
    after = None if value == "off" else parsed_duration(value)
    if value != "off" and after is None:
        raise PenstockError(f"{value} is not a time", "write '1 HOUR', or off")
    return replace(settings, forgetting=replace(settings.forgetting, wait_timeout=after))


def _shown_timeout(settings: Settings) -> str:
    return "off" if settings.forgetting.wait_timeout is None else duration_text(settings.forgetting.wait_timeout)


def _whole(name: str, value: str, least: int) -> int:
    if not value.isdecimal() or int(value) < least:
        raise PenstockError(f"{name} is {value}", f"give a whole number of at least {least}")
    return int(value)


def _one_of(name: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise PenstockError(f"{name} is {value}", f"choose one of {', '.join(known)}")
    return value


def _memory(settings: Settings, value: str) -> Settings:
    size = None if value == "off" else parsed_bytes(value)
    if value != "off" and not size:
        raise PenstockError(f"memory is {value}", "write 512MB, or off")
    return replace(settings, memory=size)


def _cache_memory(settings: Settings, value: str) -> Settings:
    size = None if value == "auto" else parsed_bytes(value)
    if value != "auto" and size is None:
        raise PenstockError(f"cache_memory is {value}", "write 64MB, 0 or auto")
    return replace(settings, adaptive=replace(settings.adaptive, cache_memory=size))


def _monitors(settings: Settings, value: str) -> Settings:
    return replace(settings, uses_inferred=_one_of("monitors", value, ("on", "off")) == "on")


def _threshold(settings: Settings, value: str) -> Settings:
    return replace(settings, threshold=None if value == "declared" else _whole("k_threshold", value, 0))


def _step(part: str, least: int, *, unlimited: bool = False) -> Callable[[Settings, str], Settings]:
    def changed(settings: Settings, value: str) -> Settings:
        given: Any = {part: None if unlimited and value == "off" else _whole(part, value, least)}
        return replace(settings, steps=replace(settings.steps, **given))

    return changed


def _of_adaptive(part: str, kind: type) -> Callable[[Settings, str], Settings]:
    def changed(settings: Settings, value: str) -> Settings:
        try:
            given: Any = kind(value)
        except ValueError:
            given = value  # which Adaptive refuses, saying what it takes
        return replace(settings, adaptive=replace(settings.adaptive, **{part: given}))

    return changed


def _adaptive_knob(part: str, kind: type, type_: str, help_: str) -> Knob:
    return Knob(f"adaptive.{part}", type_, help_, lambda s: str(getattr(s.adaptive, part)), _of_adaptive(part, kind))


def _log_level(settings: Settings, value: str) -> Settings:
    LOG.setLevel(_one_of("log_level", value, _LEVELS).upper())
    return settings


_SCHEDULING = ("chain", "greedy", "fifo")
_STRATEGIES = tuple(each.value for each in Strategy if each is not Strategy.RANDOM)


def _strategy(settings: Settings, value: str) -> Settings:
    adaptive: Adaptive = replace(settings.adaptive, strategy=_one_of("adaptive.strategy", value, _STRATEGIES))
    return replace(settings, adaptive=adaptive)


#: All settings but the orders of filters, which every query has its own of.
KNOBS: tuple[Knob, ...] = (
    Knob("purge_every", "ROWS | TIME | eager", "how often joins look for rows to drop", _shown_purge, _purge_every),
    Knob(
        "wait_timeout", "TIME | off", "rows that wait longer for a punctuation are lost", _shown_timeout, _wait_timeout
    ),
    Knob(
        "monitors",
        "on | off",
        "off: nothing is purged by a k that is inferred",
        lambda s: "on" if s.uses_inferred else "off",
        _monitors,
    ),
    Knob(
        "k_threshold",
        "ROWS | declared",
        "an inferred k above it is of no use",
        lambda s: "declared" if s.threshold is None else str(s.threshold),
        _threshold,
    ),
    Knob(
        "adaptive",
        " | ".join(ADAPTIVE_MODES),
        "what may change as the data does",
        lambda s: s.adaptive.mode,
        _of_adaptive("mode", str),
    ),
    Knob(
        "adaptive.strategy",
        " | ".join(_STRATEGIES),
        "how filters are ordered",
        lambda s: s.adaptive.strategy,
        _strategy,
    ),
    _adaptive_knob("drop_profiling_probability", float, "0 to 1", "the part of the rows that are profiled"),
    _adaptive_knob("profile_window", int, "64 to 100000", "profile tuples on which a decision rests"),
    _adaptive_knob("thrash_avoidance", float, "above 0 to 1", "how much better an order has to be"),
    _adaptive_knob("profiling_budget", float, "0 to 1", "the part of the time of filters that profiles may take"),
    _adaptive_knob("confidence", float, "0 to 10", "standard errors by which a new order has to be better"),
    Knob(
        "cache_memory",
        "BYTES | auto",
        "what the caches of a join may take; 0 is no caches",
        lambda s: "auto" if s.adaptive.cache_memory is None else str(s.adaptive.cache_memory),
        _cache_memory,
    ),
    Knob("step_rows", "ROWS", "rows that a step takes at least", lambda s: str(s.steps.least), _step("least", 1)),
    Knob(
        "step_rows_most",
        "ROWS",
        "rows that are read at most before a step where few pass filters",
        lambda s: str(s.steps.most),
        _step("most", 1),
    ),
    Knob(
        "read_limit",
        "ROWS | off",
        "rows of a stream that a step takes at most",
        lambda s: "off" if s.steps.read_limit is None else str(s.steps.read_limit),
        _step("read_limit", 1, unlimited=True),
    ),
    Knob(
        "memory",
        "BYTES | off",
        "what rows may take; steps get smaller where they take more",
        lambda s: "off" if s.memory is None else str(s.memory),
        _memory,
    ),
    Knob(
        "scheduling",
        " | ".join(_SCHEDULING),
        "what runs first where rows that were pushed wait",
        lambda s: s.scheduling,
        lambda s, value: replace(s, scheduling=_one_of("scheduling", value, _SCHEDULING)),
    ),
    Knob(
        "log_level",
        " | ".join(_LEVELS),
        "of Python's logger `penstock` in this process",
        lambda s: logging.getLevelName(LOG.getEffectiveLevel()).lower(),
        _log_level,
    ),
)

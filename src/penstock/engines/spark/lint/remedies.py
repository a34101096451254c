"""What a Spark user can change to make an operator safe: a watermark, a range of times, a key, the output mode."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from penstock.engines.spark.lint.stateful import (
    Deduplication,
    Grouping,
    OwnState,
    Side,
    Standing,
    Stateful,
    StreamJoin,
    Times,
)

#: Changes that help together.
Remedy = tuple[str, ...]

_DELAY = "10 minutes"
_MOST = 6


def remedies(operator: Stateful, complete: bool = False) -> tuple[Remedy, ...]:
    """Returns alternatives, each of which bounds what an operator keeps; none where no change of Spark's own does.

    >>> from penstock.engines.spark.lint.stateful import Deduplication, Key, Times
    >>> remedies(Deduplication((Key("id"),), Times(watermarked=("ts",))))[0]
    ('.dropDuplicatesWithinWatermark(["id"])',)
    """
    match operator:
        case (
            Grouping(times=Times(standing=Standing() as standing))
            | Deduplication(times=Times(standing=Standing() as standing))
            | StreamJoin(left=Side(times=Times(standing=Standing() as standing)))
        ):
            return ((_moving(standing),),)
        case Grouping():
            return _grouping(operator, complete)
        case Deduplication():
            names = ", ".join(f'"{key.name}"' for key in operator.keys if not key.has_watermark)
            if operator.timeless:
                return ((_not_null(operator),),)
            watermark = _watermark(operator.times)
            return ((*watermark, f".dropDuplicatesWithinWatermark([{names}])"),) if watermark is not None else ()
        case StreamJoin():
            return _join(operator)
        case OwnState(keys=keys):
            return _declared([key.name for key in keys if key.values is None])
    return ()


def _moving(standing: Standing) -> str:
    """Returns what to set a watermark on that stands still."""
    time = f"the time that {standing.time} is a window of" if standing.is_window else "a time that goes on"
    return f"withWatermark on {time}, instead of {standing.time}"


def _declared(columns: list[str]) -> tuple[Remedy, ...]:
    """Returns how to say of columns that they take few values; what has no name cannot be declared."""
    if not columns or not all(name.isidentifier() and "window" not in name for name in columns):
        return ()
    listed = ", ".join(f'"{name}"' for name in columns)
    return ((f"check(df, finite=[{listed}]), if {'it takes' if len(columns) == 1 else 'they take'} few values",),)


def together(alternatives: Iterable[tuple[Remedy, ...]]) -> tuple[Remedy, ...]:
    """Returns what helps several operators at once."""
    found = [tuple(dict.fromkeys(line for remedy in chosen for line in remedy)) for chosen in product(*alternatives)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _grouping(operator: Grouping, complete: bool) -> tuple[Remedy, ...]:
    infinite = [key.name for key in operator.keys if key.values is None and not key.has_watermark]
    declared = _declared(infinite)
    if operator.timeless and operator.is_outer:
        time = next(key.name for key in operator.keys if key.has_watermark)
        return ((f'.where("{time} IS NOT NULL") before groupBy',), *declared)
    if operator.timeless:
        return (("groupBy with the window in every grouping set, instead of cube or rollup",), *declared)
    if operator.collected and not infinite:
        return ()
    watermark = _watermark(operator.times)
    if any(key.has_watermark for key in operator.keys):
        return (('outputMode("update") or outputMode("append")',),) if complete else ()
    if watermark is None:
        return declared
    time = (*operator.times.watermarked, *operator.times.timestamps)[0]
    mode = ('outputMode("update")',) if complete else ()
    keys = "" if not operator.keys else ", ..."
    return ((*watermark, f'groupBy(window("{time}", "{_DELAY}"){keys})', *mode), *declared)


def _not_null(operator: Deduplication) -> str:
    time = next(key.name for key in operator.keys if key.has_watermark)
    return f'.where("{time} IS NOT NULL") before dropDuplicates'


def _watermark(times: Times) -> Remedy | None:
    """Returns how to set the watermark that is missing; None where there is no time to set it on."""
    if times.watermarked:
        return ()
    if not times.timestamps:
        return None
    return (f'{times.stream or "df"}.withWatermark("{times.timestamps[0]}", "{_DELAY}")',)


def _join(operator: StreamJoin) -> tuple[Remedy, ...]:
    left, right = operator.left, operator.right
    watermarks = [_watermark(side.times) for side in (left, right)]
    if watermarks[0] is None or watermarks[1] is None:
        return ()
    set_up = (*watermarks[0], *watermarks[1])
    one, other = _time(left), _time(right)
    between = f"... AND {other} BETWEEN {one} - INTERVAL 1 HOUR AND {one} + INTERVAL 1 HOUR"
    needs_range = not operator.has_range or not set_up
    return ((*set_up, *((between,) if needs_range else ())),)


def _time(side: Side) -> str:
    time = (*side.times.watermarked, *side.times.timestamps)[0]
    return f"{side.times.stream}.{time}" if side.times.stream else time

"""How large the state of each operator of a Spark query gets, and why: Spark removes what the watermark has passed.

State is bounded if Spark removes it, or if it is kept by keys with finitely many values. In complete mode Spark
removes no group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.closing.bounds import UNBOUNDED, Bound, BoundKind, constant, entries
from penstock.closing.finite import together
from penstock.closing.proof import Proof
from penstock.engines.spark.lint.names import named
from penstock.engines.spark.lint.stateful import (
    Deduplication,
    Grouping,
    Key,
    Limit,
    OwnState,
    Side,
    Standing,
    Stateful,
    StreamJoin,
    Times,
)
from penstock.register.states import State, StatefulOperator, Theory
from penstock.types import duration_text


def states(operator: Stateful, complete: bool = False) -> tuple[State, ...]:
    """Returns what an operator keeps; `complete` is the output mode in which every group is output again.

    >>> from penstock.engines.spark.lint.stateful import Grouping, Key, Times
    >>> [state.because for state in states(Grouping((Key("user"),), Times()))]
    ['one group is kept for every value of user, because no key is an event time with a watermark']
    """
    match operator:
        case Grouping():
            return tuple(_groups(operator, complete))
        case Deduplication():
            return (_once_each(operator),)
        case StreamJoin(left, right):
            return _side(left, right, operator), _side(right, left, operator)
        case OwnState():
            return (_own(operator),)
        case Limit():
            return (
                _state(StatefulOperator.WINDOW, entries(1, "counter"), "LIMIT counts the rows that it has let through"),
            )


def _groups(operator: Grouping, complete: bool) -> Iterator[State]:
    timed = [key.name for key in operator.keys if key.has_watermark]
    kind = StatefulOperator.DISTINCT if operator.is_distinct else StatefulOperator.GROUP_BY
    noun = "row" if operator.is_distinct else "group"
    infinite = _infinite(operator.keys)
    if not infinite:
        yield _state(kind, _combinations(operator.keys, noun), "its keys take finitely many values")
    elif complete:
        reason = "complete mode outputs all of them each time"
        claim = f"one {noun} is kept for every value of {named(infinite)}, because {reason}"
        yield _state(kind, UNBOUNDED, claim)
    elif not timed:
        claim = f"one {noun} is kept for every value of {named(infinite)}, because {_why_timeless(operator.times)}"
        yield _state(kind, UNBOUNDED, claim)
    else:
        yield _timed(kind, noun, timed[0], operator.timeless)
        return
    if operator.collected:
        claim = f"{named(operator.collected)} keeps the values of groups that never end"
        yield _state(StatefulOperator.AGGREGATE_VALUES, UNBOUNDED, claim)


def _once_each(operator: Deduplication) -> State:
    kind = StatefulOperator.DISTINCT
    timed = [key.name for key in operator.keys if key.has_watermark]
    infinite = _infinite(operator.keys)
    if operator.is_within_watermark and operator.times.standing is None:
        bound = Bound(BoundKind.WINDOW, f"the values of {_listed(operator.keys)} that the watermark has not passed")
        return _state(kind, bound, "a value is removed when the watermark has passed its event time")
    if not infinite:
        return _state(kind, _combinations(operator.keys, "row"), "its columns take finitely many values")
    if timed:
        return _timed(kind, "row", timed[0], operator.timeless)
    claim = f"one row is kept for every value of {named(infinite)}, because {_why_timeless(operator.times)}"
    return _state(kind, UNBOUNDED, claim)


def _timed(kind: StatefulOperator, noun: str, time: str, timeless: tuple[tuple[Key, ...], ...]) -> State:
    """What is kept by an event time is removed, but for what has none."""
    growing = next((infinite for keys in timeless if (infinite := _infinite(keys))), None)
    if growing is not None:
        claim = (
            f"one {noun} is kept for every value of {named(growing)}, because of these {noun}s "
            f"{time} is NULL, which the watermark never passes"
        )
        return _state(kind, UNBOUNDED, claim)
    bound = Bound(BoundKind.WINDOW, f"the {noun}s whose {time} the watermark has not passed")
    return _state(kind, bound, f"a {noun} is removed when the watermark has passed its {time}")


def _why_timeless(times: Times) -> str:
    if times.standing is not None:
        return _why_standing(times.standing)
    if times.watermarked:
        return f"no key is {times.watermarked[0]}, which has the watermark, or a window of it"
    if times.is_set_above:
        return "the watermark is set only after it"
    return "no key is an event time with a watermark"


def _why_standing(standing: Standing) -> str:
    why = "is a window, whose end Spark does not read" if standing.is_window else "takes finitely many values"
    return f"{standing.time}, on which the watermark is set, {why}: the watermark stands still"


def _side(side: Side, other: Side, join: StreamJoin) -> State:
    kind = StatefulOperator.JOIN
    if side.cleaned is not None:
        kept = duration_text(side.kept_for) if side.kept_for is not None and side.kept_for > 0 else None
        words = f"the rows of {side.name} that the watermark has not passed" + (f" by {kept}" if kept else "")
        claim = f"a row of {side.name} is removed when by the watermark no row of {other.name} can match it any more"
        return _state(kind, Bound(BoundKind.WINDOW, words), claim, side.name)
    return _state(
        kind, UNBOUNDED, f"every row of {side.name} is kept, because {_why_kept(side, other, join)}", side.name
    )


def _why_kept(side: Side, other: Side, join: StreamJoin) -> str:
    if side.times.standing is not None:
        return _why_standing(side.times.standing)
    if not side.times.watermarked and (join.has_range or other.times.watermarked):
        return f"{side.name} has no watermark"
    if not other.times.watermarked and join.has_range:
        return f"{other.name} has no watermark"
    if join.has_range and other.times.watermarked:
        return f"no condition says how late a row of {other.name} may match it, by {other.times.watermarked[0]}"
    return f"a row of {other.name} may always match it"


def _own(operator: OwnState) -> State:
    infinite = _infinite(operator.keys)
    if operator.keys and not infinite:
        return _state(
            StatefulOperator.QUERY, _combinations(operator.keys, "state"), "its keys take finitely many values"
        )
    claim = (
        f"{operator.method} keeps state of your own for every value of {named(infinite or ['its keys'])}, "
        "and it cannot be seen whether your function removes it"
    )
    return _state(StatefulOperator.QUERY, UNBOUNDED, claim)


def _infinite(keys: Iterable[Key]) -> list[str]:
    return [key.name for key in keys if key.values is None]


def _listed(keys: Iterable[Key]) -> str:
    return named([key.name for key in keys] or ["all columns"])


def _combinations(keys: tuple[Key, ...], noun: str) -> Bound:
    number = together(key.values for key in keys if key.values is not None).number
    return entries(number, noun) if number is not None else constant(None, f"finitely many {noun}s")


def _state(kind: StatefulOperator, bound: Bound, claim: str, stream: str | None = None) -> State:
    return State(kind, stream, bound, Theory.PUNCTUATION, Proof(claim), "")

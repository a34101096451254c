"""Ranges of times and watermarks: a row of the target that joins a row of the source comes at most so much later.

Differences between the times of inputs come from the query's own comparisons, from windows, and from RIDS in time. They
add up along the shortest paths, and a watermark says when that much time is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from penstock.algebra.expressions import Comparator
from penstock.algebra.predicates import ColumnDifference, ColumnEquality, classify
from penstock.closing.bounds import BoundKind
from penstock.closing.closers.difference import Difference
from penstock.closing.closers.rids import referred_in_time
from penstock.closing.closers.window import window_widths
from penstock.closing.join_inputs import Closers, Found, JoinInputs
from penstock.closing.retention import RetentionStep
from penstock.closing.rules import InTime
from penstock.closing.scheme_closers import watermark_text
from penstock.effort import spend
from penstock.types import duration_text


def time_ranges(inputs: JoinInputs, _: Found) -> Closers:
    yield from _by_time(inputs, [*_certain(inputs), *referred_in_time(inputs)])
    if inputs.spill:
        yield from _by_time(inputs, _certain(inputs))


def certain_times(inputs: JoinInputs) -> set[InTime]:
    """What windows and the query say about times, whatever is declared."""
    return {closer for closer, _ in _by_time(inputs, _certain(inputs))}


def declared_times(inputs: JoinInputs) -> set[InTime]:
    """The same, and what is declared with a time."""
    return {closer for closer, _ in _by_time(inputs, [*_certain(inputs), *referred_in_time(inputs)])}


def _certain(inputs: JoinInputs) -> list[Difference]:
    return [*window_widths(inputs), *compared_times(inputs)]


def _by_time(inputs: JoinInputs, differences: Iterable[Difference]) -> Iterator[tuple[InTime, RetentionStep]]:
    """The shortest paths between inputs, soonest first."""
    reach: dict[tuple[int, int], Difference] = {}
    for each in differences:
        _shorten(reach, each)
    for middle in inputs.scans:
        before = [one for one in inputs.scans if (one, middle) in reach]
        after = [other for other in inputs.scans if (middle, other) in reach]
        spend(len(before) * len(after))
        for one, other in product(before, after):
            if one != other:
                first, second = reach[one, middle], reach[middle, other]
                _shorten(reach, Difference(other, one, first.by + second.by, first.leans_on + second.leans_on))
    found = [(each.by + inputs.entering(each.later), each) for each in reach.values()]
    for by, each in sorted(found, key=lambda known: known[0]):
        yield InTime(each.later, each.earlier, by), _step(inputs, each, by)


def _shorten(reach: dict[tuple[int, int], Difference], new: Difference) -> None:
    known = reach.get((new.earlier, new.later))
    if known is None or new.by < known.by:
        reach[new.earlier, new.later] = new


def _step(inputs: JoinInputs, difference: Difference, by: int) -> RetentionStep:
    name = inputs.label(difference.later)
    until = f"{name} is {duration_text(by)} later" if by > 0 else f"{name} has passed its time"
    watermark = watermark_text(inputs.definition(difference.later))
    return inputs.step(difference.later, until, BoundKind.WINDOW, watermark, *dict.fromkeys(difference.leans_on))


def compared_times(inputs: JoinInputs) -> Iterator[Difference]:
    """What the join's comparisons say of the times of its inputs."""
    times = {
        output.column: number
        for number, scan in inputs.scans.items()
        for output in scan.outputs
        if output.expr == scan.stream.timestamp
    }
    units = {column: inputs.scans[number].stream.unit for column, number in times.items()}
    for view in map(classify, inputs.join.on):
        match view:
            case ColumnEquality(left, right) | ColumnDifference(left, right) if units.get(left) is not units.get(right):
                continue  # numbers that count in different units say nothing of instants
            case ColumnEquality(left, right) if left in times and right in times:
                yield Difference(times[left], times[right], 0)
                yield Difference(times[right], times[left], 0)
            case ColumnDifference(left, right, op, by) if left in times and right in times:
                unit = units[left]
                if op in (Comparator.LT, Comparator.LE, Comparator.EQ):
                    yield Difference(times[left], times[right], unit.in_instants(by - (op is Comparator.LT)))
                if op in (Comparator.GT, Comparator.GE, Comparator.EQ):
                    yield Difference(times[right], times[left], unit.in_instants(-by - (op is Comparator.GT)))

"""What a window over a stream holds at an instant, from its definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.algebra.relations import PartitionRows, Range, Rows, Schema, Unbounded, WindowSpec
from tests.reference.values import Row, identity


@dataclass(frozen=True, slots=True)
class Element:
    """A row of a stream: when it is, and which in the order of arrival."""

    ts: int
    arrival: int
    row: Row


def window_at(elements: Sequence[Element], schema: Schema, spec: WindowSpec, t: int) -> list[Row]:
    """The rows of the window at t; the elements' rows have the columns of `schema`."""
    present = [element for element in elements if element.ts <= t]
    match spec:
        case Unbounded():
            kept = present
        case Range(width, None):
            kept = [element for element in present if t - width <= element.ts]
        case Range(width, int(slide)):
            turn = t // slide * slide
            kept = [element for element in present if turn - width <= element.ts <= turn]
        case Rows(count):
            kept = _last(present, count)
        case PartitionRows(by, count):
            places = [schema.index(column) for column in by]
            partitions: dict[object, list[Element]] = {}
            for element in present:
                value = identity(tuple(element.row[place] for place in places))
                partitions.setdefault(value, []).append(element)
            kept = [element for partition in partitions.values() for element in _last(partition, count)]
        case _:
            raise AssertionError(f"no window: {spec!r}")
    return [element.row for element in kept]


def _last(elements: Sequence[Element], count: int) -> list[Element]:
    """The `count` elements with the largest (ts, arrival)."""
    return sorted(elements, key=lambda element: (element.ts, element.arrival))[-count:]

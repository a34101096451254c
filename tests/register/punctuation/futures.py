"""Brute force: is there a future that still joins a row? It shares no code with the theory.

An instance is plain data: streams with attribute names, equalities and differences as pairs of "stream.attribute",
and schemes. A future is found by trying every row that may still come, in every stream, with every value of a domain
that holds values seen before and new ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from penstock.closing.punctuation import (
    FiniteAttribute,
    JoinAttribute,
    JoinDifference,
    JoinEquality,
    PunctuatedJoin,
    PunctuatedStream,
    Scheme,
)

Values = dict[str, Any]


@dataclass
class Instance:
    streams: dict[str, tuple[str, ...]]
    equal: list[tuple[str, str]] = field(default_factory=list)
    #: (x, y, c): x - y <= c, where "" is 0.
    differ: list[tuple[str, str, int]] = field(default_factory=list)
    few: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    #: (stream, attributes by value, attribute by order).
    schemes: list[tuple[str, tuple[str, ...], str | None]] = field(default_factory=list)

    @property
    def query(self) -> PunctuatedJoin:
        return PunctuatedJoin(
            tuple(PunctuatedStream(name, attributes) for name, attributes in self.streams.items()),
            tuple(JoinEquality(attribute(x), attribute(y)) for x, y in self.equal),
            tuple(
                JoinDifference(attribute(x) if x else None, attribute(y) if y else None, c) for x, y, c in self.differ
            ),
            tuple(FiniteAttribute(attribute(x), frozenset(values)) for x, values in self.few),
        )

    @property
    def scheme_set(self) -> list[Scheme]:
        return [Scheme(stream, values, order) for stream, values, order in self.schemes]


def attribute(text: str) -> JoinAttribute:
    return JoinAttribute(*text.split("."))


def holds(instance: Instance, rows: dict[str, Values]) -> bool:
    """The predicates between these rows, one of each stream in `rows`, hold."""

    missing = object()

    def value(name: str) -> Any:
        stream, _, attribute = name.partition(".")
        return rows.get(stream, {}).get(attribute, missing)

    for x, y in instance.equal:
        if value(x) is not missing and value(y) is not missing and value(x) != value(y):
            return False
    for x, y, c in instance.differ:
        left, right = value(x) if x else 0, value(y) if y else 0
        if left is not missing and right is not missing and left - right > c:
            return False
    return all(value(x) is missing or value(x) in values for x, values in instance.few)


@dataclass
class Punctuated:
    """Every punctuation came whose values are among `values` and whose order is at most `upto`."""

    instance: Instance
    values: set[Any]
    upto: int

    def __call__(self, stream: str, row: Values) -> bool:
        return any(
            name == stream
            and all(row[each] in self.values for each in by_value)
            and (order is None or row[order] <= self.upto)
            for name, by_value, order in self.instance.schemes
        )


def has_future(
    instance: Instance,
    root: str,
    row: Values,
    stored: dict[str, list[Values]],
    ruled_out: Callable[[str, Values], bool],
    domain: Sequence[Any],
) -> bool:
    """Rows over the domain may still come, not ruled out, that make a new result with the row."""

    def comes(stream: str) -> list[Values]:
        names = instance.streams[stream]
        rows = (dict(zip(names, values, strict=True)) for values in product(domain, repeat=len(names)))
        return [each for each in rows if holds(instance, {stream: each}) and not ruled_out(stream, each)]

    coming = {stream: comes(stream) for stream in instance.streams if stream != root}

    def search(rows: dict[str, Values], left: list[str], new: bool) -> bool:
        if not left:
            return new
        stream, *rest = left
        here = [(each, new) for each in stored.get(stream, ())] + [(each, True) for each in coming[stream]]
        found = (({**rows, stream: each}, is_new) for each, is_new in here)
        return any(holds(instance, more) and search(more, rest, is_new) for more, is_new in found)

    return holds(instance, {root: row}) and search({root: row}, list(coming), False)


def some_result(instance: Instance, rng: random.Random, domain: Sequence[Any]) -> dict[str, Values] | None:
    """A row of each stream such that they join, by trying values attribute after attribute; None if there are none."""

    def search(rows: dict[str, Values], left: list[tuple[str, str]]) -> dict[str, Values] | None:
        if not left:
            return rows
        (stream, name), *rest = left
        for value in rng.sample(list(domain), len(domain)):
            more = {**rows, stream: {**rows.get(stream, {}), name: value}}
            if holds(instance, more) and (found := search(more, rest)) is not None:
                return found
        return None

    return search({}, [(stream, name) for stream, names in instance.streams.items() for name in names])


def random_instance(rng: random.Random, streams: int = 4, attributes: int = 3) -> Instance:
    """A join of a few streams on equalities, with cycles, and schemes of one to three attributes."""
    names = [f"s{i}" for i in range(1, rng.randint(2, streams) + 1)]
    have = {name: tuple("abc"[: rng.randint(1, attributes)]) for name in names}
    every = [f"{name}.{each}" for name in names for each in have[name]]
    pairs = [(x, y) for x in every for y in every if x.split(".")[0] < y.split(".")[0]]
    equal = rng.sample(pairs, min(len(pairs), rng.randint(1, len(names) + 1)))
    schemes = []
    for name in names:
        for _ in range(rng.randint(0, 2)):
            chosen = tuple(sorted(rng.sample(have[name], rng.randint(1, len(have[name])))))
            schemes.append((name, chosen, None))
    return Instance(have, equal, schemes=list(dict.fromkeys(schemes)))


def random_timed_instance(rng: random.Random) -> Instance:
    """As above, smaller, with times: differences, watermarks (some per value), tables, and attributes of few values."""
    plain = random_instance(rng, streams=3, attributes=1)
    names = list(plain.streams)
    have = {name: (*("k" for _ in plain.streams[name] if rng.random() < 0.5), "ts") for name in names}
    keys = [f"{name}.k" for name in names if "k" in have[name]]
    times = [f"{name}.ts" for name in names]
    equal = [(x, y) for x in keys for y in keys if x < y and rng.random() < 0.5]
    equal += [(x, y) for x in times for y in times if x < y and rng.random() < 0.15]
    ends = [*times, *times, *(keys if rng.random() < 0.2 else []), *([""] if rng.random() < 0.3 else [])]
    differ = [(*rng.sample(ends, 2), rng.randint(-1, 1)) for _ in range(rng.randint(1, 4))]
    differ = [(x, y, c) for x, y, c in differ if x != y]
    few = [(x, (0, 1)) for x in keys if rng.random() < 0.15 and not any(x in (y, z) for y, z, _ in differ)]
    schemes: list[tuple[str, tuple[str, ...], str | None]] = []
    for name in names:
        by_value = [each for each in have[name] if each != "ts"]
        choices = [
            ((), "ts"),
            ((), "ts"),
            (tuple(by_value), "ts"),
            (tuple(by_value), None),
            (("ts",), None),
            (have[name], None),
        ]
        schemes += [(name, *each) for each in rng.sample(choices, rng.randint(0, 2))]
    return Instance(have, equal, differ, few, list(dict.fromkeys(schemes)))

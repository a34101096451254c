"""The purge on rows: it never lets go of a row that a future joins, and it lets go of all others."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from penstock.closing.punctuation import (
    AtMost,
    AttributeLimit,
    Between,
    JoinAttribute,
    OneOf,
    Punctuation,
    Purgeable,
    SameAs,
    Scheme,
    StreamRow,
)
from tests.reference.punctuation import PurgeRecipe, chained_purge, check, recipe, rules_out
from tests.register.punctuation.futures import (
    Instance,
    Values,
    has_future,
    holds,
    random_instance,
    random_timed_instance,
    some_result,
)


def as_row(stream: str, values: Values) -> StreamRow:
    return StreamRow(stream, tuple(values.items()))


def random_rows(rng: random.Random, instance: Instance, domain: range, most: int = 3) -> dict[str, list[Values]]:
    return {
        stream: [{name: rng.choice(domain) for name in names} for _ in range(rng.randint(0, most))]
        for stream, names in instance.streams.items()
    }


def all_punctuations(instance: Instance, domain: range) -> list[Punctuation]:
    return [
        Punctuation(scheme, values, upto)
        for scheme in instance.scheme_set
        for values in product(domain, repeat=len(scheme.attributes))
        for upto in (domain if scheme.order else [None])
    ]


@pytest.mark.parametrize("block", range(4))
def test_on_equalities_a_row_goes_exactly_when_no_future_joins_it(block: int) -> None:
    gone = kept = 0
    for seed in range(block * 200, block * 200 + 200):
        rng = random.Random(seed)
        instance = random_instance(rng, streams=3)
        rows = random_rows(rng, instance, range(2))
        everything = all_punctuations(instance, range(2))
        held = rng.sample(everything, rng.randint(len(everything) // 2, len(everything)))

        def ruled_out(stream: str, row: Values, held: list[Punctuation] = held) -> bool:
            return any(rules_out(each, as_row(stream, row)) for each in held)

        stored = {stream: [as_row(stream, row) for row in rows[stream]] for stream in rows}
        for stream in instance.streams:
            row = {name: rng.choice(range(2)) for name in instance.streams[stream]}
            future = has_future(instance, stream, row, rows, ruled_out, [0, 1, 2])
            waits = chained_purge(instance.query, instance.scheme_set, stored, held, as_row(stream, row))
            assert future is (waits is not None), (seed, stream, row, rows, held, instance)
            gone, kept = gone + (not future), kept + future
    assert min(gone, kept) > 50


def test_with_times_a_row_that_goes_has_no_future_and_all_punctuations_let_it_go() -> None:
    gone = 0
    for seed in range(250):
        rng = random.Random(seed)
        instance = random_timed_instance(rng)
        result = some_result(instance, rng, range(-2, 3))
        if result is None:
            continue
        rows = random_rows(rng, instance, range(-2, 3), most=1)
        for stream in rows:
            rows[stream].append(result[stream])
        stored = {stream: [as_row(stream, row) for row in rows[stream]] for stream in rows}
        everything = all_punctuations(instance, range(-9, 10))
        held = rng.sample(everything, len(everything) * 4 // 5)

        def ruled_out(stream: str, row: Values, held: list[Punctuation] = held) -> bool:
            return any(rules_out(each, as_row(stream, row)) for each in held)

        for state in check(instance.query, instance.scheme_set).states:
            row = as_row(state.stream, result[state.stream])
            if chained_purge(instance.query, instance.scheme_set, stored, held, row) is None:
                gone += 1
                assert not has_future(instance, state.stream, result[state.stream], rows, ruled_out, range(-6, 7)), seed
            waits = chained_purge(instance.query, instance.scheme_set, stored, everything, row)
            assert (waits is None) is isinstance(state, Purgeable), (seed, state)
    assert gone > 30


def test_what_a_row_waits_for_moves_it_on() -> None:
    """Give it one of the sets that it waits for, again and again: in the end it goes, if it can."""
    for seed in range(300):
        rng = random.Random(seed)
        instance = random_instance(rng)
        rows = random_rows(rng, instance, range(2))
        stored = {stream: [as_row(stream, row) for row in rows[stream]] for stream in rows}
        query, schemes = instance.query, instance.scheme_set
        for state in check(query, schemes).states:
            row = as_row(state.stream, dict.fromkeys(instance.streams[state.stream], 0))
            held: set[Punctuation] = set()
            while (waits := chained_purge(query, schemes, stored, held, row)) is not None and waits.missing:
                missing = rng.choice(waits.missing)
                assert missing
                assert not missing & held
                held |= missing
            if isinstance(state, Purgeable):
                assert waits is None, (seed, state)


def follow(
    instance: Instance, recipe: PurgeRecipe, row: Values, rows: dict[str, list[Values]], held: list[Punctuation]
) -> bool:
    """Run a recipe as its docstring says: True when the row goes."""
    (stream,) = recipe.streams
    bindings = [{stream: row}] if holds(instance, {stream: row}) else []
    for step in recipe.steps:
        if not all(covered(step.scheme, step.known, binding, held) for binding in bindings):
            return False
        found = [
            {**binding, step.scheme.stream: other}
            for binding in bindings
            for other in rows[step.scheme.stream]
            if all(other[key.attribute.name] == value(key.source, binding) for key in step.lookup)
        ]
        bindings = [binding for binding in found if holds(instance, binding)]
    return True


def covered(scheme: Scheme, known: Any, binding: dict[str, Values], held: list[Punctuation]) -> bool:
    choices, upto = [], None
    for each in known:
        match each:
            case SameAs(_, source):
                choices.append([value(source, binding)])
            case OneOf(_, values):
                choices.append(sorted(values))
            case Between(_, lower, upper):
                low, high = max(limit(x, binding) for x in lower), min(limit(x, binding) for x in upper)
                choices.append(list(range(low, high + 1)))
            case AtMost(_, upper):
                upto = min(limit(x, binding) for x in upper)
    wanted = product(*choices)
    return all(any(_says(each, scheme, values, upto) for each in held) for values in wanted)


def _says(punctuation: Punctuation, scheme: Scheme, values: tuple[Any, ...], upto: int | None) -> bool:
    if (punctuation.scheme, punctuation.values) != (scheme, values):
        return False
    return upto is None or (punctuation.upto is not None and punctuation.upto >= upto)


def value(attribute: JoinAttribute, binding: dict[str, Values]) -> Any:
    return binding[attribute.stream][attribute.name]


def limit(limit: AttributeLimit, binding: dict[str, Values]) -> int:
    return limit.offset + (value(limit.source, binding) if limit.source else 0)


def test_recipes_run_as_written_are_sound_and_end() -> None:
    gone = 0
    for seed in range(400):
        rng = random.Random(seed)
        timed = seed % 2 == 0
        instance = random_timed_instance(rng) if timed else random_instance(rng, streams=3)
        domain = range(-1, 2) if timed else range(2)
        rows = random_rows(rng, instance, domain, most=2)
        everything = all_punctuations(instance, range(-9, 10) if timed else domain)
        held = rng.sample(everything, len(everything) * 4 // 5)

        def ruled_out(stream: str, row: Values, held: list[Punctuation] = held) -> bool:
            return any(rules_out(each, as_row(stream, row)) for each in held)

        for state in check(instance.query, instance.scheme_set).states:
            if isinstance(state, Purgeable) and not state.impossible:
                row = {name: rng.choice(domain) for name in instance.streams[state.stream]}
                plan = recipe(instance.query, state)
                assert follow(instance, plan, row, rows, everything), (seed, state)
                if follow(instance, plan, row, rows, held):
                    gone += 1
                    future = has_future(
                        instance, state.stream, row, rows, ruled_out, range(-6, 7) if timed else range(3)
                    )
                    assert not future, (seed, state, instance)
    assert gone > 50


def test_a_row_with_null_in_a_join_attribute_goes_at_once() -> None:
    instance = Instance({"a": ("k", "note"), "b": ("k",)}, [("a.k", "b.k")])
    assert chained_purge(instance.query, [], {}, [], StreamRow("a", (("k", None), ("note", 1)))) is None
    assert chained_purge(instance.query, [], {}, [], StreamRow("a", (("k", 1), ("note", None)))) is not None

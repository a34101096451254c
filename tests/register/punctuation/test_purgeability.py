"""A state is purgeable exactly if brute force finds no future that joins a row of it; names and order do not matter."""

from __future__ import annotations

import random

import pytest

from penstock.closing.punctuation import (
    FiniteAttribute,
    JoinAttribute,
    JoinDifference,
    JoinEquality,
    NotPurgeable,
    PunctuatedJoin,
    PunctuatedStream,
    Purgeable,
    Scheme,
)
from tests.reference.punctuation import check, is_safe, purgeability, purgeable_streams
from tests.register.punctuation.futures import (
    Instance,
    Punctuated,
    attribute,
    has_future,
    random_instance,
    random_timed_instance,
    some_result,
)

#: Times near the rows that are stored, and times far from all punctuations. Differences are at most 1, and few.
NEAR = range(-4, 5)
TIMES = [*(each - 100 for each in NEAR), *NEAR, *(each + 100 for each in NEAR)]


def states(instance: Instance) -> dict[str, bool]:
    safety = check(instance.query, instance.scheme_set)
    return {state.stream: isinstance(state, Purgeable) for state in safety.states}


@pytest.mark.parametrize("block", range(8))
def test_a_state_is_purgeable_iff_no_future_joins_it(block: int) -> None:
    """One row with value 0 everywhere is stored in each stream, all punctuations on 0 came; 1 is new.

    No more need be tried: rename all values that were punctuated to 0 and all others to 1, and a future of any state
    whatever becomes a future of this one.
    """
    for seed in range(block * 250, block * 250 + 250):
        instance = random_instance(random.Random(seed))
        zeros = {stream: dict.fromkeys(names, 0) for stream, names in instance.streams.items()}
        for stream, purgeable in states(instance).items():
            stored = {other: [row] for other, row in zeros.items() if other != stream}
            future = has_future(instance, stream, zeros[stream], stored, Punctuated(instance, {0}, 0), [0, 1])
            assert future is not purgeable, (seed, stream, instance)


@pytest.mark.parametrize("block", range(5))
def test_with_times_a_state_is_purgeable_iff_no_future_joins_it(block: int) -> None:
    """Whatever rows are stored: some that join. All punctuations between -50 and 50 came."""
    for seed in range(block * 60, block * 60 + 60):
        rng = random.Random(seed)
        instance = random_timed_instance(rng)
        rows = some_result(instance, rng, range(-3, 4))
        punctuated = Punctuated(instance, set(range(-50, 51)), 50)
        for state in check(instance.query, instance.scheme_set).states:
            if rows is None:
                assert isinstance(state, Purgeable), (seed, instance)
                assert state.impossible, (seed, instance)
                continue
            stored = {other: [row] for other, row in rows.items() if other != state.stream}
            future = has_future(instance, state.stream, rows[state.stream], stored, punctuated, TIMES)
            assert future is isinstance(state, NotPurgeable), (seed, state, instance)


def test_the_quick_search_finds_the_same_purgeable_streams() -> None:
    for seed in range(1500):
        rng = random.Random(seed)
        instance = random_instance(rng, streams=7) if seed % 3 else random_timed_instance(rng)
        found = {stream for stream, purgeable in states(instance).items() if purgeable}
        assert purgeable_streams(instance.query, instance.scheme_set) == found, (seed, instance)
        assert is_safe(instance.query, instance.scheme_set) is check(instance.query, instance.scheme_set).safe


def test_names_and_order_do_not_matter() -> None:
    for seed in range(500):
        rng = random.Random(seed)
        instance = random_instance(rng, streams=6) if seed % 2 else random_timed_instance(rng)
        name = {old: f"t{new}" for new, old in enumerate(rng.sample(list(instance.streams), len(instance.streams)))}

        def renamed(text: str, name: dict[str, str] = name) -> str:
            stream, dot, rest = text.partition(".")
            return f"{name[stream]}{dot}x{rest}" if text else text

        streams = [
            (name[old], tuple(f"x{each}" for each in reversed(names))) for old, names in instance.streams.items()
        ]
        other = Instance(
            dict(rng.sample(streams, len(streams))),
            [(renamed(y), renamed(x)) for x, y in rng.sample(instance.equal, len(instance.equal))],
            [(renamed(x), renamed(y), c) for x, y, c in rng.sample(instance.differ, len(instance.differ))],
            [(renamed(x), values) for x, values in instance.few],
            [
                (name[stream], tuple(f"x{each}" for each in values), order and f"x{order}")
                for stream, values, order in rng.sample(instance.schemes, len(instance.schemes))
            ],
        )
        assert {name[stream]: state for stream, state in states(instance).items()} == states(other), (seed, instance)


def test_a_proof_uses_only_what_it_has_reached() -> None:
    for seed in range(500):
        rng = random.Random(seed)
        instance = random_instance(rng, streams=6) if seed % 2 else random_timed_instance(rng)
        for state in check(instance.query, instance.scheme_set).states:
            reached = {state.stream}
            for step in state.steps:
                assert step.stream not in reached
                assert len(step.known) == len(step.scheme.attributes) + (step.scheme.order is not None)
                sources = [getattr(known, "source", None) for known in step.known]
                limits = [limit for k in step.known for side in ("lower", "upper") for limit in getattr(k, side, ())]
                told = [*sources, *(limit.source for limit in limits)]
                assert {each.stream for each in told if each is not None} <= reached
                reached.add(step.stream)
            if isinstance(state, NotPurgeable):
                assert reached == set(state.reached)
                assert {*state.reached, *state.unreached} == set(instance.streams)
                assert all(each.unknown for each in state.blocked)


def test_a_time_range_on_both_sides_is_purged_by_watermarks_one_on_one_side_is_not() -> None:
    watermarks = [("a", (), "ts"), ("b", (), "ts")]
    streams = {"a": ("ts",), "b": ("ts",)}
    both = Instance(streams, differ=[("a.ts", "b.ts", 10), ("b.ts", "a.ts", 5)], schemes=watermarks)
    assert states(both) == {"a": True, "b": True}
    one = Instance(streams, differ=[("b.ts", "a.ts", 5)], schemes=watermarks)
    assert states(one) == {"a": True, "b": False}


def test_bounds_of_time_add_up_along_paths_and_the_tightest_counts() -> None:
    streams = dict.fromkeys("abc", ("ts",))
    differ = [("b.ts", "a.ts", 5), ("c.ts", "b.ts", 7), ("c.ts", "a.ts", 20)]
    instance = Instance(streams, differ=differ, schemes=[("c", (), "ts"), ("b", (), "ts")])
    state = purgeability(instance.query, instance.scheme_set, "a")
    assert (
        str(state) == "a is purgeable; b(ts up to) for ts <= a.ts + 5; c(ts up to) for ts <= min(b.ts + 7, a.ts + 20)"
    )
    assert isinstance(purgeability(instance.query, instance.scheme_set[:1], "a"), NotPurgeable)


def test_a_window_is_a_difference_to_every_other_stream() -> None:
    """a [RANGE 10] joined with b and c on their keys: the rows of a go, those of b and c do not."""
    streams = dict.fromkeys("abc", ("k", "ts"))
    equal = [("a.k", "b.k"), ("b.k", "c.k")]
    window = [("b.ts", "a.ts", 10), ("c.ts", "a.ts", 10)]
    watermarks = [(name, (), "ts") for name in "abc"]
    assert states(Instance(streams, equal, window, schemes=watermarks)) == {"a": True, "b": False, "c": False}


def test_few_values_and_tables_need_no_row_to_tell_them() -> None:
    streams = {"a": ("k",), "b": ("k", "kind"), "t": ("kind",)}
    equal = [("a.k", "b.k"), ("b.kind", "t.kind")]
    schemes = [("b", ("k", "kind"), None), ("t", (), None)]
    assert states(Instance(streams, equal, schemes=[*schemes, ("a", ("k",), None)])) == dict.fromkeys("abt", False) | {
        "a": True,
        "b": True,
    }
    assert states(Instance(streams, equal, few=[("b.kind", ("x", "y"))], schemes=schemes))["a"]
    assert not states(Instance(streams, equal, schemes=schemes[:1]))["a"]


def test_a_table_keeps_its_rows_but_the_query_is_safe() -> None:
    instance = Instance({"s": ("k",), "t": ("k",)}, [("s.k", "t.k")], schemes=[("t", (), None)])
    safety = check(instance.query, instance.scheme_set)
    table = safety.state("t")
    assert isinstance(table, NotPurgeable)
    assert table.ended
    assert safety.safe


def test_predicates_that_contradict_each_other_leave_nothing_to_keep() -> None:
    instance = Instance({"a": ("ts",), "b": ("ts",)}, differ=[("a.ts", "b.ts", -1), ("b.ts", "a.ts", 0)])
    state = purgeability(instance.query, [], "a")
    assert isinstance(state, Purgeable)
    assert state.impossible
    nothing = Instance({"a": ("k",), "b": ("k",)}, [("a.k", "b.k")], few=[("a.k", ("x",)), ("b.k", ("y",))])
    assert is_safe(nothing.query, [])


def test_thousands_of_streams() -> None:
    """A ring that only closes through a scheme of two attributes; without one link it is unsafe."""
    size = 3000
    streams = {f"s{i}": ("a", "b") for i in range(size)}
    equal = [(f"s{i}.b", f"s{(i + 1) % size}.a") for i in range(size)]
    schemes = [Scheme(f"s{i}", ("a",)) for i in range(1, size)] + [Scheme("s0", ("a", "b"))]
    query = Instance(streams, equal).query
    assert len(purgeability(query, schemes, "s0").steps) == size - 1
    assert purgeable_streams(query, schemes) == {"s0", "s1"}
    assert is_safe(query, [*schemes, Scheme("s0", ("a",))])
    assert not is_safe(query, schemes[1:])


def test_thousands_of_streams_tied_by_time() -> None:
    size = 2000
    streams = {f"s{i}": ("ts",) for i in range(size)}
    links = [(i, i + 1) for i in range(size - 1)]
    differ = [(f"s{x}.ts", f"s{y}.ts", 3) for i, j in links for x, y in [(i, j), (j, i)]]
    instance = Instance(streams, differ=differ, schemes=[(name, (), "ts") for name in streams])
    assert is_safe(instance.query, instance.scheme_set)


def test_queries_that_make_no_sense_are_refused() -> None:
    a, b = PunctuatedStream("a", ("x",)), PunctuatedStream("b", ("x",))
    with pytest.raises(ValueError, match="two streams"):
        PunctuatedJoin((a, a))
    with pytest.raises(ValueError, match=r"no attribute c\.x"):
        PunctuatedJoin((a, b), (JoinEquality(attribute("a.x"), attribute("c.x")),))
    text = FiniteAttribute(attribute("a.x"), frozenset({"text"}))
    query = PunctuatedJoin((a, b), differences=(JoinDifference(attribute("a.x"), attribute("b.x"), 0),), finite=(text,))
    with pytest.raises(ValueError, match="no integers"):
        purgeability(query, [], "a")
    with pytest.raises(ValueError, match="by value or by order"):
        Scheme("a", ("x",), order="x")


def test_schemes_of_other_streams_and_attributes_are_passed_over() -> None:
    query = PunctuatedJoin(
        (PunctuatedStream("a", ("x",)), PunctuatedStream("b", ("x",))),
        (JoinEquality(attribute("a.x"), attribute("b.x")),),
    )
    schemes = [Scheme("c", ("x",)), Scheme("b", ("y",)), Scheme("b", (), order="ts"), Scheme("b", ("x",))]
    state = purgeability(query, schemes, "a")
    assert isinstance(state, Purgeable)
    assert state.schemes == (Scheme("b", ("x",)),)
    assert JoinAttribute("b", "x") == attribute("b.x")

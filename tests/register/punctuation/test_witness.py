"""A witness convinces without the theory: each kept row joins future rows that no punctuation rules out."""

from __future__ import annotations

import random
from itertools import product

import pytest

from penstock.closing.punctuation import NotPurgeable, Punctuation, PurgeDefeat, StreamRow, purge_defeat
from tests.reference.punctuation import check, rules_out
from tests.register.punctuation.futures import Instance, holds, random_instance, random_timed_instance


def checked(instance: Instance, found: PurgeDefeat, stream: str, size: int) -> None:
    assert len(found.kept) == len(found.futures) == size
    for kept, future in zip(found.kept, found.futures, strict=True):
        assert kept.stream == stream
        assert future
        assert not any(rules_out(each, row) for each in found.punctuations for row in future)
        coming = {row.stream: dict(row.values) for row in future}
        here = [name for name in instance.streams if name not in coming and name != stream]
        partners = [[dict(r.values) for r in found.partners if r.stream == name] for name in here]
        results = (
            {stream: dict(kept.values), **coming, **dict(zip(here, rows, strict=True))} for rows in product(*partners)
        )
        assert any(holds(instance, rows) for rows in results)


def all_on(instance: Instance, rows: list[StreamRow]) -> list[Punctuation]:
    """All punctuations on values that were seen in an attribute, in any combination, up to the highest order seen."""
    seen = {
        (stream, name): list(dict.fromkeys(row[name] for row in rows if row.stream == stream))
        for stream, names in instance.streams.items()
        for name in names
    }
    return [
        Punctuation(
            scheme, values, max((v for v in seen[scheme.stream, scheme.order]), default=0) if scheme.order else None
        )
        for scheme in instance.scheme_set
        for values in product(*(seen[scheme.stream, name] for name in scheme.attributes))
    ]


@pytest.mark.parametrize("timed", [False, True])
def test_each_kept_row_still_joins(timed: bool) -> None:
    made = 0
    for seed in range(700):
        rng = random.Random(seed)
        instance = random_timed_instance(rng) if timed else random_instance(rng)
        for state in check(instance.query, instance.scheme_set).states:
            if isinstance(state, NotPurgeable):
                found = purge_defeat(instance.query, instance.scheme_set, state.stream, 3)
                checked(instance, found, state.stream, 3)
                assert not any(
                    rules_out(each, row)
                    for each in all_on(instance, [*found.kept, *found.partners])
                    for future in found.futures
                    for row in future
                ), (seed, instance)
                made += 1
    assert made > 500


def test_every_scheme_has_sent_its_punctuations() -> None:
    instance = random_instance(random.Random(3))
    stream = next(s.stream for s in check(instance.query, instance.scheme_set).states if isinstance(s, NotPurgeable))
    found = purge_defeat(instance.query, instance.scheme_set, stream, 5)
    assert {each.scheme for each in found.punctuations} == set(instance.scheme_set)


def test_a_purgeable_stream_has_no_witness() -> None:
    instance = Instance({"a": ("k",), "b": ("k",)}, [("a.k", "b.k")], schemes=[("b", ("k",), None)])
    with pytest.raises(ValueError, match="a is purgeable"):
        purge_defeat(instance.query, instance.scheme_set, "a", 1)

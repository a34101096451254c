"""Dictionaries against a model: a mapping that forgets, in which held values keep their codes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.synopsis import dictionary as module
from penstock.synopsis.dictionary import Dictionary, Interned, Page

VALUES: list[Interned] = ["", "a", "é", "🙂", "aa", b"", b"a", b"b", 0, -(10**30), 7, 2**100, *map(str, range(20))]

#: Values that come, then those of all that are held on to; the others go, if there is a sweep.
steps = st.lists(
    st.tuples(st.lists(st.sampled_from(VALUES), max_size=12), st.sets(st.sampled_from(VALUES)), st.booleans()),
    max_size=8,
)


def swept(dictionary: Dictionary, kept: set[Interned]) -> None:
    marks = dictionary.marks()
    codes = [dictionary.find(value) for value in kept]
    marks.add(np.array([code for code in codes if code is not None], np.int64))
    dictionary.sweep(marks)


def restored(pages: dict[int, Page]) -> Dictionary:
    copy = Dictionary()
    copy.restore(pages)
    return copy


@given(steps, st.integers(1, 5), st.integers(0, 3))
def test_held_values_keep_their_codes_and_others_go(
    steps: list[tuple[list[Interned], set[Interned], bool]], page_codes: int, restore_every: int
) -> None:
    dictionary, pages = Dictionary(), dict[int, Page]()
    model: dict[Interned, int] = {}
    with _page_codes(page_codes):
        for number, (come, kept, sweeps) in enumerate(steps):
            codes = dictionary.encode(come).tolist()
            for value, code in zip(come, codes, strict=True):
                assert model.setdefault(value, code) == code
            _is_right(dictionary, model)
            if sweeps:
                swept(dictionary, kept)
                model = {value: code for value, code in model.items() if value in kept}
                _is_right(dictionary, model)
            pages |= dictionary.changes()
            if restore_every and number % restore_every == 0:
                dictionary = restored(pages)
                _is_right(dictionary, model)
                assert not dict(dictionary.changes())


def _is_right(dictionary: Dictionary, model: dict[Interned, int]) -> None:
    assert len(dictionary) == len(model)
    assert len(set(model.values())) == len(model)
    assert [dictionary.find(value) for value in VALUES] == [model.get(value) for value in VALUES]
    assert dictionary.values(np.array(list(model.values()), np.int64)) == list(model)
    assert dictionary.nbytes == Dictionary(model).nbytes
    ranks = dictionary.ranks()
    for kind in (str, bytes, int):
        ordered = [ranks[model[value]] for value in sorted(value for value in model if type(value) is kind)]
        assert all(left < right for left, right in pairwise(ordered))


class _page_codes:
    """So few codes per page that a few values fill several."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> None:
        self._before, module.PAGE_CODES = module.PAGE_CODES, self._count

    def __exit__(self, *_: object) -> None:
        module.PAGE_CODES = self._before


def test_ranks_follow_the_order_of_each_type() -> None:
    dictionary = Dictionary(["b", 5, "é", b"b", "a"])
    assert dictionary.ranks().tolist() == [1, 0, 2, 0, 0]
    dictionary.encode(["aa", -(10**30), b"", "🙂"])
    assert dictionary.ranks().tolist() == [2, 1, 3, 1, 0, 1, 0, 0, 4]


def test_free_codes_are_given_out_again_and_the_lowest_first() -> None:
    dictionary = Dictionary("abcdef")
    swept(dictionary, {"b", "e"})
    assert dictionary.encode("xbyzw").tolist() == [0, 1, 2, 3, 5]


def test_a_sweep_is_due_when_it_costs_each_new_value_a_constant_share() -> None:
    """However much is kept, and however often the dictionary moves to another process."""
    dictionary, pages = Dictionary(), dict[int, Page]()
    window: list[int] = []
    looked_at, new = 0, 0
    for number in range(200):
        window += dictionary.encode(f"value {new + i}" for i in range(1000)).tolist()
        new += 1000
        window = window[-50_000:]
        if dictionary.is_sweep_due:
            marks = dictionary.marks()
            marks.add(np.array(window))
            dictionary.sweep(marks)
            looked_at += marks.words
            assert len(dictionary) == len(window)
        assert len(dictionary) <= 101_000
        pages |= dictionary.changes()
        if number % 7 == 0:
            dictionary = restored(pages)
    assert looked_at < 4 * new


def test_a_sweep_waits_where_much_is_stored_and_little_is_new() -> None:
    dictionary = Dictionary(map(str, range(5000)))
    marks = dictionary.marks()
    for _ in range(1000):
        marks.add(np.arange(5000))
    dictionary.sweep(marks)
    dictionary.encode(map(str, range(5000, 80_000)))
    assert not dictionary.is_sweep_due
    dictionary.encode(map(str, range(80_000, 90_000)))
    assert dictionary.is_sweep_due


def test_pages_hold_no_value_that_went() -> None:
    dictionary = Dictionary(map(str, range(3000)))
    pages = dict(dictionary.changes())
    swept(dictionary, {"1", "2500"})
    pages |= dictionary.changes()
    assert sum(value is not None for number in pages.keys() - {0} for value in pages[number]) == 2

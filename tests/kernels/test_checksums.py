"""Checksums tell pages apart, above all those that differ in a few small numbers."""

from __future__ import annotations

from itertools import product

import numpy as np

from penstock.kernels.checksums import page_sums


def test_pages_of_small_numbers_all_have_sums_of_their_own() -> None:
    """Counters that rise side by side are what registers and queues hold."""
    pages = np.array(list(product(range(5), repeat=6)), np.int64)
    padded = np.zeros((len(pages), 16), np.int64)
    for columns in (range(6), range(10, 16), (0, 1, 2, 3, 4, 8)):
        padded[:] = 0
        padded[:, list(columns)] = pages
        assert len(np.unique(page_sums(padded.reshape(-1), 16))) == len(pages)


def test_two_counters_that_rise_together() -> None:
    pages = np.zeros((1000, 48), np.int64)
    for at in range(47):
        pages[:] = 0
        pages[:, at] = pages[:, at + 1] = np.arange(1000)
        assert len(np.unique(page_sums(pages.reshape(-1), 48))) == 1000


def test_a_page_of_zeros_has_the_sum_of_its_length() -> None:
    sums = [int(page_sums(np.zeros(words, np.int64), 64)[0]) for words in range(1, 65)]
    assert len(set(sums)) == 64

"""Hashes: pinned, since cells and persisted state lean on them, and well mixed."""

import numpy as np

from penstock.kernels.hashing import row_hash, word_hash, words_hash

ROWS = np.array([[1, -5, 3], [2**62, -(2**63), 7]], np.int64)


def test_hashes_are_the_same_everywhere() -> None:
    columns = np.array([0, 1])
    assert row_hash(ROWS, 0, columns) == 8561968419749958833
    assert row_hash(ROWS, 1, columns) == 2686704201994570920


def test_the_hash_of_two_words_is_that_of_a_row_of_them() -> None:
    assert words_hash(ROWS[0, 0], ROWS[0, 1]) == row_hash(ROWS, 0, np.array([0, 1]))


def test_the_order_of_columns_matters() -> None:
    assert row_hash(ROWS, 0, np.array([0, 1])) != row_hash(ROWS, 0, np.array([1, 0]))


def test_every_bit_changes_half_of_the_bits() -> None:
    generator = np.random.default_rng(1)
    words = generator.integers(-(2**63), 2**63 - 1, 200)
    for bit in range(64):
        flipped = words ^ np.int64(-(2**63) if bit == 63 else 1 << bit)
        changed = [int(word_hash(a) ^ word_hash(b)).bit_count() for a, b in zip(words, flipped, strict=True)]
        assert 28 < sum(changed) / len(changed) < 35


def test_keys_in_a_row_spread_over_buckets() -> None:
    keys = np.arange(4096, dtype=np.int64).reshape(-1, 1)
    buckets = {row_hash(keys, row, np.array([0])) & 4095 for row in range(4096)}
    assert len(buckets) > 0.6 * 4096  # 1 - 1/e, as of random ones

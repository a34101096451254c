"""Exact sums against Python's integers and fractions: any values, any weights, any order."""

import math
import struct
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import exact, slots
from tests.reference.numbers import nearest_double
from tests.seeds import CHEAP

WORD = 1 << 64
WEIGHTS = st.one_of(st.sampled_from([1, -1]), st.integers(-5, 5), st.integers(-(2**62), 2**62))
DIVISORS = st.one_of(st.integers(1, 9), st.integers(1, 2**56), st.integers(1, 2**63 - 1))
INTEGERS = st.one_of(
    st.integers(-9, 9),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(1 - 10**38, 10**38 - 1),
    st.sampled_from([2**63 - 1, -(2**63), WORD - 1, -WORD]),
)
DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1000, 1000),
    st.sampled_from([5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, 0.1, 0.2, -0.3, 1e16, 1.0]),
)


def signed(word: int) -> np.int64:
    return np.uint64(word % WORD).astype(np.int64)


def bits(value: float) -> int:
    """As a code has them: there is no -0.0."""
    return struct.unpack("<q", struct.pack("<d", value + 0.0))[0]


def value(code: int) -> float:
    return struct.unpack("<d", struct.pack("<q", code))[0]


def new_pool() -> np.ndarray:
    return np.zeros((3, exact.POOL_WIDTH), np.int64)


@CHEAP
@given(st.lists(st.tuples(INTEGERS, WEIGHTS), max_size=8), DIVISORS)
def test_sums_of_integers_are_exact_and_their_quotients_rounded_once(
    terms: list[tuple[int, int]], divisor: int
) -> None:
    sums = np.zeros((2, 5), np.int64)
    for term, weight in terms:
        exact.add_integer(sums, 1, 1, signed(term), signed(term // WORD), np.int64(weight))
    total = sum(term * weight for term, weight in terms)
    low, middle, high = (int(word) for word in sums[1, 1:4])
    assert high * WORD**2 + middle % WORD * WORD + low % WORD == total
    assert exact.fits_word(sums, 1, 1) == (-(2**63) <= total < 2**63)
    digits = np.zeros(exact.POOL_WIDTH, np.int64)
    assert exact.integer_quotient(sums, 1, 1, np.int64(divisor), digits) == bits(
        nearest_double(Fraction(total, divisor))
    )
    assert not sums[0].any()
    assert not sums[1, [0, 4]].any()


@CHEAP
@given(st.lists(st.tuples(DOUBLES, WEIGHTS), max_size=8), DIVISORS)
def test_sums_of_doubles_are_exact_and_their_quotients_rounded_once(
    terms: list[tuple[float, int]], divisor: int
) -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    for term, weight in terms:
        exact.add_double(sums, 0, 0, np.int64(bits(term)), np.int64(weight), pool)
    total = sum((Fraction(term) * weight for term, weight in terms), Fraction(0))
    digits = np.zeros(exact.POOL_WIDTH, np.int64)
    for by in (1, divisor):
        code = exact.double_quotient(sums, 0, 0, np.int64(by), pool, digits)
        assert value(code) == nearest_double(total / by)
        assert code == bits(nearest_double(total / by))


#: How many times a sum is added; less than 0: taken away.
FACTORS = st.sampled_from([1, -1, 3, -7, 2**31, -(2**31) - 1, 2**32 - 1, 2**50 + 12345, -(2**61) + 1])


@CHEAP
@given(st.lists(st.tuples(st.lists(INTEGERS, max_size=4), FACTORS), max_size=5))
def test_sums_of_integers_are_added_and_taken_away(parts: list[tuple[list[int], int]]) -> None:
    sums = np.zeros((2, 5), np.int64)
    for terms, factor in parts:
        other = np.zeros((3, 4), np.int64)
        for term in terms:
            exact.add_integer(other, 2, 1, signed(term), signed(term // WORD), np.int64(1))
        exact.add_integer_sum(sums, 1, 1, other, 2, 1, np.int64(factor))
    low, middle, high = (int(word) for word in sums[1, 1:4])
    total = sum(sum(terms) * factor for terms, factor in parts)
    assert high * WORD**2 + middle % WORD * WORD + low % WORD == total


@CHEAP
@given(
    st.lists(
        st.one_of(
            st.tuples(st.lists(st.tuples(DOUBLES, WEIGHTS), max_size=4), st.sampled_from([1, -1])),
            st.tuples(st.lists(st.tuples(DOUBLES, st.sampled_from([1, -1])), max_size=4), FACTORS),
        ),
        max_size=5,
    )
)
def test_sums_of_doubles_are_added_and_taken_away(parts: list[tuple[list[tuple[float, int]], int]]) -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    digits = np.zeros(exact.POOL_WIDTH, np.int64)
    total = Fraction(0)
    others = []
    for terms, factor in parts:
        other, spilt = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
        for term, weight in terms:
            exact.add_double(other, 0, 0, np.int64(bits(term)), np.int64(weight), spilt)
        exact.add_double_sum(sums, 0, 0, other, 0, 0, np.int64(factor), pool, spilt)
        others.append((other, factor, spilt))
        total += factor * sum((Fraction(term) * weight for term, weight in terms), Fraction(0))
        code = exact.double_quotient(sums, 0, 0, np.int64(1), pool, digits)
        assert code == bits(nearest_double(total))
    for other, factor, spilt in others:
        exact.add_double_sum(sums, 0, 0, other, 0, 0, np.int64(-factor), pool, spilt)
    assert not sums[0, exact.WINDOW :].any()
    assert not pool[1:].any()


def test_sums_of_numbers_of_one_size_stay_in_their_window() -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    for term in (1e-3, 1e3, 0.1, -123.456):
        other = np.zeros((1, exact.DOUBLE_WIDTH), np.int64)
        exact.add_double(other, 0, 0, np.int64(bits(term)), np.int64(2**30), pool)
        exact.add_double_sum(sums, 0, 0, other, 0, 0, np.int64(1), pool, pool)
    assert sums[0, exact.SPILL] == 0


@CHEAP
@given(st.permutations([(x, w) for x in (1e308, 1e-308, 3.5, -0.1, 5e-324, 1e16) for w in (1, -1)]))
def test_what_is_taken_away_leaves_nothing(terms: list[tuple[float, int]]) -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    for term, weight in terms:
        exact.add_double(sums, 0, 0, np.int64(bits(term)), np.int64(weight), pool)
    spill = sums[0, exact.SPILL]
    assert spill != 0
    assert not pool[spill].any()
    assert not sums[0, exact.WINDOW :].any()
    exact.release_double(sums, 0, 0, pool)
    assert slots.in_use(pool) == 0
    assert not sums.any()


def test_special_values_decide_by_themselves_and_can_be_taken_away() -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    digits = np.zeros(exact.POOL_WIDTH, np.int64)
    seen = []
    for term, weight in [(1.5, 2), (math.inf, 1), (-math.inf, 1), (math.inf, -1), (math.nan, 3), (math.nan, -3)]:
        exact.add_double(sums, 0, 0, np.int64(bits(term)), np.int64(weight), pool)
        seen.append(value(exact.double_quotient(sums, 0, 0, np.int64(1), pool, digits)))
    assert str(seen) == "[3.0, inf, nan, -inf, nan, -inf]"


def test_numbers_of_one_size_stay_in_their_window() -> None:
    sums, pool = np.zeros((1, exact.DOUBLE_WIDTH), np.int64), new_pool()
    for term in (1e-9, 1e9, 0.1, -123456.789):
        exact.add_double(sums, 0, 0, np.int64(bits(term)), np.int64(2**40), pool)
    assert sums[0, exact.SPILL] == 0

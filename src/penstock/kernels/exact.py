"""Exact sums, from which any value can be taken away again, and their quotients by a count, rounded once.

Integers add up in 192 bits: 2^63 rows of 128 bits fit. DOUBLEs add up in a superaccumulator (Kulisch): a fixed-point
number that reaches from the smallest to past the largest DOUBLE, in digits of 32 bits, one to a word. Digits are
balanced, from -2^31 to 2^31-1, so that a sum that wavers around zero carries through a digit or two, not through all.

Most sums need a small part of that range. A *window* of ten digits holds them; a sum that leaves its window moves to a
row of digits for the full range, from a pool.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import slots
from penstock.kernels.jit import lean

Ints = NDArray[np.int64]

#: Words of an integer sum, lowest first.
INTEGER_WIDTH = 3

#: Words of a sum of DOUBLEs: how many of each special value, where the window starts (plus one; 0: nowhere yet), the
#: slot in the pool (0: none), and the window.
PLUS_INFINITY, MINUS_INFINITY, NOT_A_NUMBER, BASE, SPILL, WINDOW = 0, 1, 2, 3, 4, 5
WINDOW_DIGITS = 10
DOUBLE_WIDTH = WINDOW + WINDOW_DIGITS

#: A term starts at most at digit 65, (2045 + 48) / 32, and 2^63 terms of 108 bits reach less than 6 digits further.
POOL_WIDTH = 74
_REACH = 6
#: 2^63 digits of other sums reach less than 4 digits, and together with terms less than 6 past the terms' last place.
_DIGIT_REACH = 4
#: Digits that are kept free below the first value's, for smaller ones.
_BELOW = 2

_NAN = 0x7FF8_0000_0000_0000
_INFINITY = 0x7FF0_0000_0000_0000
_SIGN = -0x8000_0000_0000_0000
_FRACTION = (1 << 52) - 1
_LOW_HALF = 0xFFFF_FFFF
_HALF_DIGIT = 1 << 31

_U_ZERO = np.uint64(0)
_U_ONE = np.uint64(1)
_U_LOW_HALF = np.uint64(0xFFFF_FFFF)
_U_32 = np.uint64(32)


@lean
def add_integer(sums: Ints, row: int, at: int, low: int, high: int, weight: int) -> None:
    """Adds weight * (high * 2^64 + low), where low counts as unsigned."""
    first, second = np.uint64(np.int64(low)), np.uint64(np.int64(high))
    third = np.uint64(np.int64(high) >> 63)
    _add_words(sums, row, at, *_times(first, second, third, weight))


@lean
def add_integer_sum(sums: Ints, row: int, at: int, others: Ints, other: int, place: int, factor: int) -> None:
    """Adds another integer sum, so many times."""
    first, second = np.uint64(others[other, place]), np.uint64(others[other, place + 1])
    third = np.uint64(others[other, place + 2])
    _add_words(sums, row, at, *_times(first, second, third, factor))


@lean
def _times(
    first: np.uint64, second: np.uint64, third: np.uint64, factor: int
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """A product modulo 2^192, where two's complement needs no care for signs but that of the factor."""
    size = np.uint64(np.int64(factor))
    if factor < 0:
        first, second, third = _negated(first, second, third)
        size = ~size + _U_ONE
    if size != _U_ONE:
        carry = _high_product(first, size)
        first = first * size
        third = third * size + _high_product(second, size)
        second = second * size + carry
        if second < carry:
            third += _U_ONE
    return first, second, third


@lean
def _add_words(sums: Ints, row: int, at: int, first: np.uint64, second: np.uint64, third: np.uint64) -> None:
    old = np.uint64(sums[row, at])
    new = old + first
    sums[row, at] = np.int64(new)
    if new < old:
        second += _U_ONE
        if second == _U_ZERO:
            third += _U_ONE
    old = np.uint64(sums[row, at + 1])
    new = old + second
    sums[row, at + 1] = np.int64(new)
    if new < old:
        third += _U_ONE
    sums[row, at + 2] = np.int64(np.uint64(sums[row, at + 2]) + third)


@lean
def fits_word(sums: Ints, row: int, at: int) -> bool:
    """Whether an integer sum is what its lowest word says."""
    sign = sums[row, at] >> 63
    return sums[row, at + 1] == sign and sums[row, at + 2] == sign  # type: ignore[no-any-return]


@lean
def integer_quotient(sums: Ints, row: int, at: int, divisor: int, digits: Ints) -> int:
    """The bits of the DOUBLE next to an integer sum through `divisor`. `digits` is scratch."""
    first, second, third = np.uint64(sums[row, at]), np.uint64(sums[row, at + 1]), np.uint64(sums[row, at + 2])
    negative = sums[row, at + 2] < 0
    if negative:
        first, second, third = _negated(first, second, third)
    digits[0], digits[1] = np.int64(first & _U_LOW_HALF), np.int64(first >> _U_32)
    digits[2], digits[3] = np.int64(second & _U_LOW_HALF), np.int64(second >> _U_32)
    digits[4], digits[5] = np.int64(third & _U_LOW_HALF), np.int64(third >> _U_32)
    return _signed(nearest_double(digits, 6, 0, divisor), negative)


@lean
def add_double(sums: Ints, row: int, at: int, bits: int, weight: int, pool: Ints) -> None:
    """Adds a DOUBLE, given by its bits, `weight` times."""
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & _FRACTION
    if exponent == 0x7FF:
        special = NOT_A_NUMBER if mantissa != 0 else (MINUS_INFINITY if bits < 0 else PLUS_INFINITY)
        sums[row, at + special] += weight
        return
    # In units of 2^-1074, the smallest DOUBLE, the number is mantissa * 2^place.
    place = 0
    if exponent != 0:
        mantissa += _FRACTION + 1
        place = exponent - 1
    if mantissa == 0:
        return
    while weight != 0:
        # Balanced digits of 24 bits keep each product within a word.
        factor = ((weight + (1 << 23)) & ((1 << 24) - 1)) - (1 << 23)
        weight = (weight >> 24) + (1 if factor < 0 else 0)
        _add_term(sums, row, at, mantissa, place, -factor if bits < 0 else factor, pool)
        place += 24


@lean
def add_double_sum(
    sums: Ints, row: int, at: int, others: Ints, other: int, place: int, factor: int, pool: Ints, spilt: Ints
) -> None:
    """Adds another sum of DOUBLEs, digit by digit, so many times. `spilt` is the pool of the other."""
    for special in range(3):
        sums[row, at + special] += others[other, place + special] * factor
    spill, base = others[other, place + SPILL], others[other, place + BASE] - 1
    if spill == 0 and base < 0:
        return
    if sums[row, at + BASE] == 0:
        # Its window is as good as any.
        sums[row, at + BASE] = base + 1
    # Balanced digits of 32 bits keep each product within a word.
    low = ((factor + _HALF_DIGIT) & _LOW_HALF) - _HALF_DIGIT
    high = (factor >> 32) + (1 if low < 0 else 0)
    for i in range(WINDOW_DIGITS if spill == 0 else POOL_WIDTH):
        digit = others[other, place + WINDOW + i] if spill == 0 else spilt[spill, i]
        if digit != 0:
            place_of_digit = base + i if spill == 0 else i
            _add_digit(sums, row, at, place_of_digit, digit * low, pool)
            if high != 0:
                _add_digit(sums, row, at, place_of_digit + 1, digit * high, pool)


@lean
def double_quotient(sums: Ints, row: int, at: int, divisor: int, pool: Ints, digits: Ints) -> int:
    """The bits of the DOUBLE next to a sum of DOUBLEs through `divisor`; special values decide by themselves."""
    plus, minus = sums[row, at + PLUS_INFINITY] > 0, sums[row, at + MINUS_INFINITY] > 0
    if sums[row, at + NOT_A_NUMBER] > 0 or (plus and minus):
        return _NAN
    if plus:
        return _INFINITY
    if minus:
        return _INFINITY | _SIGN
    spill = sums[row, at + SPILL]
    count, base = POOL_WIDTH, 0
    if spill == 0:
        count, base = WINDOW_DIGITS, sums[row, at + BASE] - 1
    for i in range(count):
        digits[i] = sums[row, at + WINDOW + i] if spill == 0 else pool[spill, i]
    negative = _unsigned(digits, count)
    return _signed(nearest_double(digits, count, 32 * base - 1074, divisor), negative)


@lean
def release_double(sums: Ints, row: int, at: int, pool: Ints) -> None:
    """Gives the digits of a sum of nothing back; the next value chooses its window anew."""
    if sums[row, at + SPILL] != 0:
        slots.give(pool, sums[row, at + SPILL])
    sums[row, at + SPILL] = 0
    sums[row, at + BASE] = 0


@lean
def nearest_double(digits: Ints, count: int, exponent: int, divisor: int) -> int:
    """The bits of the DOUBLE next to N * 2^exponent / divisor, ties to even; N has `count` digits from 0 to 2^32-1.

    Long division from the top, until the quotient has 56 bits: 53, one that rounds, one to spare. Whether anything is
    left is all that the rest can say. The same steps with pieces of one bit serve divisors of more than 55 bits.
    """
    size = 8 if divisor < (1 << 55) else 1
    top = count
    while top > 0 and digits[top - 1] == 0:
        top -= 1
    position = 32 * top
    through, shift = np.uint64(divisor), np.uint64(size)
    quotient, rest = _U_ZERO, _U_ZERO
    while quotient < np.uint64(1 << 55) and (position > 0 or rest != _U_ZERO):
        position -= size
        piece = np.int64(0)
        if position >= 0:
            piece = (digits[position >> 5] >> (position & 31)) & ((1 << size) - 1)
        dividend = (rest << shift) | np.uint64(piece)
        part = dividend // through
        rest = dividend - part * through
        quotient = (quotient << shift) | part
    inexact = rest != _U_ZERO
    if position > 0:
        place = position >> 5
        inexact = inexact or digits[place] & ((1 << (position & 31)) - 1) != 0
        while place > 0 and not inexact:
            place -= 1
            inexact = digits[place] != 0
    return _rounded(np.int64(quotient), exponent + position, inexact)  # type: ignore[arg-type]


@lean
def _rounded(mantissa: int, exponent: int, inexact: bool) -> int:
    """The bits next to mantissa * 2^exponent, or a little more than that if it is inexact (and then of 56 bits)."""
    bits = 63
    while bits > 0 and mantissa >> (bits - 1) == 0:
        bits -= 1
    # The exponent of the last place of the result; subnormal numbers share the smallest.
    last = max(exponent + bits - 53, -1074)
    shift = last - exponent
    if shift >= 63 or bits == 0:
        return 0
    if last > 971:
        return _INFINITY
    if shift <= 0:
        kept = mantissa << -shift
    else:
        kept = mantissa >> shift
        tail, half = mantissa - (kept << shift), 1 << (shift - 1)
        if tail > half or (tail == half and (inexact or kept & 1 == 1)):
            kept += 1
    # The leading one of a normal number adds one to the exponent, and so does a carry out of all 53 bits.
    return min(((last + 1074) << 52) + kept, _INFINITY)


@lean
def _signed(bits: int, negative: bool) -> int:
    """There is no negative zero."""
    return bits | _SIGN if negative and bits != 0 else bits


@lean
def _add_term(
    sums: Ints,
    row: int,
    at: int,
    mantissa: int,
    place: int,
    factor: int,
    pool: Ints,
) -> None:
    """Adds factor * mantissa * 2^place, in the window if the sum will stay in it whatever else comes there."""
    digit = place >> 5
    spill = sums[row, at + SPILL]
    if spill == 0:
        base = sums[row, at + BASE] - 1
        if base < 0:
            base = max(digit - _BELOW, 0)
            sums[row, at + BASE] = base + 1
        if base <= digit and digit + _REACH <= base + WINDOW_DIGITS:
            _add_digits(sums, row, at + WINDOW + digit - base, mantissa, place & 31, factor)
            return
        spill = _spilt(sums, row, at, pool)
    _add_digits(pool, spill, digit, mantissa, place & 31, factor)


@lean
def _add_digit(sums: Ints, row: int, at: int, digit: int, carry: int, pool: Ints) -> None:
    """Adds to a digit of a sum that has a window, in it if the sum will stay in it whatever else comes there."""
    spill = sums[row, at + SPILL]
    if spill == 0:
        base = sums[row, at + BASE] - 1
        if base <= digit and digit + _DIGIT_REACH <= base + WINDOW_DIGITS:
            digit += at + WINDOW - base
            while carry != 0:
                carry = _put(sums, row, digit, carry)
                digit += 1
            return
        spill = _spilt(sums, row, at, pool)
    while carry != 0:
        carry = _put(pool, spill, digit, carry)
        digit += 1


@lean
def _spilt(sums: Ints, row: int, at: int, pool: Ints) -> int:
    """Moves a sum's digits from its window to a row of the pool, and gives the row."""
    spill = slots.take(pool)
    base = sums[row, at + BASE] - 1
    sums[row, at + SPILL] = spill
    for i in range(WINDOW_DIGITS):
        pool[spill, base + i] = sums[row, at + WINDOW + i]
        sums[row, at + WINDOW + i] = 0
    return spill


@lean
def _add_digits(digits: Ints, row: int, at: int, mantissa: int, shift: int, factor: int) -> None:
    low = (mantissa & _LOW_HALF) << shift
    high = (low >> 32) + ((mantissa >> 32) << shift)
    carry = _put(digits, row, at, (low & _LOW_HALF) * factor)
    carry = _put(digits, row, at + 1, (high & _LOW_HALF) * factor + carry)
    carry = _put(digits, row, at + 2, (high >> 32) * factor + carry)
    at += 3
    while carry != 0:
        carry = _put(digits, row, at, carry)
        at += 1


@lean
def _put(digits: Ints, row: int, at: int, term: int) -> int:
    """Adds to one digit, and gives what does not fit it."""
    digit = digits[row, at] + term
    carry = (digit + _HALF_DIGIT) >> 32
    digits[row, at] = digit - (carry << 32)
    return carry  # type: ignore[no-any-return]


@lean
def _unsigned(digits: Ints, count: int) -> bool:
    """Turns balanced digits into those of the magnitude, from 0 to 2^32-1; whether the number is negative."""
    top = count - 1
    while top > 0 and digits[top] == 0:
        top -= 1
    negative = digits[top] < 0
    carry = np.int64(0)
    for i in range(top + 1):
        digit = (-digits[i] if negative else digits[i]) + carry
        carry = digit >> 32
        digits[i] = digit & _LOW_HALF
    return negative  # type: ignore[no-any-return]


@lean
def _negated(first: np.uint64, second: np.uint64, third: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    first = ~first + _U_ONE
    second = ~second
    third = ~third
    if first == _U_ZERO:
        second += _U_ONE
        if second == _U_ZERO:
            third += _U_ONE
    return first, second, third


@lean
def _high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a product of 64-bit words, by halves (Knuth 4.3.1)."""
    a0, a1 = a & _U_LOW_HALF, a >> _U_32
    b0, b1 = b & _U_LOW_HALF, b >> _U_32
    middle = a1 * b0 + ((a0 * b0) >> _U_32)
    lower = a0 * b1 + (middle & _U_LOW_HALF)
    return a1 * b1 + (middle >> _U_32) + (lower >> _U_32)

"""Checksums of pages: which of them changed since they were persisted.

Each word goes through a multiplication by an odd number, which is a bijection, so a page in which one word changed
always has another sum; four lanes let the processor multiply while it waits for memory. Lanes start far apart and are
folded one after the other, so that small numbers which trade places between two lanes do not cancel out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.jit import kernel

Ints = NDArray[np.int64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)

#: Where lanes start: digits of pi.
_A, _B = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)
_C, _D = np.uint64(0xA4093822299F31D0), np.uint64(0x082EFA98EC4E6C89)


@kernel
def page_sums(words: Ints, page_words: int) -> Ints:
    """The checksum of each page of so many words; the last page may be shorter."""
    pages = (len(words) + page_words - 1) // page_words
    sums = np.empty(pages, np.int64)
    for page in range(pages):
        start, end = page * page_words, min(len(words), (page + 1) * page_words)
        a, b, c, d = _A, _B, _C, _D ^ np.uint64(end - start)
        i = start
        while i + 4 <= end:
            a = (a ^ np.uint64(words[i])) * _ODD
            b = (b ^ np.uint64(words[i + 1])) * _ODD
            c = (c ^ np.uint64(words[i + 2])) * _ODD
            d = (d ^ np.uint64(words[i + 3])) * _ODD
            # Without a shift the low bits of a product never see the high bits of a word.
            a, b, c, d = a ^ (a >> _32), b ^ (b >> _32), c ^ (c >> _32), d ^ (d >> _32)
            i += 4
        while i < end:
            a = (a ^ np.uint64(words[i])) * _ODD
            a ^= a >> _32
            i += 1
        for lane in (b, c, d):
            a *= _ODD
            a = (a ^ (a >> _32) ^ lane) * _ODD
            a ^= a >> _32
        sums[page] = np.int64(a)
    return sums

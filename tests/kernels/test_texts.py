"""Words of texts: alike for texts that are, and for no others that we find."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.texts import text_words
from tests.seeds import CHEAP

BYTES = st.binary(max_size=20) | st.sampled_from([b"", b"\0", b"\0\0", b"a" * 8, b"a" * 9, b"\0" * 8, b"\0" * 16])


@CHEAP
@given(st.lists(BYTES, max_size=20))
def test_texts_have_equal_words_just_if_they_are_equal(texts: list[bytes]) -> None:
    offsets = np.cumsum([0, *map(len, texts)])
    words = np.zeros((len(texts), 2), np.int64)
    text_words(offsets, np.frombuffer(b"".join(texts), np.uint8), words)
    for lane in (0, 1):
        assert len(set(words[:, lane].tolist())) == len(set(texts))
    assert len({(text, *row) for text, row in zip(texts, words.tolist(), strict=True)}) == len(set(texts))

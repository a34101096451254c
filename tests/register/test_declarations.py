"""Names as they are printed can be read again."""

import re

from penstock.closing.declarations import RESERVED, name_text
from penstock.sql import bind_text
from penstock.sql.statements import DIALECT

WORDS = sorted(word for word in DIALECT.tokenizer_class.KEYWORDS if re.fullmatch(r"[A-Z_]\w*", word))


def binds(name: str) -> bool:
    """As a stream and as a column, in declarations and queries."""
    constraints = f"CLUSTERED BY ({name}) WITHIN 1 ROW, ORDERED BY {name} WITHIN 1 ROW, UNIQUE ({name})"
    stream = f"CREATE STREAM {name} (a BIGINT, {name} BIGINT, {constraints}) TIMESTAMP BY {name} DELAY 1 SECOND"
    return not bind_text(f"{stream}; SELECT {name}, x.{name} FROM {name} [NOW] x").errors


def test_every_word_is_a_name_as_it_is_printed() -> None:
    assert [word for word in WORDS if not binds(name_text(word.lower()))] == []


def test_only_words_that_need_it_are_quoted() -> None:
    assert [word for word in sorted(RESERVED) if binds(word)] == []

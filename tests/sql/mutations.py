"""Statements with something wrong in them: those of the examples and refusals, cut up and put together again.

Pure functions of a `random.Random`, so that a seed gives the same statements on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.catalog import Catalog
from penstock.sql import bind_text

ROOT = Path(__file__).parents[2]

LONGEST = 200_000

_TOKEN = re.compile(r"--[^\n]*|'[^']*'|`[^`]*`|\w+|\s+|<=>|<=|>=|<>|\|\||.", re.DOTALL)


@dataclass(frozen=True)
class Seed:
    """A statement, and what was declared where it stood."""

    statement: str
    catalog: Catalog


@cache
def corpus() -> tuple[Seed, ...]:
    right = [ROOT / "tests" / "sql" / "language.sql", *sorted((ROOT / "examples").glob("*.sql"))]
    wrong = sorted((ROOT / "tests" / "refusals").glob("*.sql"))
    # What is right leads further into the binder, so it stands there more often.
    return tuple(seed for path in (*right * 3, *wrong) for seed in _seeds(path.read_text()))


def _seeds(text: str) -> Iterator[Seed]:
    text = re.sub(r"(?m)^--.*\n", "", text)
    declared = bind_text(text).catalog
    for statement in text.split(";\n"):
        if statement.strip():
            # What a statement declares itself must not be there yet.
            is_query = re.match(r"\s*(SELECT|WITH|CREATE QUERY)", statement)
            yield Seed(statement.strip(), declared if is_query else Catalog())


def mutant(rng: random.Random) -> tuple[str, Catalog]:
    """A statement that was changed in one to four places."""
    seed = rng.choice(corpus())
    text = seed.statement
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice(MUTATIONS)(text, rng)
    return text[:LONGEST], seed.catalog


def numbered_mutant(number: int) -> tuple[str, Catalog]:
    """The mutant of a number: every third is gentle."""
    rng = random.Random(number)
    return gentle_mutant(rng) if number % 3 == 0 else mutant(rng)


@cache
def queries() -> tuple[Seed, ...]:
    """The queries that are right."""
    seeds = {seed.statement: seed for seed in corpus() if seed.catalog.streams}
    return tuple(seed for seed in seeds.values() if not bind_text(seed.statement, catalog=seed.catalog).errors)


def gentle_mutant(rng: random.Random) -> tuple[str, Catalog]:
    """A query with a word, number, operator or window exchanged for another: it often means something still."""
    seed = rng.choice(queries())
    text = seed.statement
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice((exchange_words, change_a_number, change_a_window, change_a_word))(text, rng)
    return text, seed.catalog


def change_a_number(text: str, rng: random.Random) -> str:
    numbers = list(re.finditer(r"\b\d+\b", text))
    if not numbers:
        return text
    at = rng.choice(numbers)
    return text[: at.start()] + rng.choice(("0", "1", "2", "100", "9223372036854775807", "1e400")) + text[at.end() :]


def change_a_window(text: str, rng: random.Random) -> str:
    windows = list(re.finditer(r" \[[^\]]*\]", text))
    if not windows:
        return text
    at = rng.choice(windows)
    kinds = ("", " [NOW]", " [ROWS 3]", " [RANGE 5 SECONDS]", " [RANGE 9 SECONDS SLIDE 2 SECONDS]", " [UNBOUNDED]")
    return text[: at.start()] + rng.choice(kinds) + text[at.end() :]


_EXCHANGED = (
    ("AND", "OR", "AND NOT"),
    ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"),
    ("MIN", "MAX", "SUM", "AVG", "COUNT"),
    ("IN", "NOT IN"),
    ("EXISTS", "NOT EXISTS"),
    ("SELECT", "SELECT DISTINCT"),
    ("ISTREAM", "DSTREAM", "RSTREAM"),
    ("=", "<", ">=", "<>", "<=>", "+"),
)


def change_a_word(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    alike = {word: group for group in _EXCHANGED for word in group}
    places = [place for place, token in enumerate(tokens) if token in alike]
    if places:
        place = rng.choice(places)
        tokens[place] = rng.choice(alike[tokens[place]])
    return "".join(tokens)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


@cache
def _pool() -> tuple[str, ...]:
    tokens = {token for seed in corpus() for token in _tokens(seed.statement) if token.strip() and len(token) < 60}
    return (*sorted(tokens), *WORDS)


def delete_tokens(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    start = rng.randrange(len(tokens) + 1)
    return "".join(tokens[:start] + tokens[start + rng.choice((1, 1, 2, 3, 8)) :])


def duplicate_tokens(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    start = rng.randrange(len(tokens) + 1)
    end = start + rng.choice((1, 2, 3, 10))
    return "".join([*tokens[:end], " ", *tokens[start:]])


def swap_tokens(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    if len(tokens) > 1:
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def replace_token(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    if tokens:
        tokens[rng.randrange(len(tokens))] = rng.choice(_pool())
    return "".join(tokens)


def exchange_words(text: str, rng: random.Random) -> str:
    """One word of the statement in place of another, which often leaves it well-formed."""
    tokens = _tokens(text)
    places = [place for place, token in enumerate(tokens) if re.fullmatch(r"\w+|'.*'|`.*`", token)]
    if places:
        tokens[rng.choice(places)] = tokens[rng.choice(places)]
    return "".join(tokens)


def insert_token(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    tokens.insert(rng.randrange(len(tokens) + 1), f" {rng.choice(_pool())} ")
    return "".join(tokens)


def splice_statements(text: str, rng: random.Random) -> str:
    """The beginning of one statement and the end of another, or one inside the other."""
    tokens, others = _tokens(text), _tokens(rng.choice(corpus()).statement)
    at, other_at = rng.randrange(len(tokens) + 1), rng.randrange(len(others) + 1)
    if rng.random() < 0.5:
        return "".join(tokens[:at] + others[other_at:])
    return "".join([*tokens[:at], " (", *others, ") ", *tokens[at:]])


def insert_characters(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + "".join(rng.choice(CHARACTERS) for _ in range(rng.choice((1, 1, 2, 5)))) + text[at:]


def truncate(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] if rng.random() < 0.7 else text[at:]


def nest(text: str, rng: random.Random) -> str:
    """Some tokens inside many brackets, calls, or queries."""
    tokens = _tokens(text)
    start = rng.randrange(len(tokens) + 1)
    end = start + rng.choice((1, 1, 3, 9))
    opening, closing = rng.choice(NESTINGS)
    depth = rng.choice((1, 2, 5, 20, 60, 300))
    return "".join([*tokens[:start], opening * depth, *tokens[start:end], closing * depth, *tokens[end:]])


def repeat_an_operator(text: str, rng: random.Random) -> str:
    tokens = _tokens(text)
    start = rng.randrange(len(tokens) + 1)
    operator = rng.choice((" + ", " AND ", " OR ", " || ", ", ", " UNION ALL ", " = ", ".", " NOT ", "-"))
    part = "".join(tokens[start : start + 1])
    chain = operator.join([part] * rng.choice((2, 5, 50, 400)))
    return "".join([*tokens[:start], chain, *tokens[start + 1 :]])


def insert_bytes(text: str, rng: random.Random) -> str:
    """Bytes of any kind, read as a file in UTF-8 with what is wrong in it replaced, or as characters."""
    some = rng.randbytes(rng.choice((1, 3, 20, 200)))
    at = rng.randrange(len(text) + 1)
    return text[:at] + some.decode(rng.choice(("utf-8", "latin-1", "utf-16")), errors="replace") + text[at:]


def open_a_quote(text: str, rng: random.Random) -> str:
    """The beginning of a string, a quoted name or a comment that nothing closes, or that closes far away."""
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("'", '"', "`", "/*", "--", "*/", "X'", "'\\", "/*+")) + text[at:]


def repeat_a_clause(text: str, rng: random.Random) -> str:
    """Some tokens many times over, as a program writes them that has lost count."""
    tokens = _tokens(text)
    start = rng.randrange(len(tokens) + 1)
    end = start + rng.choice((2, 5, 12))
    return "".join([*tokens[:start], "".join(tokens[start:end]) * rng.choice((2, 10, 60)), *tokens[end:]])


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    delete_tokens,
    delete_tokens,
    duplicate_tokens,
    swap_tokens,
    swap_tokens,
    replace_token,
    replace_token,
    replace_token,
    insert_token,
    insert_token,
    exchange_words,
    exchange_words,
    exchange_words,
    exchange_words,
    splice_statements,
    insert_characters,
    truncate,
    nest,
    repeat_an_operator,
    insert_bytes,
    open_a_quote,
    repeat_a_clause,
)

NESTINGS = (
    ("(", ")"),
    ("ABS(", ")"),
    ("(SELECT ", " FROM bid)"),
    ("(SELECT MAX(", ") FROM bid)"),
    ("CASE WHEN TRUE THEN ", " END"),
    ("CAST(", " AS BIGINT)"),
    ("NOT ", ""),
    ("-", ""),
    ("[", "]"),
    ("EXISTS (SELECT * FROM bid WHERE ", ")"),
    ("ARRAY<", ">"),
    ("/*", "*/"),
)

CHARACTERS = (
    *"()[]{}<>=!+-*/%&|^~.,:;?@#$\\'\"`_ \n\t\r09aZ",
    "\0",
    "\x1b",
    "\ufeff",
    "\u00a0",
    "\u202e",
    "ä",
    "ẞ",
    "İ",
    "٣",
    "²",
    "½",
    "字",
    "🚰",
    "\U0010ffff",
)

WORDS = (
    "ISTREAM",
    "DSTREAM",
    "RSTREAM",
    "ISTREAM(*)",
    "[ROWS 1]",
    "[RANGE 1 HOUR SLIDE 1 MINUTE]",
    "[NOW]",
    "[",
    "]",
    "DISTINCT",
    "ALL",
    "ANY",
    "SOME",
    "LATERAL",
    "UNNEST(a)",
    "VALUES (1)",
    "OVER ()",
    "OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "FILTER (WHERE TRUE)",
    "WITHIN GROUP (ORDER BY a)",
    "IGNORE NULLS",
    "ESCAPE '!'",
    "ESCAPE ''",
    "LIKE '%'",
    "LIKE 'a\\'",
    "ILIKE",
    "RLIKE 'a'",
    "BETWEEN 1 AND 2",
    "IS NOT DISTINCT FROM",
    "IN (1, NULL)",
    "IN ()",
    "NOT IN (SELECT 1 FROM bid)",
    "NULL",
    "TRUE",
    "INTERVAL",
    "INTERVAL '1' DAY",
    "INTERVAL '1-2' YEAR TO MONTH",
    "INTERVAL -1 SECOND",
    "DATE '2020-01-01'",
    "DATE '2020-99-99'",
    "TIMESTAMP '0001-01-01 00:00:00+14:00'",
    "TIMESTAMP '9999-12-31 23:59:59.999999'",
    "CURRENT_DATE",
    "EXTRACT(HOUR FROM ts)",
    "POSITION('a' IN 'b')",
    "CAST(NULL AS DECIMAL(38, 38))",
    "CAST(1 AS DECIMAL(0, 0))",
    "CAST(1 AS DECIMAL(x))",
    "::INT",
    "GROUPING SETS ((), (a))",
    "CUBE (a)",
    "QUALIFY TRUE",
    "WINDOW w AS ()",
    "PIVOT (SUM(a) FOR b IN (1))",
    "TABLESAMPLE (10 ROWS)",
    "USING (a)",
    "NATURAL JOIN",
    "LEFT SEMI JOIN",
    "LEFT ANTI JOIN",
    "CROSS JOIN",
    "FULL OUTER JOIN",
    "STRUCT(1 AS a)",
    "MAP(1, 2)",
    "x -> x + 1",
    "a => 1",
    "a:b",
    "$1",
    "@x",
    ":p",
    "?",
    "{{ x }}",
    "X'1F'",
    "X'G'",
    "0x1F",
    "b'1'",
    "r'\\'",
    "'it''s'",
    '"s"',
    "``",
    "`a``b`",
    "1e999",
    "1e-999",
    "1E5",
    ".5",
    "5.",
    "1.2.3",
    "1L",
    "1BD",
    "00000000000000000000000000000001",
    "9" * 18,
    "9" * 19,
    "9" * 38,
    "9" * 39,
    "9" * 5000,
    "0." + "9" * 60,
    "a" * 300,
    "a" * 100_000,
    "'" + "a" * 10_000 + "'",
    "WITH a AS (SELECT 1 FROM bid)",
    "RECURSIVE",
    "ALLOW UNBOUNDED",
    "VIRTUAL",
    "INFERRED",
    "WITHIN 5 ROWS",
    "PUNCTUATED BY (a) WHEN b LIFESPAN 1 HOUR",
    "CLUSTERED BY (a, a) WITHIN -1 DAYS",
    "FOREIGN KEY () REFERENCES a ()",
    "OPTIONS (a.b.c = -5)",
    "OR REPLACE",
    "IF NOT EXISTS",
    "IF EXISTS",
    ";",
    "--",
    "/*",
    "*/",
)

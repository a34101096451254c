"""What must never be shown: values of options that look like secrets, and characters that would steer a terminal.

A secret is recognised by its place in a text (behind an option's name such as `password`, in a URL behind `user:`, in
`password=...`), and, once it was given in an option, by its value wherever it occurs. When in doubt it is masked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from urllib.parse import quote

MASK = "***"

Spans = tuple[tuple[int, int], ...]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TELLING = re.compile(
    "password|passwd|pwd|passphrase|passcode|secret|token|jaas|credential|apikey|accesskey|privatekey|accountkey|bearer"
    "|connectionstring"
)
_SPELLED = ("password", "passwd", "secret", "token", "credential", "credentials")
#: What follows `key` or `keystore` in names that hold no key, as in kafka's `key.deserializer`.
_ABOUT_KEYS = frozenset(("serializer", "deserializer", "converter", "format", "column", "columns", "field", "fields"))
_HARMLESS = frozenset(("keyspace", "keyword", "keywords", "author", "authors", "authority", "bypass", "compass"))
#: Words that are, or that end, the names of secrets, but may be part of any other word.
_SHORT_WORDS = frozenset(("sas", "sig", "signature", "pin", "otp", "pem", "jwt", "hmac", "cookie"))


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether an option of this name probably holds a secret. A misspelt name counts as what was meant.

    >>> all(map(is_secret_name, ("kafka.sasl.jaas.config", "apiKey", "pasword", "sas", "oauth2")))
    True
    >>> any(map(is_secret_name, ("path", "kafka.key.deserializer", "kafka.sasl.mechanism", "subscribe")))
    False
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if _TELLING.search("".join(words)):
        return True
    return any(_is_telling(word, following) for word, following in pairwise((*words, "")))


def _is_telling(word: str, following: str) -> bool:
    if word in _HARMLESS:
        return False
    if word.startswith("key") or word.endswith(("key", "keys")):
        return following not in _ABOUT_KEYS
    if word in _SHORT_WORDS or word.startswith("auth") or word.endswith(("auth", "pass", "pw")):
        return True
    return 3 < len(word) < 16 and bool(get_close_matches(word, _SPELLED, n=1, cutoff=0.8))


_NAME = re.compile(r"[\w$\-]++(?:[`\s]*+\.[`\s]*+[\w$\-]++)*+")
_GAP = re.compile(r"(?:[\s=:>`]|--[^\n]*+\n|/\*.{0,500}?\*/)*+", re.DOTALL)
_LITERAL = {
    "'": re.compile(r"'(?:[^'\\]|''|\\.)*+'", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|""|\\.)*+"', re.DOTALL),
}
#: Also as other systems write them: WITH (...) behind a declaration, and SET.
_OPTIONS = re.compile(
    r"\b(?:options?\b|using\s+\w).*?(?=;\s*(?:\n|\Z|create|select|with|alter|drop|insert)|\Z)"
    r"|\bwith\s*\((?:[^()']|'[^']*+'|\((?:[^()']|'[^']*+')*+\))*+|(?:\A|(?<=;))\s*+set\s[^;]*+",
    re.IGNORECASE | re.DOTALL,
)
_NEXT_OPTION = re.compile(r",\s*+`?[\w.\-]++`?\s*+=?\s*+['\"]")
_QUOTE = re.compile("['\"]")
_PREFIXED_QUOTE = re.compile(r"[A-Za-z]?(?=['\"])")
_URL = re.compile(r"(?:://[^\s/@:'\"]*:|\bjdbc:oracle:\w+:[^\s/@:'\"]*/)([^\s'\"]{1,500})@")
_BEARER = re.compile(r"\bbearer\s++([^\s'\"]{6,500})", re.IGNORECASE)
#: A name is tried from its start only: one of many characters would take as many squared.
_ASSIGNED = re.compile(r"(?<![\w.\-])([\w.\-]++)=(?:\"([^\"\n]*+)\"?|([^\s&;,'\"()]++))")


@lru_cache(maxsize=16)
def secret_spans(sql: str) -> Spans:
    """Where secrets stand in SQL text, which may be broken: without a quote, a comma or a parenthesis.

    >>> text = "OPTIONS (path 'a', password 'hunter2', url 'db://me:hunter3@host'"
    >>> [text[start:end] for start, end in secret_spans(text)]
    ['hunter2', 'hunter3']
    """
    inside = [found.span() for found in _OPTIONS.finditer(sql)]
    spans = [found.span(1) for found in _URL.finditer(sql)]
    for found in _ASSIGNED.finditer(sql):
        if not is_secret_name(found[1]):
            continue
        if _TELLING.search(found[1].lower()) or any(start <= found.start() < end for start, end in inside):
            spans.append(found.span(found.lastindex or 0))
    for found in _BEARER.finditer(sql):
        if any(start <= found.start() < end for start, end in inside):
            spans.append(found.span(1))
    for name in _NAME.finditer(sql):
        if is_secret_name(name[0]):
            options_end = next((end for start, end in inside if start <= name.start() < end), None)
            spans.extend(_value_behind(sql, *name.span(), options_end))
    return _merged(spans)


def _value_behind(sql: str, start: int, end: int, options_end: int | None) -> Iterator[tuple[int, int]]:
    """The text that is the value of a name. Among options something else may stand there: all up to the next option."""
    if start and end < len(sql) and sql[end] in "'\"`" and sql[start - 1] == sql[end]:
        end += 1
    first = at = _end_of(_GAP, sql, end)
    found = [] if _QUOTE.search(sql, end, first) is None else [(end, first)]  # what seems to be a comment may be none
    while opening := _PREFIXED_QUOTE.match(sql, at):
        at = opening.end()
        literal = _LITERAL[sql[at]].match(sql, at)
        if literal is None:
            line_end = sql.find("\n", at)
            found.append((at + 1, len(sql) if line_end < 0 else line_end))
            break
        found.append((at + 1, literal.end() - 1))
        at = _end_of(_GAP, sql, literal.end())
    yield from found
    is_whole = found and sql[at : at + 1] in (",", ")")
    if options_end is not None and not is_whole:
        following = _NEXT_OPTION.search(sql, first + 1, options_end)
        yield first, options_end if following is None else following.start()


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _merged(spans: Iterable[tuple[int, int]]) -> Spans:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


#: The parts of a secret that a message may name.
_PIECES = re.compile(r"\w{4,}"), re.compile(r"[^\s'\"`]{4,}"), re.compile(r"\S{4,}")


def masked_by_source(text: str, sql: str) -> str:
    """A text about SQL without the secrets that stand there, nor their parts: a broken literal is read in pieces."""
    spans = secret_spans(sql)
    if not spans:
        return masked(text)
    values = {sql[start:end] for start, end in spans}
    values |= {re.sub(r"\\(.)|''|\"\"", lambda found: found[1] or found[0][0], value) for value in values}
    values |= {piece for value in values for pieces in _PIECES for piece in pieces.findall(value)}
    return masked(_pattern(frozenset(filter(_can_be_masked, values))).sub(MASK, text))


#: Values of options of this process that are secrets. A secret stays one, whatever becomes of its catalog.
_known: set[str] = set()
_PLAIN = frozenset(("true", "false", "null", "none", "yes", "no", "on", "off", MASK))
#: Shorter values are masked only where they are whole words: they may be part of any.
_SHORT = 6
#: What shells call the folders that they are and were in, not passwords.
_FOLDERS = ("PWD", "OLDPWD")
#: The environment has many short values that mean nothing.
_SHORTEST_OF_ENVIRONMENT = 8


def remember_secrets(options: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
    """Takes note of the secrets among options, so that no text that is shown has them."""
    for name, value in options.items() if isinstance(options, Mapping) else options:
        _known.update(filter(_can_be_masked, _secrets_in(name, value)))


def _secrets_in(name: str, value: str) -> Iterator[str]:
    if is_secret_name(name):
        yield value
    yield from (found[1] for pattern in (_URL, _BEARER) for found in pattern.finditer(value))
    yield from (found[2] or found[3] for found in _ASSIGNED.finditer(value) if is_secret_name(found[1]))


def _can_be_masked(value: str | None) -> bool:
    return value is not None and bool(value.strip()) and value.lower() not in _PLAIN


def is_secret_option(name: str, value: str) -> bool:
    return any(_can_be_masked(secret) for secret in _secrets_in(name, value))


def masked(text: str) -> str:
    """A text without the secrets that are known, without passwords in URLs, and without `password=...`.

    >>> masked("cannot reach db://me:hunter2@host?password=hunter2")
    'cannot reach db://me:***@host?password=***'
    """
    environment = frozenset(
        value
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST_OF_ENVIRONMENT
        and name not in _FOLDERS
        and is_secret_name(name)
        and _can_be_masked(value)
    )
    if secrets := environment | _known:
        text = _pattern(secrets).sub(MASK, text)
    if "@" in text:
        text = _URL.sub(_without_value, text)
    return _ASSIGNED.sub(_without_value, text) if "=" in text else text


def _without_value(found: re.Match[str]) -> str:
    """The match without its last group, if what stands before says that this is a secret."""
    if found.re is _ASSIGNED and not _TELLING.search(found[1].lower()):
        return found[0]
    start, end = (place - found.start() for place in found.span(found.lastindex or 0))
    return f"{found[0][:start]}{MASK}{found[0][end:]}"


@lru_cache(maxsize=16)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str]:
    """Finds secrets in all the forms in which texts may have them, the longest first."""
    forms = {form: None for secret in sorted(secrets) for form in _forms(secret)}
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(_exactly(form) for form in longest_first))


def _forms(secret: str) -> tuple[str, ...]:
    escaped = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    return secret, secret.strip(), secret.replace("'", "''"), *escaped, repr(secret)[1:-1], quote(secret, safe="")


def _exactly(form: str) -> str:
    return re.escape(form) if len(form) >= _SHORT else rf"(?<!\w){re.escape(form)}(?!\w)"


#: Characters that change what a terminal does or in which order it shows text, but for line breaks and tabs.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """A text whose control characters are written as JSON writes them, so that no data steer a terminal.

    >>> print(printable("\\x1b[31mred"))
    \\u001b[31mred
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, most: int = 80) -> str:
    """The start of a text, on one line, for a message that shows a value.

    >>> shortened("a" * 5, most=3), shortened("a\\nb")
    ('aaa...', 'a\\\\nb')
    """
    cut = text if len(text) <= most else f"{text[:most]}..."
    return printable(cut.replace("\n", "\\n").replace("\t", "\\t"))

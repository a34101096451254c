"""REGEXP_EXTRACT, by RE2, and times by formats."""

from __future__ import annotations

import re

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from penstock.algebra.expressions import Call, Literal
from penstock.algebra.text_patterns import read_format
from penstock.operators.scalars.times import read_timestamps, timestamp_texts
from penstock.operators.scalars.vectors import VectorRule, over_distinct
from penstock.types import STRING, TIMESTAMP

_DIGITS = {
    "yyyy": r"\d{4}",
    "yy": r"\d{2}",
    "MM": r"\d{2}",
    "dd": r"\d{2}",
    "HH": r"\d{2}",
    "mm": r"\d{2}",
    "ss": r"\d{2}",
}
_SHOWN = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?")
_PLACES = {"y": 1, "M": 2, "d": 3, "H": 4, "m": 5, "s": 6}


def rule_of(call: Call) -> VectorRule:
    """The rule of a call whose patterns and formats are literals."""
    given = [literal.value if isinstance(literal, Literal) else None for literal in call.args[1:]]
    if None in given:
        return lambda batch, args: args[1 + given.index(None)]
    match call.function, given:
        case "REGEXP_EXTRACT", [str(pattern), int(group)]:
            rule = over_distinct(lambda texts: _extracted(texts, pattern, group), (STRING,), STRING)
        case "TO_TIMESTAMP", [str(form)]:
            rule = over_distinct(lambda texts: _read(texts, form, call.zone), (STRING,), TIMESTAMP)
        case "DATE_FORMAT", [str(form)]:
            rule = over_distinct(lambda times: _written(times, form, call.zone), (TIMESTAMP,), STRING)
        case _:
            raise AssertionError(f"no rule for {call}")
    return lambda batch, args: rule(batch, args[:1])


FUNCTIONS = frozenset({"RLIKE", "REGEXP_EXTRACT", "TO_TIMESTAMP", "DATE_FORMAT"})


def _extracted(texts: list[str], pattern: str, group: int) -> list[str]:
    found = pc.extract_regex(pa.array(texts, pa.string()), pattern=_named_groups(pattern)).to_pylist()
    return ["" if groups is None else groups[f"g{group}"] or "" for groups in found]


def _named_groups(pattern: str) -> str:
    """The pattern with all its groups named, g0 around it."""
    pieces, number, in_class, at = ["(?P<g0>"], 0, False, 0
    while at < len(pattern):
        piece = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        at += len(piece)
        if in_class:
            in_class = piece != "]"
        elif piece == "[":
            in_class = True
        elif piece == "(" and not pattern.startswith("?", at):
            number += 1
            piece = f"(?P<g{number}>"
        pieces.append(piece)
    return "".join((*pieces, ")"))


def _read(texts: list[str], form: str, zone: str) -> list[int | None]:
    """The instants of texts in a format; NULL where one is not in it."""
    parts = read_format(form) or ()
    pattern = re.compile("".join(_field(part, number) for number, part in enumerate(parts)), re.ASCII)
    plain = [_plain(parts, pattern.fullmatch(text)) for text in texts]
    found = iter(read_timestamps([text for text in plain if text is not None], zone))
    return [None if text is None else next(found) for text in plain]


def _field(part: str, number: int) -> str:
    if part[0] == "'":
        return re.escape(part[1:])
    # Of a fraction there may be fewer digits than letters, as in Spark.
    digits = rf"\d{{1,{len(part)}}}+" if part[0] == "S" else _DIGITS.get(part, r"\d{1,2}+")
    return f"(?P<f{number}>{digits})"


def _plain(parts: tuple[str, ...], match: re.Match[str] | None) -> str | None:
    """A time as it is written without a format. A field that stands twice has one value."""
    if match is None:
        return None
    fields = {"y": "1970", "M": "01", "d": "01", "H": "00", "m": "00", "s": "00", "S": "0"}
    seen: dict[str, str] = {}
    for number, part in enumerate(parts):
        if part[0] != "'":
            value = match[f"f{number}"]
            value = f"20{value}" if part == "yy" else value.ljust(6, "0") if part[0] == "S" else value.zfill(2)
            if seen.setdefault(part[0], value) != value:
                return None
    fields |= seen
    return "{y}-{M}-{d} {H}:{m}:{s}.{S}".format(**fields)


def _written(times: list[int], form: str, zone: str) -> list[str | None]:
    parts = read_format(form) or ()
    return ["".join(_shown(part, text) for part in parts) for text in timestamp_texts(times, zone) if text is not None]


def _shown(part: str, text: str) -> str:
    if part[0] == "'":
        return part[1:]
    match = _SHOWN.fullmatch(text)
    assert match is not None
    if part[0] == "S":
        return (match[7] or "").ljust(6, "0")[: len(part)]
    value = match[_PLACES[part[0]]]
    if part == "yy":
        return value[-2:]
    return value if len(part) > 1 else str(int(value))

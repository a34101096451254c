"""RLIKE and REGEXP_EXTRACT with Python's regular expressions, and times by formats, letter by letter."""

from __future__ import annotations

import re

from penstock.types import DAY, HOUR, MINUTE, SECOND
from tests.reference import civil, zoned
from tests.reference.values import Value


def rlike(text: str, pattern: str) -> bool:
    return re.search(_python(pattern), text, re.ASCII) is not None


def regexp_extract(text: str, pattern: str, group: int) -> str:
    found = re.search(_python(pattern), text, re.ASCII)
    return (found[group] or "") if found else ""


def _python(pattern: str) -> str:
    """RE2's $ is the end of the text and nothing else, and its \\s is no vertical tab."""
    pieces = re.findall(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    return "".join(
        r"\Z" if piece == "$" else "[ \t\n\r\f]" if piece == r"\s" else "[^ \t\n\r\f]" if piece == r"\S" else piece
        for piece in pieces
    )


def date_format(time: int, form: str, zone: str) -> str:
    shown = zoned.shown(time, zone)
    year, month, day = civil.from_days(shown // DAY)
    clock = shown % DAY
    values = {"M": month, "d": day, "H": clock // HOUR, "m": clock % HOUR // MINUTE, "s": clock % MINUTE // SECOND}
    written = ""
    for letter, count in _runs(form):
        if letter == "y":
            digits = f"{abs(year):04d}"
            sign = "-" if year < 0 else "+" if year > 9999 else ""
            written += digits[-2:] if count == 2 else sign + digits
        elif letter == "S":
            written += f"{clock % SECOND:06d}"[:count]
        else:
            written += letter[1] if letter[0] == "'" else str(values[letter]).zfill(count)
    return written


def to_timestamp(text: str, form: str, zone: str) -> Value:
    values: dict[str, int] = {}
    at = 0
    for letter, count in _runs(form):
        if letter[0] == "'":
            if not text.startswith(letter[1], at):
                return None
            at += 1
            continue
        most = count if count > 1 or letter == "S" else 2
        digits = re.compile(r"[0-9]*").match(text, at, at + most)
        assert digits is not None
        if len(digits[0]) < (count if letter != "S" else 1):
            return None
        number = int(digits[0]) * (10 ** (6 - len(digits[0])) if letter == "S" else 1)
        number += 2000 if (letter, count) == ("y", 2) else 0
        if values.setdefault(letter, number) != number:
            return None
        at += len(digits[0])
    if at != len(text):
        return None
    days = civil.to_days(values.get("y", 1970), values.get("M", 1), values.get("d", 1))
    hour, minute, second = (values.get(letter, 0) for letter in "Hms")
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    clock = hour * HOUR + minute * MINUTE + second * SECOND + values.get("S", 0)
    return zoned.instant(days * DAY + clock, zone)


def _runs(form: str) -> list[tuple[str, int]]:
    """Letters with how often they stand in a row, and characters between them, each after a quote."""
    runs: list[tuple[str, int]] = []
    for quoted, letters, other in re.findall(r"'((?:[^']|'')*)'|(y+|M+|d+|H+|m+|s+|S+)|([^A-Za-z'])", form):
        if letters:
            runs.append((letters[0], len(letters)))
        else:
            runs += [(f"'{character}", 1) for character in other or quoted.replace("''", "'") or "'"]
    return runs

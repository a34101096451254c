"""Regular expressions and formats of times, as far as they are the language's: what every engine reads alike.

Patterns are searched in time that grows with the text alone (RE2), so there are neither look-around nor references to
groups. Formats are Spark's, of digits only.
"""

from __future__ import annotations

import re

_ESCAPES = frozenset("dDwWsSbBtnrfv")
_FIELDS = ("yyyy", "yy", "MM", "M", "dd", "d", "HH", "H", "mm", "m", "ss", "s")

PATTERN_HINT = "literals, [classes], groups, alternatives, * + ? {n,m}, ^ $ . and \\d \\w \\s \\b are"
FORMAT_HINT = f"letters are {', '.join(_FIELDS)} and S for digits of the second's fraction; other text is in quotes"


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a regular expression, if something is.

    >>> pattern_problem("a(b|c)+"), pattern_problem("a(?=b)")
    (None, 'there is no (?=')
    """
    at, in_class = 0, False
    while at < len(pattern):
        character, following = pattern[at], pattern[at + 1 : at + 2]
        if character == "\\":
            if not following or (following.isalnum() and following not in _ESCAPES):
                return f"there is no \\{following}"
            if in_class and following in "bB":
                return f"there is no \\{following} in a class"
            at += 1
        elif in_class:
            if character == "[" or pattern.startswith(("&&", "--", "~~", "||"), at):
                return f"there is no {character} in a class: write \\{character}"
            in_class = character != "]"
        elif character == "[":
            in_class = True
            at += pattern.startswith("^", at + 1)
            if pattern.startswith("]", at + 1):
                return "a class begins with another character than ]: write \\]"
        elif pattern.startswith("(?", at) and not pattern.startswith("(?:", at):
            return f"there is no {pattern[at : at + 3]}"
        elif character in "*+?}" and following == "+":
            return f"there is no {character}+"
        at += 1
    if re.search(r"\{(?!\d+(,\d*)?\})", re.sub(r"\\.", "", pattern)) or re.search(r"\d{4,}", pattern):
        return "a count is {n}, {n,} or {n,m}, up to 999"
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return None


def groups_of(pattern: str) -> int:
    """How many groups a regular expression has."""
    return re.compile(pattern).groups


def read_format(text: str) -> tuple[str, ...] | None:
    """The fields of a format of times, and the texts between them, each after a quote; None if it is no format.

    >>> read_format("dd/MM 'at' HH.mm")
    ('dd', "'/", 'MM', "' at ", 'HH', "'.", 'mm')
    """
    parts: list[str] = []
    for match in re.finditer(r"(S{1,6}|([yMdHms])\2*)|'((?:[^']|'')*)'|([^A-Za-z'\[\]{}#]+)|(.)", text, re.DOTALL):
        field, quoted, plain, other = match.group(1), match.group(3), match.group(4), match.group(5)
        if other or (field and field not in _FIELDS and field[0] != "S"):
            return None
        if field:
            parts.append(field)
            continue
        between = plain if quoted is None else quoted.replace("''", "'") or "'"
        if parts and parts[-1][0] == "'":
            parts[-1] += between
        else:
            parts.append(f"'{between}")
    return tuple(parts)

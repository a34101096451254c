"""Strings: each function is computed once for each combination of arguments that occurs in a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.operators.scalars.vectors import VectorRule, per_distinct
from penstock.types import Type


def _substring(text: str, position: int, length: int | None = None) -> str:
    """A position below zero counts from the end, and may lie before the start, where nothing is; 0 is read as 1."""
    start = len(text) + position if position < 0 else max(position - 1, 0)
    end = len(text) if length is None else start + length
    return text[max(start, 0) : max(end, 0)]


def _replace(text: str, search: str, replacement: str) -> str:
    return text if search == "" else text.replace(search, replacement)


def _calls(function: Callable[..., Any]) -> Callable[[Sequence[Type], Type], VectorRule]:
    return lambda arguments, result: per_distinct(function, arguments, result)


#: What makes the rule of a call from the types of its arguments and of its result.
FUNCTIONS: dict[str, Callable[[Sequence[Type], Type], VectorRule]] = {
    "UPPER": _calls(str.upper),
    "LOWER": _calls(str.lower),
    "TRIM": _calls(lambda text: text.strip(" ")),
    "LTRIM": _calls(lambda text: text.lstrip(" ")),
    "RTRIM": _calls(lambda text: text.rstrip(" ")),
    "REVERSE": _calls(lambda text: text[::-1]),
    "LENGTH": _calls(len),
    "CONCAT": _calls(lambda *texts: "".join(texts)),
    "SUBSTRING": _calls(_substring),
    "REPLACE": _calls(_replace),
    "CONTAINS": _calls(lambda text, part: part in text),
    "STARTSWITH": _calls(str.startswith),
    "ENDSWITH": _calls(str.endswith),
    "INSTR": _calls(lambda text, part: text.find(part) + 1),
}

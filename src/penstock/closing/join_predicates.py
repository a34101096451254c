"""Equality joins as the theories read them: attributes of the streams of a join, and equalities between them.

Punctuation safety (004) and k-constraints (003, chapter 6) share these values; they know nothing of the SQL algebra.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class JoinAttribute:
    """An attribute of a stream of a join. A stream that occurs twice in a query is two streams here."""

    stream: str
    name: str

    def __str__(self) -> str:
        return f"{self.stream}.{self.name}"


@dataclass(frozen=True, slots=True)
class JoinEquality:
    """`left = right`, a join predicate; or, within one stream, a filter."""

    left: JoinAttribute
    right: JoinAttribute

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

"""What is worked out once of a query, however often it is judged under other declarations.

Advice judges one query many times, each time with other constraints declared. Its predicates, and all that follows from
them alone, stay the same. A memo keeps that by the node of the algebra that it is about; it lasts for one search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from penstock.closing import Purging

T = TypeVar("T")


class Memo:
    """Values by what they are and by the node that they are about: the very same object, not an equal one."""

    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, ...], tuple[object, Any]] = {}
        #: The operands of joins that were found to be unbounded, the last one last: they are asked first.
        self.suspects: dict[str, None] = {}
        #: Where advice may look for what is missing: the join whose operand was found to be unbounded, if it was one.
        self.failed: Purging | None = None

    def suspect(self, operand: str, purging: Purging) -> None:
        self.suspects.pop(operand, None)
        self.suspects[operand] = None
        self.failed = purging

    def once(self, about: object, what: Hashable, make: Callable[[], T]) -> T:
        key = (id(about), what)
        if key not in self._known:
            self._known[key] = about, make()  # the node is kept, so that no other takes its id
        value: T = self._known[key][1]
        return value

"""User functions: what the algebra holds of a Python function that a query calls.

It is a value: a name, a signature, policies, and a handle to the code, which the algebra never opens. Nothing is
derived from a call but the type of its result: no bound, no order, no inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.algebra.expressions import Expr, require, walk
from penstock.effort import once
from penstock.types import Kind, Type


class OnNull(Enum):
    """What becomes of a row with a NULL among the arguments: the function is called, or the result is NULL."""

    CALL = "call"
    SKIP = "skip"


class OnError(Enum):
    """What becomes of a row on which the function raises: the query fails, or the result is NULL, which is counted."""

    FAIL = "fail"
    NULL = "null"


class Handle:
    """Python code. Two handles are equal if they are one; a handle is shown as the fingerprint of its code."""

    __slots__ = ("fingerprint", "function")

    def __init__(self, function: Callable[..., Any], fingerprint: str) -> None:
        self.function = function
        self.fingerprint = fingerprint

    def __repr__(self) -> str:
        return f"Handle({self.fingerprint!r})"


@dataclass(frozen=True, slots=True)
class UserFunction:
    name: str
    arguments: tuple[Type, ...]
    returns: Type
    handle: Handle
    on_null: OnNull = OnNull.CALL
    on_error: OnError = OnError.FAIL
    #: Whether it takes and gives Arrow arrays, not values.
    vectorized: bool = False

    def __post_init__(self) -> None:
        for type_ in (*self.arguments, self.returns):
            require(type_.kind not in (Kind.INTERVAL, Kind.NULL), f"no function takes or gives {type_}")

    @property
    def signature(self) -> str:
        """How a call is written, with types for arguments."""
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class UserCall(Expr):
    """A call of a user function. Unlike all other expressions it may fail."""

    function: UserFunction
    args: tuple[Expr, ...]

    def __post_init__(self) -> None:
        given = tuple(arg.type for arg in self.args)
        require(given == self.function.arguments, f"{self.function.signature} does not take {given}")

    @property
    def type(self) -> Type:
        return self.function.returns

    @property
    def parts(self) -> tuple[Expr, ...]:
        return self.args

    def with_parts(self, parts: tuple[Expr, ...]) -> UserCall:
        return UserCall(self.function, parts)


@once
def calls_user(expr: Expr) -> bool:
    """Whether an expression calls a user function, and so may fail."""
    return any(isinstance(part, UserCall) for part in walk(expr))

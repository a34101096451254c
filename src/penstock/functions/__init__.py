"""User functions from Python: how they are declared, and what a file of them holds.

A declaration is an attribute of the Python function, which stays what it was and can still be called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.algebra.user_functions import Handle, OnError, OnNull, UserFunction
from penstock.errors import PenstockError
from penstock.functions.fingerprint import fingerprint
from penstock.sql.signatures import check_function_name, read_type
from penstock.types import Type

F = TypeVar("F", bound=Callable[..., Any])

#: The attribute of a Python function that holds its declaration.
_DECLARED = "__penstock_function__"
_COLLECTED: ContextVar[list[Callable[..., Any]] | None] = ContextVar("penstock_functions", default=None)


@dataclass(frozen=True, slots=True)
class Declaration:
    """All that is declared of a user function but its code."""

    name: str
    arguments: tuple[Type, ...]
    returns: Type
    on_null: OnNull
    on_error: OnError
    vectorized: bool

    def of(self, python: Callable[..., Any]) -> UserFunction:
        """The user function with this code."""
        _check_parameters(self, python)
        handle = Handle(python, fingerprint(python))
        return UserFunction(
            self.name, self.arguments, self.returns, handle, self.on_null, self.on_error, self.vectorized
        )


def function(
    *,
    arguments: Iterable[str],
    returns: str,
    name: str | None = None,
    vectorized: bool = False,
    deterministic: bool = True,
    null: str = "call",
    on_error: str = "fail",
) -> Callable[[F], F]:
    """Declares the Python function below it as a user function, under its own name or another.

    `arguments` and `returns` are types as SQL writes them. A `vectorized` function takes and returns Arrow arrays.
    With `null="skip"` it is not called if an argument is NULL, and the result is NULL; with `on_error="null"` the
    result of a call that raises is NULL, and metrics count it. Results depend on the arguments alone, so
    `deterministic=False` is refused. `session.function(f)` registers it.

    >>> import penstock
    >>> @penstock.function(arguments=["STRING"], returns="BIGINT", null="skip")
    ... def vowels(text):
    ...     return sum(letter in "aeiou" for letter in text)
    >>> vowels("audio")
    4
    """

    def declared(python: F) -> F:
        own = getattr(python, "__name__", "") if name is None else name
        declaration = declare(
            own,
            arguments=arguments,
            returns=returns,
            vectorized=vectorized,
            deterministic=deterministic,
            null=null,
            on_error=on_error,
        )
        _check_parameters(declaration, python)
        try:
            setattr(python, _DECLARED, declaration)
        except AttributeError:
            message = f"{own}: a {type(python).__name__} cannot be decorated"
            raise PenstockError(message, "register it with session.function(name, f, arguments=[...], ...)") from None
        if (collected := _COLLECTED.get()) is not None:
            collected.append(python)
        return python

    return declared


@contextmanager
def collecting() -> Iterator[list[Callable[..., Any]]]:
    """Collects the functions that are declared inside, also those whose names another takes over."""
    declared: list[Callable[..., Any]] = []
    token = _COLLECTED.set(declared)
    try:
        yield declared
    finally:
        _COLLECTED.reset(token)


def declare(
    name: str,
    *,
    arguments: Iterable[str],
    returns: str,
    vectorized: bool = False,
    deterministic: bool = True,
    null: str = "call",
    on_error: str = "fail",
) -> Declaration:
    """A declaration as users write it, or an error that says what is wrong with it."""
    check_function_name(name)
    if not deterministic:
        message = f"{name} is declared deterministic=False, and a result is a function of its input alone"
        raise PenstockError(message, "give it what it depends on as an argument, such as a seed or a time of the row")
    if isinstance(arguments, str):
        raise PenstockError(f"{name}: arguments are a list of types", f"write arguments=[{arguments!r}]")
    return Declaration(
        name,
        tuple(_type(name, text) for text in arguments),
        _type(name, returns),
        _choice(name, "null", null, OnNull),
        _choice(name, "on_error", on_error, OnError),
        bool(vectorized),
    )


def user_function(python: Any) -> UserFunction:
    """The user function that a decorated Python function is."""
    declaration = getattr(python, _DECLARED, None)
    if not isinstance(declaration, Declaration):
        name = getattr(python, "__name__", None) or type(python).__name__
        message = f"{name} is not declared as a user function"
        raise PenstockError(message, "write @penstock.function(arguments=[...], returns=...) above it")
    return declaration.of(python)


def _type(name: str, text: str) -> Type:
    if not isinstance(text, str):
        raise PenstockError(f"{name}: a type is a text such as 'BIGINT', not {text!r}")
    try:
        return read_type(text)
    except PenstockError as error:
        raise PenstockError(f"{name}: {error.message}", error.hint) from None


P = TypeVar("P", OnNull, OnError)


def _choice(name: str, what: str, given: str, policies: type[P]) -> P:
    try:
        return policies(given)
    except ValueError:
        known = " or ".join(repr(policy.value) for policy in policies)
        raise PenstockError(f"{name}: {what} is {known}, not {given!r}") from None


def _check_parameters(declaration: Declaration, python: Callable[..., Any]) -> None:
    """Refuses code that cannot be called with the declared arguments."""
    if not callable(python):
        raise PenstockError(f"{declaration.name}: {python!r} cannot be called", "give a function")
    codes = (python, type(python).__call__)
    if any(map(inspect.iscoroutinefunction, codes)) or any(map(inspect.isgeneratorfunction, codes)):
        message = f"{declaration.name} does not return its result: it is a generator or a coroutine"
        raise PenstockError(message, "write def with return")
    try:
        signature = inspect.signature(python)
    except (TypeError, ValueError):  # written in C
        return
    try:
        signature.bind(*declaration.arguments)
    except TypeError:
        count = len(declaration.arguments)
        message = f"{declaration.name} is declared with {count} {'argument' if count == 1 else 'arguments'}"
        hint = f"its parameters are {signature}"
        raise PenstockError(f"{message}, and cannot be called so", hint) from None

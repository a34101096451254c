"""How much work an answer may take, whatever the text: steps are counted, not seconds.

So the answer to a text does not depend on the machine, or on what else it does. A step is a node or an expression that
is visited, or a comparison that is drawn. Whoever runs out of steps says so and never that a query is safe. What has
been worked out of a node is kept until the answer is there, and a text that nests deeply is answered on a larger stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from penstock.errors import PenstockError

#: The steps that an answer may take: some seconds, and hundreds of times as many as a query of ten streams takes.
STEPS = 2_000_000

P = ParamSpec("P")
T = TypeVar("T")


class OutOfEffort(PenstockError):
    """An answer took more steps than it may."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there is no answer within {limit:,} steps of work", RAISE_EFFORT)
        self.limit = limit


class TooDeep(PenstockError):
    """A query nests so deeply that even the large stack does not hold what its answer takes."""

    def __init__(self) -> None:
        super().__init__("this query nests too deeply", "split it into several queries, or nest it less deeply")


RAISE_EFFORT = "raise --effort, or split the query"


class _Answer:
    """The steps that are left of one answer, and what has been worked out for it."""

    __slots__ = ("known", "left", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit
        self.known: dict[Any, Any] = {}


class _Pool:
    """The steps that are left of what several answers share."""

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps


_LIMIT: ContextVar[int] = ContextVar("penstock_effort_limit", default=STEPS)
_ANSWER: ContextVar[_Answer | None] = ContextVar("penstock_effort_answer", default=None)
_POOL: ContextVar[_Pool | None] = ContextVar("penstock_effort_pool", default=None)
_ON_LARGE_STACK: ContextVar[bool] = ContextVar("penstock_effort_on_large_stack", default=False)


def limit() -> int:
    """How many steps an answer may take here."""
    return _LIMIT.get()


@contextmanager
def limited(steps: int | None) -> Iterator[None]:
    """Answers inside may take so many steps each; None leaves it as it is."""
    token = _LIMIT.set(_LIMIT.get() if steps is None else steps)
    try:
        yield
    finally:
        _LIMIT.reset(token)


@contextmanager
def answering() -> Iterator[None]:
    """One answer: what is spent inside counts together. An answer that another one needs is a part of it."""
    if _ANSWER.get() is not None:
        yield
        return
    token = _ANSWER.set(_Answer(_LIMIT.get()))
    try:
        yield
    finally:
        _ANSWER.reset(token)


@contextmanager
def pooled() -> Iterator[None]:
    """What is worked out `from_pool` inside takes half of the limit together: a text may have very many queries."""
    token = _POOL.set(_Pool(_LIMIT.get() // 2))
    try:
        yield
    finally:
        _POOL.reset(token)


@contextmanager
def from_pool(steps: int) -> Iterator[None]:
    """One answer of so many steps at most, and of no more than the pool has left, if there is one.

    >>> with limited(20), pooled():
    ...     for _ in range(3):
    ...         with from_pool(6):
    ...             spend(5)
    Traceback (most recent call last):
    ...
    penstock.effort.OutOfEffort: there is no answer within 0 steps of work
    hint: raise --effort, or split the query
    """
    pool = _POOL.get() or _Pool(steps)
    with limited(min(steps, pool.left)), answering():
        answer = _ANSWER.get()
        assert answer is not None
        before = answer.left
        try:
            yield
        finally:
            pool.left = max(0, pool.left - before + answer.left)


def spend(steps: int = 1) -> None:
    """Counts work of the answer that is being worked out, and ends it where that is too much.

    >>> with limited(10), answering():
    ...     spend(11)
    Traceback (most recent call last):
    ...
    penstock.effort.OutOfEffort: there is no answer within 10 steps of work
    hint: raise --effort, or split the query
    """
    answer = _ANSWER.get()
    if answer is not None:
        answer.left -= steps
        if answer.left < 0:
            raise OutOfEffort(answer.limit)


def once(function: Callable[P, T]) -> Callable[P, T]:
    """A pure function of immutable values that is worked out once per answer for the very same objects.

    An equal object is worked out again: to compare two trees may take as long as to walk them.
    """

    @wraps(function)
    def known(*args: P.args, **named: P.kwargs) -> T:
        answer = _ANSWER.get()
        if answer is None or named:
            return function(*args, **named)
        key = (function, *map(id, args))
        found = answer.known.get(key)
        if found is None:
            answer.left -= 1
            if answer.left < 0:
                raise OutOfEffort(answer.limit)
            # The arguments are kept, so that no other object takes the id of one.
            found = answer.known[key] = (function(*args, **named), args)
        return cast(T, found[0])

    return known


def kept(what: Hashable, about: tuple[object, ...], make: Callable[[], T]) -> T:
    """A value that is worked out once per answer: by what it is, and by the very objects that it is about."""
    answer = _ANSWER.get()
    if answer is None:
        return make()
    key = (what, *map(id, about))
    found = answer.known.get(key)
    if found is None:
        found = answer.known[key] = (make(), about)
    return cast(T, found[0])


#: What a query of some thousand levels takes.
_LARGE_STACK, _LEVELS = 512 << 20, 60_000


def nesting(function: Callable[P, T]) -> Callable[P, T]:
    """A pure function that recurs as deeply as its argument nests: where Python's stack ends, a larger one goes on."""

    @wraps(function)
    def on_any_stack(*args: P.args, **named: P.kwargs) -> T:
        if _ON_LARGE_STACK.get():
            return function(*args, **named)
        try:
            return function(*args, **named)
        except RecursionError:
            return _on_large_stack(lambda: function(*args, **named))

    return on_any_stack


def _on_large_stack(work: Callable[[], T]) -> T:
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        _ON_LARGE_STACK.set(True)
        try:
            done.append(work())
        except RecursionError:
            failed.append(TooDeep())
        except BaseException as error:
            failed.append(error)

    with _stack_of_its_own():
        context = copy_context()
        thread = threading.Thread(target=lambda: context.run(run), name="penstock-large-stack", daemon=True)
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return done[0]


#: One at a time: the size of a stack and the depth of recursion are settings of the whole process.
_ONE = threading.RLock()


@contextmanager
def _stack_of_its_own() -> Iterator[None]:
    with _ONE:
        size, levels = threading.stack_size(_LARGE_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(levels, _LEVELS))
        try:
            yield
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(levels)

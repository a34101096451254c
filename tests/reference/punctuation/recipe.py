"""The purge recipe of a stream: the generalized chained purge (004, section 4.2), made right.

As printed, step i takes its values from the stored tuples of S_i. That is unsound: a value whose punctuation is still
to come but of which no tuple is stored yet is forgotten, and its result is lost. Here the values of each step come
from the rows joined before it, the *bindings*.

To purge a row: begin with the binding {row}. At each step, for every binding, look for the punctuations that `known`
asks for; if one is missing, the row waits for it. Then join the bindings with the stored rows of the step's stream,
found by `lookup`. When no step or no binding is left, the row goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from penstock.closing.join_predicates import JoinAttribute
from penstock.closing.punctuation.join_classes import JoinClasses, join_classes
from penstock.closing.punctuation.purgeability import Known, Purgeable, SameAs
from penstock.closing.punctuation.query import PunctuatedJoin
from penstock.closing.punctuation.schemes import Scheme


@dataclass(frozen=True, slots=True)
class PurgeStep:
    """For every binding: the punctuations of `scheme` with the values of `known`; then the rows that `lookup` finds."""

    scheme: Scheme
    known: tuple[Known, ...]
    lookup: tuple[SameAs, ...]

    def __str__(self) -> str:
        known = f" for {', '.join(map(str, self.known))}" if self.known else ""
        return f"{self.scheme}{known}" + (f"; join on {', '.join(map(str, self.lookup))}" if self.lookup else "")


@dataclass(frozen=True, slots=True)
class PurgeRecipe:
    streams: tuple[str, ...]
    steps: tuple[PurgeStep, ...]

    @property
    def indexes(self) -> tuple[tuple[JoinAttribute, ...], ...]:
        """By which attributes stored rows are looked up, step by step: the indexes that a purge wants."""
        return tuple(tuple(key.attribute for key in step.lookup) for step in self.steps)


def recipe(query: PunctuatedJoin, state: Purgeable) -> PurgeRecipe:
    """How the rows of a purgeable stream are purged, along the chain of its proof.

    >>> from tests.reference.punctuation.safety import purgeability
    >>> from penstock.closing.join_predicates import JoinEquality
    >>> from penstock.closing.punctuation.query import PunctuatedStream
    >>> ab, bc = PunctuatedStream("s1", ("a", "b")), PunctuatedStream("s2", ("b", "c"))
    >>> ca = PunctuatedStream("s3", ("c", "a"))
    >>> on_b = JoinEquality(JoinAttribute("s1", "b"), JoinAttribute("s2", "b"))
    >>> on_c = JoinEquality(JoinAttribute("s2", "c"), JoinAttribute("s3", "c"))
    >>> on_a = JoinEquality(JoinAttribute("s3", "a"), JoinAttribute("s1", "a"))
    >>> query = PunctuatedJoin((ab, bc, ca), (on_b, on_c, on_a))
    >>> state = purgeability(query, [Scheme("s2", ("b",)), Scheme("s3", ("a", "c"))], "s1")
    >>> for step in recipe(query, state).steps:
    ...     print(step)
    s2(b) for b = s1.b; join on b = s1.b
    s3(a, c) for a = s1.a, c = s2.c; join on a = s1.a, c = s2.c
    """
    return PurgeRecipe(state.streams, tuple(_purge_steps(join_classes(query), state)))


def _purge_steps(classes: JoinClasses, state: Purgeable) -> Iterator[PurgeStep]:
    bound: dict[int, JoinAttribute] = {}
    _bind(classes, bound, state.streams)
    for step in state.steps:
        keys = [at for stream in step.streams for at in _attributes(classes, stream) if classes.of[at] in bound]
        yield PurgeStep(step.scheme, step.known, tuple(SameAs(key, bound[classes.of[key]]) for key in keys))
        _bind(classes, bound, step.streams)


def _bind(classes: JoinClasses, bound: dict[int, JoinAttribute], streams: Iterable[str]) -> None:
    for stream in streams:
        for attribute in _attributes(classes, stream):
            bound.setdefault(classes.of[attribute], attribute)


def _attributes(classes: JoinClasses, stream: str) -> Iterator[JoinAttribute]:
    for number in classes.by_stream[stream]:
        yield from (at for at in classes.members[number] if at.stream == stream)

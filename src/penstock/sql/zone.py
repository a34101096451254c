"""The time zone of a text that is being bound: a setting of the whole text, which every clause reads here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from penstock.algebra.zones import DEFAULT

_ZONE: ContextVar[str] = ContextVar("zone", default=DEFAULT)


def current_zone() -> str:
    return _ZONE.get()


@contextmanager
def binding_in(zone: str) -> Iterator[None]:
    """What is bound meanwhile is bound in a zone."""
    before = _ZONE.set(zone)
    try:
        yield
    finally:
        _ZONE.reset(before)

"""Times that a program gives: as SQL writes them, as a timedelta, or as microseconds."""

from __future__ import annotations

from datetime import timedelta

from penstock.errors import PenstockError
from penstock.types import duration_text, parsed_duration


def time_text(name: str, given: object) -> str:
    """Returns a time that a program gives as SQL writes it."""
    if isinstance(given, str):
        return given
    if isinstance(given, timedelta):
        return duration_text(given // timedelta(microseconds=1))
    if isinstance(given, int) and not isinstance(given, bool):
        return duration_text(given)
    hint = "give a time as '5 SECONDS', a timedelta, or a whole number of microseconds"
    raise PenstockError(f"the {name} is {given!r}", hint)


def idle_time(given: int | str | timedelta | None) -> int | None:
    """Returns the microseconds of `idle`, of a run."""
    if given is None:
        return None
    found = parsed_duration(time_text("idle", given))
    if found is None:
        raise PenstockError(f"idle={given!r} is not a time", "for example idle='30 SECONDS'")
    return found

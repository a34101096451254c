"""Argument types that several commands share."""

from __future__ import annotations

import argparse

from penstock.algebra.zones import DEFAULT
from penstock.effort import STEPS
from penstock.types import parsed_bytes, parsed_duration


def add_effort(parser: argparse.ArgumentParser) -> None:
    """Adds --effort to the commands that judge or plan queries."""
    what = f"how many steps of work the answer to each query may take (default: {STEPS})"
    parser.add_argument("--effort", metavar="STEPS", type=at_least_one, help=what)


def at_least_one(text: str) -> int:
    return _at_least(1, text)


def instant(text: str) -> int:
    """Parses microseconds, from 0."""
    return _at_least(0, text)


def duration(text: str) -> int:
    """Returns a time as in SQL, in microseconds.

    >>> duration("5 seconds"), duration("1 HOUR")
    (5000000, 3600000000)
    """
    found = parsed_duration(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a time such as '5 SECONDS'")
    return found


def memory_size(text: str) -> int:
    """Returns a number of bytes.

    >>> memory_size("512MB"), memory_size("0")
    (512000000, 0)
    """
    found = parsed_bytes(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a number of bytes such as 512MB")
    return found


def memory_budget(text: str) -> int:
    """Returns a number of bytes that something needs."""
    found = memory_size(text)
    if not found:
        raise argparse.ArgumentTypeError("a budget of no memory leaves no room for a row")
    return found


def rows_or_time(text: str) -> tuple[int | None, int | None]:
    """Returns a number of rows, or a time in microseconds.

    >>> rows_or_time("5000"), rows_or_time("2 seconds")
    ((5000, None), (None, 2000000))
    """
    if text.isdecimal():
        return at_least_one(text), None
    try:
        return None, duration(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text} is neither a number of rows nor a time, as '5 SECONDS' is") from None


def add_functions(parser: argparse.ArgumentParser) -> None:
    """Adds --functions: files of Python functions that the statements may call."""
    what = "a file of Python functions, declared with @penstock.function; may be given several times"
    parser.add_argument("--functions", metavar="FILE", action="append", default=[], help=what)


def add_time_zone(parser: argparse.ArgumentParser) -> None:
    """Adds --time-zone: the zone of hours, days, and times without a zone."""
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        default=DEFAULT,
        help="of hours, days and times without a zone: Europe/Berlin, +02:00 (default: UTC)",
    )


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {least}")
    return int(text)

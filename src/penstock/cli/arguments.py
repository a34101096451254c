"""Argument types that several commands share."""

from __future__ import annotations

import argparse
import re

from penstock.algebra.zones import DEFAULT
from penstock.effort import STEPS
from penstock.types import UNITS


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
    found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]+?)[sS]?\s*", text)
    if found is None or found[2].upper() not in UNITS:
        raise argparse.ArgumentTypeError(f"{text} is not a time such as '5 SECONDS'")
    return int(found[1]) * UNITS[found[2].upper()]


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


def memory_size(text: str) -> int:
    """Returns bytes.

    >>> memory_size("65536"), memory_size("64MB"), memory_size("1.5 gb")
    (65536, 67108864, 1610612736)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)I?B?\s*", text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 64MB")
    return int(float(found[1]) * 1024 ** " KMG".index(found[2] or " "))


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

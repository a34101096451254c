"""Kinds of arguments that several commands take."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    return _at_least(1, text)


def instant(text: str) -> int:
    """Microseconds, from 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} on")
    return int(text)

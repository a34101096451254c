"""Counting instead of joining: approximate rewriting with certified intervals (001, section 4)."""

from penstock.elimination.counting.rewriting import Counting, counting, counts_of

__all__ = ["Counting", "counting", "counts_of"]

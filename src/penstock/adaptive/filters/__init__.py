"""Filters that order themselves (thesis, chapter 4): a strategy per file, all over the same profile window."""

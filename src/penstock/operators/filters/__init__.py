"""Filters: the conjuncts of a WHERE or of a join's residual test, which commute (thesis, chapter 4)."""

"""StreaMon: which order and which caches, as the data changes (thesis, chapters 3 to 5 and 7)."""

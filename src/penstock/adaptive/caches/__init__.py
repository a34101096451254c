"""A-Caching (thesis 5.4 to 5.7): which subresult caches a join uses, by what they cost and what they save."""

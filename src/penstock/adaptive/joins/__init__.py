"""Joins that order themselves (thesis 5.2): each input's probe path follows what is measured along it."""

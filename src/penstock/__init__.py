"""Penstock runs continuous SQL over streams on Spark, in bounded memory."""

__version__ = "0.1.0"

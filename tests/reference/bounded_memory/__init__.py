"""Oracles of bounded memory (002): what would make a query bounded.

The theory is `penstock.register.arithmetic`. Only public parts of it are used.
"""

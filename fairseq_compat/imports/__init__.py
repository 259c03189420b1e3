"""Repairs of imports on the Pythons and numpys of today."""

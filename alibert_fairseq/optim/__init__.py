"""Optimizers of the papers."""
